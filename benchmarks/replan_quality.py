"""How soon a replan of 64 GPUs and 256 models is better, and how soon it is about the best.

    python -m benchmarks.replan_quality            # writes benchmarks/data/replan_quality.csv
    python -m benchmarks.replan_quality --print    # only prints

Each fleet is planned, then every model's demand changes by a random factor, as after some hours.
It is replanned within budgets of weights to load. The placements to begin with are kept in
`benchmarks/data/replan_starts.json`, so that runs compare. The best known value of a budget is the
lowest of all runs that were kept so far, however long they were.

At last, the steps of 500 moves are found, for engines that move round in circles.
"""

import argparse
import csv
import json
from collections.abc import Iterator
from math import inf
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

from colocate.inputs.fleet import Fleet, fleet_of
from colocate.problem.parts import Places
from colocate.problem.problem import Problem
from colocate.replan.replan import replan
from colocate.replan.steps.safe_steps import safe_steps
from colocate.replan.transition import change_between
from colocate.solver.solve import solve

DATA = Path(__file__).resolve().parent / "data"
FOUND, STARTS = DATA / "replan_quality.csv", DATA / "replan_starts.json"
GPUS, MODELS, MOVES = 64, 256, 500
SPREAD = 0.5
"""Of the logarithm of the factor by which demand changes."""
SECONDS = (0.5, 2.0)
BUDGETS = (0.02, 0.05, 0.1, inf)
"""Shares of all weights that may be loaded."""
CONFIGS = ("Qwen2.5-1.5B-Instruct", "Llama-3.2-3B-Instruct", "Qwen2.5-7B-Instruct")


class Quality(NamedTuple):
    """What a replan found within a budget."""

    objective: str
    fleet: int
    share: float
    """Of all weights, that may be loaded."""
    stay: float
    first_ms: float
    """Until the first improvement, in the run of two seconds."""
    after_half: float
    after_two: float
    best: float
    bound: float


