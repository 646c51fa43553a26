"""What replicas bring: chatlmsys with one replica of each model, and with as many as pay.

python benchmarks/replicas.py [--seconds 5]
"""

import argparse
from dataclasses import replace

from colocate import Problem, load_suite, solve
from colocate.solver.plan import Plan, Status


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    seconds = parser.parse_args().seconds
    print("| case | one replica each | proven within | as many as pay | proven within | replicas |")
    print("|---|---|---|---|---|---|")
    for case in load_suite("chatlmsys").cases:
        single = solve(case.problem, time_limit=seconds)
        open_replicas = solve(with_any_replicas(case.problem), time_limit=seconds)
        cells = (case.name, *_cells(single), *_cells(open_replicas), replicas_of(open_replicas))
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


def with_any_replicas(problem: Problem) -> Problem:
    """Return the problem with the number of replicas of every model open."""
    gpus = len(problem.gpus)
    models = (m.changed(most_replicas=gpus // m.shards) for m in problem.models)
    return replace(problem, models=tuple(models))


def replicas_of(plan: Plan) -> int:
    """Return how many replicas there are of all models together."""
    shards = {model.name: model.shards for model in plan.problem.models}
    return sum(len(gpus) // shards[name] for name, gpus in plan.placement.items())


def _cells(plan: Plan) -> tuple[str, str]:
    within = "optimal" if plan.status is Status.OPTIMAL else f"{100 * plan.gap:.2g}%"
    return f"{plan.pressure:.6f}", within


if __name__ == "__main__":
    main()
