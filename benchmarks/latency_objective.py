"""What the lowest pressure costs in latency: eight random fleets, three ways to place them.

36 models of 1B to 8B are on 8 H100, with rates by Zipf's law. For each fleet, the table shows the
worst ratio of predicted TPOT to a target of 50 ms: in the placement of lowest pressure, in that of
plain greedy, which others ship, and with `objective: latency`.

    python benchmarks/latency_objective.py
"""

import argparse
from dataclasses import replace
from statistics import mean

import numpy as np

from colocate import place, solve
from colocate.inputs.fleet import fleet_of
from colocate.latency.prediction import predict_placement
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem

MODELS, GPUS, FLEETS = 36, 8, 8
BILLIONS = (1.0, 1.5, 3.0, 4.0, 7.0, 8.0)
"""Parameters of a model are drawn from these."""
KV_BYTES = {1.0: 32768, 1.5: 28672, 3.0: 114688, 4.0: 147456, 7.0: 57344, 8.0: 131072}
"""Keys and values of a token, as in models of that size that people serve."""
TARGET = 0.05
"""Seconds for each output token."""


def fleet(seed: int, requests: float) -> Problem:
    """Return a fleet that is asked so many requests each second in all."""
    rng = np.random.default_rng(seed)
    rates = 1.0 / (1.0 + rng.permutation(MODELS))
    sizes = rng.choice(BILLIONS, MODELS)
    models = [
        {
            "name": f"m{number}",
            "size_gb": 2.0 * float(size),
            "overhead_gb": 1.5,
            "kv_bytes_per_token": KV_BYTES[float(size)],
            "rate": requests * float(rate / rates.sum()),
            "prompt_tokens": 512,
            "output_tokens": 128,
            "tpot_slo": TARGET,
        }
        for number, (size, rate) in enumerate(zip(sizes, rates, strict=True))
    ]
    gpus = [{"kind": "H100-80GB", "count": GPUS}]
    return fleet_of({"load": "tokens", "gpus": gpus, "models": models}).problem


def worst(problem: Problem, placement: Placement) -> float:
    """Return the worst ratio of a placement."""
    return max(each.shared.ratio for each in predict_placement(problem, placement))


def main() -> None:
    """Print a row for each fleet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each search")
    parser.add_argument("--requests", type=float, default=24.0, help="each second, of a fleet")
    parser.add_argument("--fleets", type=int, default=FLEETS)
    chosen = parser.parse_args()
    print("| fleet | pressure | proven within | lowest pressure | greedy | latency | at least |")
    print("|---|---|---|---|---|---|---|")
    times, above_greedy = [], 0
    for seed in range(chosen.fleets):
        stated = fleet(seed, chosen.requests)
        models = tuple(
            model.changed(requests=replace(model.requests, binding=False))
            for model in stated.models
        )
        free = replace(stated, models=models)
        lowest = solve(free, time_limit=chosen.seconds)
        greedy = place(free, "initial_program")
        latency = solve(replace(free, objective="latency"), time_limit=chosen.seconds)
        ratios = [worst(free, plan.placement) for plan in (lowest, greedy, latency)]
        times.append(ratios[0] / ratios[2])
        above_greedy += ratios[0] > ratios[1]
        cells = [f"{seed}", f"{lowest.pressure:.4f}", f"{lowest.gap:.1%}"]
        cells += [f"{ratio:.3f}" for ratio in (*ratios, latency.bound)]
        print(f"| {' | '.join(cells)} |", flush=True)
    slower = f"{min(times):.2f} to {max(times):.2f} times as slow, {mean(times):.2f} on average"
    print(f"the lowest pressure is {slower}, and slower than greedy in {above_greedy} fleets")


if __name__ == "__main__":
    main()