def by_pressure(seed: int, changed: bool) -> Fleet:
    """Return a random fleet whose pressure decides, before or after its demand has changed."""
    rng = np.random.default_rng(seed)
    sizes = rng.choice([3.0, 8.0, 14.0, 16.0, 28.0], MODELS, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    loads = rng.uniform(0.2, 2.0, MODELS)
    factors = rng.lognormal(0.0, SPREAD, MODELS)
    models = [
        {"name": f"m{n}", "size_gb": float(sizes[n]), "load": float(load)}
        for n, load in enumerate(loads * factors if changed else loads)
    ]
    gpus = [{"name": "g", "memory_gb": 80, "reserve_gb": 0, "count": GPUS}]
    return fleet_of({"gpus": gpus, "models": models})


def by_latency(seed: int, changed: bool) -> Fleet:
    """Return a random fleet whose latencies decide, before or after its demand has changed."""
    rng = np.random.default_rng(seed)
    factors = rng.lognormal(0.0, SPREAD, MODELS) if changed else rng.lognormal(0.0, 0.0, MODELS)
    models = [
        {
            "name": f"m{n}",
            "config": str(rng.choice(CONFIGS)),
            "rate": float(0.5 * rng.gamma(2.0) * factors[n]),
            "prompt_tokens": int(rng.integers(100, 800)),
            "output_tokens": int(rng.integers(60, 250)),
            "tpot_slo": 0.05,
        }
        for n in range(MODELS)
    ]
    gpus = [{"kind": "H100-80GB", "count": GPUS}]
    return fleet_of({"load": "tokens", "objective": "latency", "gpus": gpus, "models": models})


FLEETS = {"pressure": by_pressure, "latency": by_latency}


def started(objective: str, seed: int) -> Places:
    """Return the kept placement for the demand before; plan and keep one if there is none."""
    known = json.loads(STARTS.read_text()) if STARTS.exists() else {}
    name = f"{objective} {seed}"
    if name not in known:
        plan = solve(FLEETS[objective](seed, False).problem, time_limit=2.0)
        assert plan.placement, plan.reason
        known[name] = {model: list(gpus) for model, gpus in plan.placement.items()}
        STARTS.write_text(json.dumps(known, indent=1) + "\n")
    places: Places = known[name]
    return places


def best_known() -> dict[tuple[str, int, float], float]:
    """Return the lowest values of earlier runs, by objective, fleet and budget."""
    if not FOUND.exists():
        return {}
    with FOUND.open(newline="") as file:
        return {
            (row["objective"], int(row["fleet"]), float(row["share"])): float(row["best"])
            for row in csv.DictReader(file)
        }


def qualities(objective: str, seed: int, longest: float) -> Iterator[Quality]:
    """Yield what replans of one fleet find."""
    fleet, old = FLEETS[objective](seed, True), started(objective, seed)
    weights = sum(spec.size_gb or 0.0 for spec in fleet.models.values())
    known = best_known()
    replan(fleet, old, budget_gb=1.0, time_limit=0.1)
    for share in BUDGETS:
        budget = None if share == inf else share * weights
        found = [
            replan(fleet, old, budget_gb=budget, points=2, time_limit=seconds)
            for seconds in (*SECONDS, longest)
        ]
        lowest = [each.points[-1] for each in found]
        values = [point.value for point in lowest]
        best = min(*values, known.get((objective, seed, share), inf))
        stay = found[0].stay.value if found[0].stay else inf
        first = 1e3 * (found[1].first_seconds or inf)
        bound = max(lowest, key=lambda point: (point.budget_gb, point.bound)).bound
        yield Quality(objective, seed, share, stay, round(first, 1), *values[:2], best, bound)


def seconds_of_steps() -> float:
    """Return how long it takes to find steps for 500 engines that each move to the next GPU."""
    gpus = [{"name": "g", "memory_gb": 80, "reserve_gb": 0, "count": MOVES // 2}]
    models = [{"name": f"m{n}", "size_gb": 16 + n % 7, "load": 1} for n in range(MOVES)]
    problem: Problem = fleet_of({"gpus": gpus, "models": models}).problem
    names = [gpu.name for gpu in problem.gpus]
    old = {f"m{n}": [names[n % len(names)]] for n in range(MOVES)}
    new = {f"m{n}": [names[(n + 1) % len(names)]] for n in range(MOVES)}
    change = change_between((problem, old), (problem, new), "elastic")
    times = []
    for _ in range(5):
        begun = perf_counter()
        safe_steps(change)
        times.append(perf_counter() - begun)
    return min(times)


def show(found: list[Quality]) -> None:
    """Print a table."""
    print("| objective | fleet | may load | stay | first better | 0.5 s | 2 s | best | bound |")
    print("|---|---|---|---|---|---|---|---|---|")
    for each in found:
        share = "any" if each.share == inf else f"{each.share:.0%}"
        off = [f"{value / each.best - 1.0:.2%}" for value in (each.after_half, each.after_two)]
        print(
            f"| {each.objective} | {each.fleet} | {share} | {each.stay:.4f} | "
            f"{each.first_ms:.0f} ms | {off[0]} | {off[1]} | {each.best:.4f} | {each.bound:.4f} |"
        )


def main() -> None:
    """Measure, print, and keep what all fleets came to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fleets", type=int, default=2)
    parser.add_argument("--long", type=float, default=4.0)
    parser.add_argument("--print", action="store_true", help="keep nothing")
    parser.add_argument("--objective", choices=list(FLEETS), help="by default both")
    options = parser.parse_args()
    for objective in [options.objective] if options.objective else FLEETS:
        found = []
        for seed in range(options.fleets):
            found += qualities(objective, seed, options.long)
        show(found)
        if not options.print:
            keep(objective, found)
    print(f"steps for {MOVES} moves: {seconds_of_steps():.3f} s")


def keep(objective: str, found: list[Quality]) -> None:
    """Write what was found for an objective beside what is known of the other."""
    known = []
    if FOUND.exists():
        with FOUND.open(newline="") as file:
            known = [row for row in csv.reader(file) if row[0] not in ("objective", objective)]
    with FOUND.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Quality._fields)
        writer.writerows([*known, *found])


if __name__ == "__main__":
    main()
