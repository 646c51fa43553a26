"""All of `adrs` solved and proven: ours, warm, against CP-SAT from scratch, in the same run.

CP-SAT is asked for strictly better in exact integers until there is none, with two workers.
"""

from statistics import fmean, median
from time import perf_counter

import cpsat_peer

from colocate import Problem, Status, load_suite, solve

REPEATS = 3
PROVEN = 1e-8


def main() -> None:
    problems = [case.problem for case in load_suite("adrs").cases]
    solve(problems[0])
    ours = []
    for _ in range(REPEATS):
        times = [_our_seconds(problem) for problem in problems]
        ours.append(sum(times))
        milliseconds = [1000 * seconds for seconds in times]
        print(
            f"ours    {sum(times):8.3f} s   a case: mean {fmean(milliseconds):.3f} ms, "
            f"median {median(milliseconds):.3f} ms, slowest {max(milliseconds):.3f} ms"
        )
    cpsat_peer.prove_from_scratch(problems[0])
    theirs = sum(_their_seconds(problem) for problem in problems)
    print(f"CP-SAT  {theirs:8.3f} s   a case: mean {1000 * theirs / len(problems):.3f} ms")
    print(f"ours is {theirs / median(ours):.1f} times as fast (its median of {REPEATS} runs)")


def _our_seconds(problem: Problem) -> float:
    started = perf_counter()
    plan = solve(problem)
    seconds = perf_counter() - started
    if plan.status is not Status.OPTIMAL:
        print(f"ours: not proven, gap {plan.gap:.2e}")
    return seconds


def _their_seconds(problem: Problem) -> float:
    started = perf_counter()
    value, bound = cpsat_peer.prove_from_scratch(problem)
    seconds = perf_counter() - started
    if value > bound * (1 + PROVEN):
        print(f"CP-SAT: not proven, gap {value / bound - 1:.2e}")
    return seconds


if __name__ == "__main__":
    main()
