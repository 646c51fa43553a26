"""By how much time limits are exceeded, on plain fleets and on the suite `families`.

Usage: python benchmarks/time_limits.py [--limits S ...] [--runs N] [--cases NAME ...]
       [--most-gpus N] [--workers N]

Every case has a process of its own, which solves it once before it counts. A cell is the longest
time beyond the limit, in ms, of some runs; a broken promise is marked with an exclamation mark, and
the exit code is 1. The promise: 10% of the limit, and 100 ms up to 512 GPUs or 500 ms with more.
"""

import argparse
import sys
from collections.abc import Iterator

from growth import make_problem
from one_solve import Answer, can_place_in_time, solved_apart

from colocate import Problem, load_suite

LIMITS = (0.05, 0.2, 1.0, 5.0)
RUNS = 3
PLAIN_GPUS = (64, 128, 512, 1024, 4096)
PLAIN = "plain"
STRATEGIES = ("five_recommendations", "steepest_descent_variance_ils")
"""What `place` is held to its limit with, if it takes one."""
SHARE, FEW_GPUS = 0.1, 512
SECONDS_FOR_FEW, SECONDS_FOR_MANY = 0.1, 0.5


def main() -> None:
    options = _options()
    print(f"| call | case | {' | '.join(f'{limit:g} s' for limit in options.limits)} |")
    print("|---|---" + "|---" * len(options.limits) + "|")
    kept = True
    for name, problem in _problems(options):
        for strategy in ("", *(STRATEGIES if can_place_in_time() else ())):
            counted = [limit for limit in options.limits for _ in range(options.runs)]
            limits = [counted[0], *counted]
            answer = solved_apart(problem, limits, options.workers, strategy=strategy)
            cells = list(_cells(answer, options.limits, options.runs, len(problem.gpus)))
            kept &= not any(cell.endswith("!") for cell in cells)
            print(f"| {strategy or 'solve'} | {name} | {' | '.join(cells)} |", flush=True)
            if answer.crash:
                print(f"{name}: {answer.crash}", file=sys.stderr)
    print("\nAll limits are kept." if kept else "\nLimits are exceeded by more than is promised.")
    sys.exit(0 if kept else 1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limits", nargs="+", type=float, default=LIMITS, help="seconds")
    parser.add_argument("--runs", type=int, default=RUNS, help="of which the worst counts")
    parser.add_argument("--cases", nargs="+", help="such as plain-64 or sharded-64; all by default")
    parser.add_argument("--most-gpus", type=int, default=PLAIN_GPUS[-1], help="leave larger out")
    parser.add_argument("--workers", type=int, help="threads of the solver; its default by default")
    return parser.parse_args()


def _problems(options: argparse.Namespace) -> Iterator[tuple[str, Problem]]:
    for gpus in PLAIN_GPUS:
        if _asked(options, f"{PLAIN}-{gpus}", gpus):
            yield f"{PLAIN}-{gpus}", make_problem(gpus)
    for case in load_suite("families").cases:
        name = case.name.removeprefix("families-")
        if _asked(options, name, len(case.problem.gpus)):
            yield name, case.problem


def _asked(options: argparse.Namespace, name: str, gpus: int) -> bool:
    return gpus <= options.most_gpus and (not options.cases or name in options.cases)


def _cells(answer: Answer, limits: list[float], runs: int, gpus: int) -> Iterator[str]:
    """Yield for every limit by how much it was exceeded at worst; no answer breaks the promise."""
    if answer.crash.startswith("InputError"):
        yield from ["refused"] * len(limits)
        return
    for number, limit in enumerate(limits):
        calls = answer.calls[1 + number * runs : 1 + (number + 1) * runs]
        if len(calls) < runs:
            yield "none!"
            continue
        beyond = max(call.seconds for call in calls) - limit
        yield f"{1000 * beyond:+.0f}{'!' if beyond > _allowed(limit, gpus) else ''}"


def _allowed(limit: float, gpus: int) -> float:
    return SHARE * limit + (SECONDS_FOR_FEW if gpus <= FEW_GPUS else SECONDS_FOR_MANY)


if __name__ == "__main__":
    main()
