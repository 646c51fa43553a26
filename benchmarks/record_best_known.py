"""Look for better values and bounds on the suites and merge them into the best known.

Usage: python benchmarks/record_best_known.py SECONDS SUITE [SUITE ...]

A name that ends in -hidden stands for the hidden cases of a suite.
"""

import sys
from math import isinf

from colocate.arena.best_known import Record, read_best_known, write_best_known
from colocate.arena.suites import Case, load_suite
from colocate.arena.tasks.hidden_cases import HIDDEN, hidden_suite
from colocate.solver.solve import solve

BELOW = 1 - 1e-9
"""A bound is stated this little below what was proven, so that rounding cannot break it."""


def main() -> None:
    seconds = float(sys.argv[1])
    for name in sys.argv[2:]:
        hidden = name.endswith(HIDDEN)
        suite = hidden_suite(name.removesuffix(HIDDEN)) if hidden else load_suite(name)
        known = read_best_known(suite)
        for case in suite.cases:
            record = _improved(case, known.get(case.name), seconds)
            if record is None:
                print(f"{case.name}  nothing known")
                continue
            write_best_known(suite, {case.name: record})
            figures = f"value {record.value:.9f}  bound {record.bound:.9f}  {record.who}"
            lost = f"  lost {record.lost:.6f}  bound {record.lost_bound:.6f}" if record.lost else ""
            print(f"{case.name}  {figures}{lost}", flush=True)


def _improved(case: Case, record: Record | None, seconds: float) -> Record | None:
    """Return what is known after another search; None if that is nothing, or nothing finite."""
    if record and _proven(record):
        return record
    plan = solve(case.problem, time_limit=seconds)
    if not plan.placement or isinf(plan.pressure):
        return record
    found = Record(
        case.name,
        case.problem.digest,
        plan.pressure,
        plan.bound * BELOW,
        "solve",
        plan.lost,
        plan.lost_bound * BELOW,
    )
    return (record or found).improved(found)


def _proven(record: Record) -> bool:
    least = record.lost * BELOW * BELOW <= record.lost_bound
    return least and record.value * BELOW * BELOW <= record.bound


if __name__ == "__main__":
    main()
