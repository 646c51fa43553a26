"""Look for better values and bounds on the suites and merge them into the best known.

Usage: python benchmarks/record_best_known.py SECONDS SUITE [SUITE ...]

A name that ends in -hidden stands for the hidden cases of a suite.
"""

import sys

from colocate.arena.best_known import Record, read_best_known, write_best_known
from colocate.arena.contest import HIDDEN, hidden_suite
from colocate.arena.suites import Case, load_suite
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
            write_best_known(suite, {case.name: record})
            print(f"{case.name}  value {record.value:.9f}  bound {record.bound:.9f}  {record.who}")


def _improved(case: Case, record: Record | None, seconds: float) -> Record:
    if record and record.value * BELOW * BELOW <= record.bound:
        return record
    plan = solve(case.problem, time_limit=seconds)
    found = Record(case.name, case.problem.digest, plan.pressure, plan.bound * BELOW, "solve")
    return (record or found).improved(found.value, found.bound, found.who)


if __name__ == "__main__":
    main()
