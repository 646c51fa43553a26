"""How soon a replan of 64 GPUs and 256 models is better, and how soon it is about the best.

    python -m benchmarks.replan_quality [--fleets N] [--long SECONDS]

Each fleet is planned, then every model's demand changes by a random factor, as after some hours.
It is replanned within budgets of weights to load: none, a tenth of all weights, and any. The best
known value of a budget is that of the longest run, or of a shorter one if that found a better one.
"""

import argparse
from math import inf
from typing import NamedTuple

import numpy as np

from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.replan.replan import replan
from colocate.replan.steps.safe_steps import safe_steps
from colocate.replan.transition import change_between
from colocate.solver.solve import solve

GPUS, MODELS = 64, 256
SPREAD = 0.5
"""Of the logarithm of the factor by which demand changes."""
SECONDS = (0.5, 2.0)
BUDGETS = (0.02, 0.1, inf)
"""Shares of all weights that may be loaded."""


class DriftedFleet(NamedTuple):
    """A fleet after its demand has changed, and the placement that it still has."""

    problem: Problem
    old: Placement
    weights_gb: float


def drifted_fleet(seed: int) -> DriftedFleet:
    """Return a random fleet, planned for a demand that has changed since."""
    rng = np.random.default_rng(seed)
    sizes = rng.choice([3.0, 8.0, 14.0, 16.0, 28.0], MODELS, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    loads = rng.uniform(0.2, 2.0, MODELS)
    factors = rng.lognormal(0.0, SPREAD, MODELS)
    gpus = [Gpu(f"g{number}", 80.0) for number in range(GPUS)]

    def fleet(load: np.ndarray) -> Problem:
        models = zip(sizes.tolist(), load.tolist(), strict=True)
        return Problem(gpus, [Model(f"m{n}", size, load=x) for n, (size, x) in enumerate(models)])

    plan = solve(fleet(loads), time_limit=2.0)
    assert plan.placement, plan.reason
    return DriftedFleet(fleet(loads * factors), plan.placement, float(sizes.sum()))


def measured(seed: int, longest: float) -> list[str]:
    """Return rows of the table for one fleet."""
    fleet = drifted_fleet(seed)
    rows = []
    for share in BUDGETS:
        budget = None if share == inf else share * fleet.weights_gb
        found = [
            replan(fleet.problem, fleet.old, budget_gb=budget, points=2, time_limit=seconds)
            for seconds in (*SECONDS, longest)
        ]
        values = [min(point.value for point in each.points) for each in found]
        best, last = min(values), found[-1].points[-1]
        off = " | ".join(f"{value / best - 1.0:.2%}" for value in values[:-1])
        first = min(each.first_seconds or inf for each in found)
        moved = "any" if budget is None else f"{budget:.0f} GB"
        change = change_between(
            (fleet.problem, fleet.old), (fleet.problem, last.placement), "fixed"
        )
        steps = safe_steps(change)
        rows.append(
            f"| {seed} | {moved} | {first * 1e3:.0f} ms | {off} | {best:.4f} | {last.bound:.4f} | "
            f"{sum(step.kind.value == 'load' for step in steps.steps)} |"
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fleets", type=int, default=3)
    parser.add_argument("--long", type=float, default=20.0)
    options = parser.parse_args()
    after = " | ".join(f"after {seconds:g} s" for seconds in SECONDS)
    print(f"| fleet | budget | first improvement | {after} | best known | bound | loads |")
    print("|---|---|---|---|---|---|---|---|")
    for seed in range(options.fleets):
        print("\n".join(measured(seed, options.long)), flush=True)


if __name__ == "__main__":
    main()
