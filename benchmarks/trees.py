"""How the proofs of the suites are confirmed, and what that takes beside finding them.

Usage: python benchmarks/trees.py [--seconds S] [--suites NAME ...]

Every case is solved and its plan checked as `colocate check` does it, both in this process. A
column counts the proofs of optimality by kind. The last ones are the time of all checks as a
multiple of the time in which the plans were found, the longest check, and the largest plan file.
"""

import argparse
import json
from collections import Counter
from time import perf_counter

from colocate import Status, load_suite, solve
from colocate.solver.check import check_plan

SUITES = ("adrs", "idle", "tight", "mixed", "longtail", "scale", "chatlmsys", "prism24")
KINDS = ("tree", "multipliers", "volume", "model", "search", "solvers")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="for a case")
    parser.add_argument("--suites", nargs="+", default=SUITES)
    options = parser.parse_args()
    solve(load_suite("adrs").cases[0].problem)
    kinds = " | ".join(KINDS)
    print(f"| suite | cases | proven | {kinds} | not confirmed | check / solve | longest | KB |")
    print("|---|---|---|" + "---|" * (len(KINDS) + 4))
    for name in options.suites:
        print(_row(name, options.seconds), flush=True)


def _row(name: str, seconds: float) -> str:
    proofs: Counter[str] = Counter()
    cases = load_suite(name).cases
    open_claims, longest, largest = 0, 0.0, 0
    found, checked = 0.0, 0.0
    for case in cases:
        plan = solve(case.problem, time_limit=seconds)
        if plan.status is not Status.OPTIMAL or plan.certificate is None:
            continue
        proofs[plan.certificate.proof.value] += 1
        text = json.dumps(plan.as_dict())
        started = perf_counter()
        findings = check_plan(case.problem, json.loads(text))
        seconds_of_check = perf_counter() - started
        longest = max(longest, seconds_of_check)
        found, checked = found + plan.seconds, checked + seconds_of_check
        largest = max(largest, len(text))
        open_claims += not findings.all_confirmed
    counts = " | ".join(str(proofs[kind]) for kind in KINDS)
    figures = (
        f"{open_claims} | {checked / max(found, 1e-9):.2f} | {longest:.3f} s | {largest / 1000:.0f}"
    )
    return f"| {name} | {len(cases)} | {proofs.total()} | {counts} | {figures} |"


if __name__ == "__main__":
    main()
