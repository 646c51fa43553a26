"""How much longer a week by the hour takes than its busiest hour alone, until the same gap.

Every fleet has 64 GPUs and 168 windows. It is planned as it is, and with its busiest window alone,
until the plan is proven within a gap. The two take turns, and the least time of some repeats
counts. Fleets by pressure have 256 models with even or uneven loads, fleets by latency 128 models.

    python -m benchmarks.windows_speed                  # writes benchmarks/data/windows_speed.csv
    python -m benchmarks.windows_speed --only latency   # writes the rows of these fleets
    python -m benchmarks.windows_speed --seeds 1        # fewer fleets, prints only
"""

import argparse
import csv
from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from colocate import Problem, solve
from colocate.inputs.fleet import fleet_of
from colocate.problem.gpu import Gpu
from colocate.problem.model import Model

FOUND = Path(__file__).resolve().parent / "data" / "windows_speed.csv"
GAPS = (0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
SEEDS = 3
REPEATS = {"pressure": 9, "latency": 3}
"""Of each plan; the machine may be busy with other things, and short plans suffer most."""
LIMITS = {"pressure": 2.0, "latency": 10.0}
"""Seconds that a plan may take."""
HOURS = np.arange(168)
CONFIGS = ("Qwen2.5-1.5B-Instruct", "Llama-3.2-3B-Instruct", "Qwen2.5-7B-Instruct")


class Pace(NamedTuple):
    """How long one fleet took until proven within a gap."""

    fleet: str
    seed: int
    gap: float
    one_window: float
    """Seconds; infinite if it took longer than the limit."""
    week: float


def week_shape(rng: np.random.Generator, noise: float) -> np.ndarray:
    """Return the shape of a week in one of four time zones, with noise of its own."""
    zone = int(rng.choice([0, 1, 6, 15]))
    shape = 0.15 + 0.85 * np.maximum(np.cos((HOURS - 14 - zone) * 2 * np.pi / 24), 0.0)
    return shape * np.where(HOURS // 24 >= 5, 0.5, 1.0) * rng.lognormal(0, noise, 168)


def by_pressure(seed: int, evenness: float, noise: float) -> Problem:
    """Return 256 models on 64 GPUs; the higher the evenness, the more alike their loads."""
    rng = np.random.default_rng(seed)
    size = rng.lognormal(np.log(9), 0.5, 256)
    size = np.round(size * 0.6 * 80 * 64 / size.sum(), 2)
    models = []
    for number in range(256):
        level = rng.gamma(evenness) / evenness
        load = np.round(level * week_shape(rng, noise), 5).tolist()
        models.append(Model(f"m{number}", float(size[number]), load=load))
    return Problem(tuple(Gpu(f"g{n}", 80.0) for n in range(64)), tuple(models))


def by_latency(seed: int, evenness: float, noise: float) -> Problem:
    """Return 128 models on 64 GPUs, whose targets decide."""
    rng = np.random.default_rng(seed)
    models = []
    for number in range(128):
        level = 4.0 * rng.gamma(evenness) / evenness
        models.append(
            {
                "name": f"m{number}",
                "config": str(rng.choice(CONFIGS)),
                "rate": np.round(level * week_shape(rng, noise), 4).tolist(),
                "prompt_tokens": int(rng.integers(100, 800)),
                "output_tokens": int(rng.integers(60, 250)),
                "tpot_slo": 0.05,
            }
        )
    gpus = [{"kind": "H100-80GB", "count": 64}]
    data = {"load": "tokens", "objective": "latency", "gpus": gpus, "models": models}
    return fleet_of(data).problem


FLEETS: dict[str, tuple[Callable[[int, float, float], Problem], float, float]] = {
    "pressure, uneven": (by_pressure, 1.0, 0.1),
    "pressure, even": (by_pressure, 8.0, 0.1),
    "pressure, even, no noise": (by_pressure, 8.0, 0.0),
    "latency, uneven": (by_latency, 1.0, 0.1),
    "latency, even": (by_latency, 8.0, 0.1),
}


def busiest(problem: Problem) -> Problem:
    """Return the window with most load alone."""
    total = np.array([model.load for model in problem.models]).sum(axis=0)
    return problem.in_window(int(total.argmax()))


def seconds_until(problem: Problem, limit: float) -> list[float]:
    """Return the seconds until each gap is proven; infinite where the limit came first."""
    plan = solve(problem, time_limit=limit, gap=min(GAPS))
    return [
        next((h.seconds for h in plan.history if h.value <= h.bound * (1.0 + gap)), inf)
        for gap in GAPS
    ]


def quickest(problems: list[Problem], limit: float, repeats: int) -> list[list[float]]:
    """Return the least seconds of some repeats for each problem; these take turns."""
    runs = [[seconds_until(each, limit) for each in problems] for _ in range(repeats)]
    return [
        [min(times) for times in zip(*of_one, strict=True)] for of_one in zip(*runs, strict=True)
    ]


def paces(seeds: int, only: str) -> Iterator[Pace]:
    """Yield how long every fleet takes for every gap."""
    for name, (make, evenness, noise) in FLEETS.items():
        if only not in name:
            continue
        objective = name.split(",")[0]
        repeats, limit = REPEATS[objective], LIMITS[objective]
        solve(make(0, evenness, noise), time_limit=0.5)
        solve(busiest(make(0, evenness, noise)), time_limit=0.5)
        for seed in range(1, 1 + seeds):
            problem = make(seed, evenness, noise)
            one, all_of_them = quickest([busiest(problem), problem], limit, repeats)
            for gap, short, long in zip(GAPS, one, all_of_them, strict=True):
                yield Pace(name, seed, gap, round(short, 4), round(long, 4))


def show(found: list[Pace]) -> None:
    """Print the median of each fleet and gap."""
    print(f"{'fleet':26}{'gap':>6}{'one window':>12}{'168':>9}{'ratio':>8}")
    for fleet, gap in dict.fromkeys((pace.fleet, pace.gap) for pace in found):
        rows = [pace for pace in found if (pace.fleet, pace.gap) == (fleet, gap)]
        one, week = median(r.one_window for r in rows), median(r.week for r in rows)
        ratio = f"{week / one:8.1f}" if week < inf else f"{'-':>8}"
        print(f"{fleet:26}{gap:6.0%}{one:11.4f}s{week:8.4f}s{ratio}")


def main() -> None:
    """Measure, print, and keep what all fleets took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--only", default="", help="fleets whose names have this in them")
    options = parser.parse_args()
    found = list(paces(options.seeds, options.only))
    show(found)
    if options.seeds >= SEEDS:
        keep(found)


def keep(found: list[Pace]) -> None:
    """Write what was found in place of what was known of the same fleets."""
    measured = {pace.fleet for pace in found}
    with FOUND.open(newline="") as file:
        _, *known = csv.reader(file)
    others = [row for row in known if row[0] not in measured]
    with FOUND.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([Pace._fields, *others, *found])


if __name__ == "__main__":
    main()
