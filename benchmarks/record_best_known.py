"""Look for better values and bounds on the suites and merge them into the best known.

Usage: python benchmarks/record_best_known.py SUITE [SUITE ...]
"""

import sys

from colocate.arena.best_known import Record, read_best_known, write_best_known
from colocate.arena.suites import Case, load_suite
from colocate.problem.layout import empty_layout
from colocate.problem.placement import Placement
from colocate.problem.verify import verify
from colocate.solver.construct.completion import Outcome
from colocate.solver.construct.exhaustive import search_fit
from colocate.solver.place import place
from colocate.solver.prove.volume import volume_bound

STRATEGIES = (
    "five_recommendations",
    "robust_packing_sa",
    "hybrid_bfd_ruin_recreate",
    "bs_multi_pack_ils",
    "steepest_descent_variance_ils",
)
SEEDS = 6
LARGE = 100
"""From this many GPUs on, one seed must do and no exhaustive search is tried."""
NODES = 3_000_000
BELOW = 1 - 1e-9
"""A bound is stated this little below what was searched, so that rounding cannot break it."""


def main() -> None:
    for name in sys.argv[1:]:
        suite = load_suite(name)
        known = read_best_known(suite)
        for case in suite.cases:
            record = _improved(case, known.get(case.name))
            write_best_known(suite, {case.name: record})
            print(f"{case.name}  value {record.value:.9f}  bound {record.bound:.9f}  {record.who}")


def _improved(case: Case, record: Record | None) -> Record:
    """Try the strategies, then search exhaustively just below the best value."""
    large = len(case.problem.gpus) >= LARGE
    bound = volume_bound(case.problem.instance) * BELOW
    for strategy in STRATEGIES[:2] if large else STRATEGIES:
        for seed in range(1 if large else SEEDS):
            plan = place(case.problem, strategy, seed)
            found = Record(case.name, case.digest, plan.pressure, bound, strategy)
            record = (record or found).improved(found.value, found.bound, found.who)
    assert record is not None
    return record if large else _searched(case, record)


def _searched(case: Case, record: Record) -> Record:
    instance = case.problem.instance
    while record.bound < record.value * BELOW:
        layout = empty_layout(instance)
        target = record.value * BELOW
        outcome, _ = search_fit(instance, layout, target, NODES)
        if outcome == Outcome.UNDECIDED:
            return record
        if outcome == Outcome.NONE:
            return record.improved(record.value, target * BELOW, record.who)
        verdict = verify(case.problem, Placement.from_indices(case.problem, layout.gpu_of))
        if not verdict.pressure < record.value:
            return record
        record = record.improved(verdict.pressure, record.bound, "exhaustive search")
    return record


if __name__ == "__main__":
    main()
