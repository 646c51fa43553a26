"""How close `objective: latency` comes to its bound: random fleets of several sizes.

Models are from the catalogue, from 0.5B to 8B. Rates are by Zipf's law, and targets are 2.5 to 6
times a step by itself. For each size the table has the proven gaps, and whether the checker
confirms every certificate.

    python -m benchmarks.latency_gaps
"""

import argparse
from dataclasses import replace
from time import perf_counter

import numpy as np

from colocate import Problem, solve
from colocate.inputs.fleet import fleet_of
from colocate.problem.tolerance import PROVEN
from colocate.problem.verify_bound import refuted
from colocate.solver.targets import without_targets

SIZES = ((24, 8, 5.0), (36, 8, 5.0), (60, 16, 5.0), (256, 64, 10.0), (1024, 256, 20.0))
"""Models, GPUs, and seconds for each."""
STEPS = {
    "Qwen2.5-0.5B-Instruct": 0.0017,
    "Llama-3.2-1B-Instruct": 0.0018,
    "Qwen2.5-1.5B-Instruct": 0.0025,
    "Llama-3.2-3B-Instruct": 0.0038,
    "Qwen2.5-7B-Instruct": 0.0073,
    "Llama-3.1-8B-Instruct": 0.0078,
}
"""Seconds of a decode step on an H100, about."""
EVENNESS, RATE = 0.9, 0.7
"""Zipf's exponent, and requests a second of a model on average."""


def fleet(models: int, gpus: int, sharing: str, seed: int) -> Problem:
    """Return a fleet whose targets are wishes, so that every placement is one."""
    rng = np.random.default_rng(seed)
    shares = np.arange(1, models + 1) ** -EVENNESS
    rates = rng.permutation(shares / shares.sum() * models * RATE)
    names = rng.choice(list(STEPS), models)
    models_stated = [
        {
            "name": f"m{number}",
            "config": str(name),
            "rate": float(rate),
            "prompt_tokens": int(rng.integers(100, 1000)),
            "output_tokens": int(rng.integers(50, 300)),
            "tpot_slo": float(rng.uniform(2.5, 6.0) * STEPS[str(name)]),
        }
        for number, (name, rate) in enumerate(zip(names, rates, strict=True))
    ]
    listed = [{"kind": "H100-80GB", "count": gpus}]
    whole = {"load": "tokens", "sharing": sharing, "gpus": listed, "models": models_stated}
    return replace(without_targets(fleet_of(whole).problem), objective="latency")


def main() -> None:
    """Print a row for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fleets", type=int, default=5, help="of each size")
    parser.add_argument("--sharing", default="slices", choices=["slices", "mps"])
    chosen = parser.parse_args()
    solve(fleet(200, 50, chosen.sharing, 0), time_limit=1.0)  # compiles what is not compiled
    print("| models | GPUs | seconds | proven optimal | gaps | longest run | confirmed |")
    print("|---|---|---|---|---|---|---|")
    for models, gpus, seconds in SIZES:
        gaps, longest, confirmed = [], 0.0, 0
        for seed in range(chosen.fleets):
            problem = fleet(models, gpus, chosen.sharing, seed)
            start = perf_counter()
            plan = solve(problem, time_limit=seconds)
            longest = max(longest, perf_counter() - start)
            gaps.append(plan.gap)
            confirmed += plan.certificate is not None and not refuted(problem, plan.certificate)
        optimal = sum(gap <= PROVEN for gap in gaps)
        shown = ", ".join(f"{gap:.1%}" for gap in sorted(gaps))
        print(
            f"| {models} | {gpus} | {seconds:g} | {optimal} of {len(gaps)} | {shown} "
            f"| {longest:.1f} s | {confirmed} of {len(gaps)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
