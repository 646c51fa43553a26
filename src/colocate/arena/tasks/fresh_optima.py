"""What is known about fresh hidden cases, found by the solver in a process of its own.

The referee loads no solver. It starts this module with the name of a suite and a seed, and reads a
line of JSON for each case.
"""

import json
import sys

from colocate.arena.suites import Case
from colocate.arena.tasks.hidden_cases import hidden_suite
from colocate.errors import NothingFoundError
from colocate.problem.tolerance import TIE
from colocate.problem.verify import verify
from colocate.solver.solve import solve

SECONDS = 2.0
"""For a case: most are proven optimal within a tenth of that."""
BELOW = 1 - TIE
"""A bound is stated this little below what was proven, so that rounding cannot break it."""


def main() -> None:
    """Print what the solver finds out about every case, in order."""
    suite, seed = sys.argv[1], int(sys.argv[2])
    for case in hidden_suite(suite, seed).cases:
        print(json.dumps(_found(case)), flush=True)


def _found(case: Case) -> dict[str, str | float]:
    """Return the best pressure found, checked, and the proven bound."""
    plan = solve(case.problem, time_limit=SECONDS)
    checked = verify(case.problem, dict(plan.placement or {}))
    if not checked.valid:
        raise NothingFoundError(f"no placement was found for {case.name}, take another seed")
    return {"case": case.name, "value": checked.pressure, "bound": plan.bound * BELOW}


if __name__ == "__main__":
    main()
