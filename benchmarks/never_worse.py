"""Whether CP-SAT with ten times the time is ever better than ours, on the cases of the suites.

Usage: python benchmarks/never_worse.py [--seconds S]

Where ours is proven optimal nothing can be better, and CP-SAT is not asked.
"""

import argparse
from math import inf, isfinite
from time import perf_counter

import cpsat_peer

from colocate import Status, load_suite, solve, verify
from colocate.arena.suites import SUITES

FOR_CPSAT = [name for name in SUITES if name != "families"]
"""The program of the peer knows no replicas, sleep, pins or groups."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="time for ours")
    seconds = parser.parse_args().seconds
    solve(load_suite("adrs").cases[0].problem)
    print(
        "| suite | cases | proven by ours | asked CP-SAT | its value / ours: best | mean | none |"
    )
    print("|---|---|---|---|---|---|---|")
    for name in FOR_CPSAT:
        print(_row(name, seconds), flush=True)


def _row(name: str, seconds: float) -> str:
    cases = load_suite(name).cases
    ratios = []
    for case in cases:
        plan = solve(case.problem, time_limit=seconds)
        if plan.status is not Status.OPTIMAL:
            ours = verify(case.problem, plan.placement).pressure
            started = perf_counter()
            theirs, _ = cpsat_peer.minimise(case.problem, 10 * seconds)
            ratios.append(theirs / ours)
            print(f"  {case.name}: {theirs / ours:.6f} after {perf_counter() - started:.0f} s")
    answered = [ratio for ratio in ratios if isfinite(ratio)]
    best = f"{min(answered, default=inf):.6f}" if answered else "-"
    mean = f"{sum(answered) / len(answered):.6f}" if answered else "-"
    proven, silent = len(cases) - len(ratios), len(ratios) - len(answered)
    return f"| {name} | {len(cases)} | {proven} | {len(ratios)} | {best} | {mean} | {silent} |"


if __name__ == "__main__":
    main()
