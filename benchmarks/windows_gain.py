"""What planning over time windows brings over the mean of each model, and over its own peak.

Each fleet is planned three times: by its windows, by the mean of each model, and by each model's
own peak. All three placements are then rated in all windows, and the requests are replayed on each.

    python -m benchmarks.windows_gain   # writes benchmarks/data/windows_gain.csv
    python -m docs.draw_windows         # draws docs/windows_gain.svg from it
"""

import csv
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from colocate import Problem, simulate, solve, verify
from colocate.inputs.fleet import Fleet, fleet_of, read_fleet
from colocate.latency.prediction import predict_placement
from colocate.simulate.result import Simulation

ROOT = Path(__file__).resolve().parents[1]
TRACE = ROOT / "examples" / "lmsys_trace.csv"
FOUND = ROOT / "benchmarks" / "data" / "windows_gain.csv"
MINUTE = 60.0
SECONDS = 20.0
"""For each plan; fewer where it is proven best before."""
SEEDS = (0, 1, 2)
WAYS = ("windows", "mean", "peak")
CONFIGS = ("Qwen2.5-1.5B-Instruct", "Llama-3.2-3B-Instruct", "Qwen2.5-7B-Instruct")


class Gain(NamedTuple):
    """One placement of one fleet, rated in all windows."""

    fleet: str
    way: str
    promised: float
    """The ratio of latency to target that its own plan states."""
    ratio: float
    """The worst ratio in any window."""
    bound: float
    """No placement has a lower one in all windows; 0 for other ways."""
    in_time: float
    """Share of the replayed requests that kept their targets."""
    worst_p99: float
    """The highest p99 of TPOT that a model had in the replay, over its target."""


def day_and_night(seed: int) -> Fleet:
    """Return 24 models on 6 GPUs: half are asked by day, half by night, over 24 hours."""
    rng = np.random.default_rng(seed)
    hours = np.arange(24)
    rates = []
    for number in range(24):
        peak = 14.0 if number % 2 else 2.0
        shape = np.maximum(np.cos((hours - peak) * 2 * np.pi / 24), 0.0) ** 2
        level = 3.0 * rng.gamma(2.0) / 2.0
        rates.append(np.round(level * (0.02 + shape) * rng.lognormal(0, 0.05, 24), 3))
    return _fleet(rng, rates, 6)


def burst_groups(seed: int) -> Fleet:
    """Return 24 models on 6 GPUs in four groups; the models of a group have bursts together."""
    rng = np.random.default_rng(100 + seed)
    on = rng.random((4, 24)) < 0.15
    on[:, :4] = np.eye(4, dtype=bool)  # each has one
    rates = [
        np.round((0.1 + 4.0 * on[number % 4]) * rng.gamma(2.0) / 2.0, 3) for number in range(24)
    ]
    return _fleet(rng, rates, 6)


def _fleet(rng: np.random.Generator, rates: list[np.ndarray], gpus: int) -> Fleet:
    models = [
        {
            "name": f"m{number}",
            "config": str(rng.choice(CONFIGS)),
            "rate": [float(rate) for rate in of_model],
            "prompt_tokens": int(rng.integers(100, 800)),
            "output_tokens": int(rng.integers(60, 250)),
            "tpot_slo": 0.022,
        }
        for number, of_model in enumerate(rates)
    ]
    listed = [{"kind": "H100-80GB", "count": gpus}]
    data = {"load": "tokens", "objective": "latency", "gpus": listed, "models": models}
    return fleet_of(data)


def lmsys(_: int) -> Fleet:
    """Return the fleet of the LMSYS trace, with its rates in every minute of the trace."""
    counts: dict[str, list[int]] = {}
    with TRACE.open() as rows:
        for row in csv.DictReader(rows):
            minute = min(int(float(row["arrival_s"]) / MINUTE), 9)
            counts.setdefault(row["model"], [0] * 10)[minute] += 1
    data = read_fleet(ROOT / "examples" / "lmsys.yaml").as_dict()
    for model in data["models"]:
        model["rate"] = [count / MINUTE for count in counts[model["name"]]]
    return fleet_of(data)


FLEETS: dict[str, tuple[Callable[[int], Fleet], tuple[int, ...]]] = {
    "day and night": (day_and_night, SEEDS),
    "burst groups": (burst_groups, SEEDS),
    "LMSYS by the minute": (lmsys, (0,)),
}


def wished(problem: Problem) -> Problem:
    """Return a problem whose targets are wishes, so that every placement is one."""
    models = tuple(
        model.changed(requests=replace(model.requests, binding=False))
        for model in problem.models
        if model.requests is not None
    )
    return replace(problem, models=models)


def in_one_window(problem: Problem, way: str) -> Problem:
    """Return a problem with one window: the mean of each model, or its own peak."""
    models = []
    for model in problem.models:
        assert model.requests is not None, "all fleets here state requests"
        rates = model.requests.rates or (model.requests.rate,)
        loads = model.load
        rate = max(rates) if way == "peak" else sum(rates) / len(rates)
        load = max(loads) if way == "peak" else sum(loads) / len(loads)
        requests = replace(model.requests, rate=rate, rates=())
        models.append(model.changed(rate=None, load=load, requests=requests))
    return replace(problem, models=tuple(models), stated_windows=())


def gains() -> Iterator[Gain]:
    """Yield three placements of every fleet."""
    for name, (make, seeds) in FLEETS.items():
        for seed in seeds:
            problem = wished(make(seed).problem)
            for way in WAYS:
                asked = problem if way == "windows" else in_one_window(problem, way)
                plan = solve(asked, time_limit=SECONDS, seed=seed)
                assert verify(problem, plan.placement).valid
                felt = max(each.shared.ratio for each in predict_placement(problem, plan.placement))
                trace = TRACE if "LMSYS" in name else None
                minutes = None if trace else 24.0
                replay = simulate(problem, plan.placement, trace=trace, minutes=minutes, seed=seed)
                assert isinstance(replay, Simulation)
                bound = plan.bound if way == "windows" else 0.0
                yield Gain(
                    f"{name} {seed}" if len(seeds) > 1 else name,
                    way,
                    round(plan.value, 4),
                    round(felt, 4),
                    round(bound, 4),
                    round(_in_time(replay), 4),
                    round(_worst_p99(replay, problem), 3),
                )


def _in_time(replay: Simulation) -> float:
    """Return the share of all judged requests that kept their targets."""
    judged = sum(model.judged for model in replay.models)
    return sum(model.attainment * model.judged for model in replay.models if model.judged) / judged


def _worst_p99(replay: Simulation, problem: Problem) -> float:
    targets = {m.name: m.requests.tpot_slo for m in problem.models if m.requests}
    return max(model.tpot.p99 / targets[model.name] for model in replay.models if model.finished)


def main() -> None:
    """Measure, and keep what was found."""
    with FOUND.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(Gain._fields)
        for gain in gains():
            rows.writerow(gain)
            print(*gain, sep="\t", flush=True)


if __name__ == "__main__":
    main()
