"""What copies bring: chatlmsys with one copy of each model, and with as many as pay.

python benchmarks/copies.py [--seconds 5]
"""

import argparse
from dataclasses import replace

from colocate import Problem, load_suite, solve
from colocate.solver.plan import Plan, Status


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    seconds = parser.parse_args().seconds
    print("| case | one copy each | proven within | as many as pay | proven within | copies |")
    print("|---|---|---|---|---|---|")
    for case in load_suite("chatlmsys").cases:
        single = solve(case.problem, time_limit=seconds)
        elastic = solve(with_any_copies(case.problem), time_limit=seconds)
        cells = (case.name, *_cells(single), *_cells(elastic), copies_of(elastic))
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


def with_any_copies(problem: Problem) -> Problem:
    """Return the problem with the number of copies of every model open."""
    gpus = len(problem.gpus)
    models = (m.changed(most_replicas=gpus // m.shards) for m in problem.models)
    return replace(problem, models=tuple(models))


def copies_of(plan: Plan) -> int:
    """Return how many copies there are of all models together."""
    shards = {model.name: model.shards for model in plan.problem.models}
    return sum(len(gpus) // shards[name] for name, gpus in plan.placement.items())


def _cells(plan: Plan) -> tuple[str, str]:
    within = "optimal" if plan.status is Status.OPTIMAL else f"{100 * plan.gap:.2g}%"
    return f"{plan.pressure:.6f}", within


if __name__ == "__main__":
    main()
