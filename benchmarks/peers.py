"""Ours beside CP-SAT, HiGHS and the strongest strategies, in one run, on every suite.

Usage: python benchmarks/peers.py [--suites NAME ...] [--cases N] [--seconds S] [--output FILE]

CP-SAT and HiGHS get the same time and ten times the time. A ratio is value over ours: above 1 is
worse than ours. All values are those of the independent checker.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import inf, isfinite
from pathlib import Path
from statistics import fmean
from time import perf_counter

import cpsat_peer
import highs_peer

from colocate import Problem, Status, load_suite, place, solve, verify
from colocate.arena.suites import SUITES, Case

OURS = "ours"
FOR_ALL = [name for name in SUITES if name not in ("chatlmsys", "families")]
"""The suites that all can take: the others know no shards, replicas, sleep, pins or groups."""
STRATEGIES = ("initial_program", "five_recommendations", "steepest_descent_variance_ils")
MIDDLE = 64
"""Above so many GPUs, only what can still answer takes part."""
LARGER = ", more GPUs"
PROVEN = 1e-6
"""A peer's gap below this counts as none: HiGHS computes with tolerances."""
NOTABLE = 1e-4
"""A value that is lower than ours by more than this is listed."""

Run = Callable[[Problem], tuple[float, float | None, bool]]
"""Returns the value, the bound if there is one, and whether the value is proven."""


@dataclass(frozen=True)
class Result:
    """What a solver did with a case."""

    case: str
    solver: str
    value: float
    bound: float | None
    proven: bool
    seconds: float
    reason: str = ""

    @property
    def gap(self) -> float | None:
        """How far the value is from the solver's own bound."""
        if self.bound is None or not isfinite(self.value):
            return None
        if self.value <= self.bound:
            return 0.0
        return self.value / self.bound - 1 if self.bound > 0 else inf


def main() -> None:
    options = _options()
    _warm_up()
    results: dict[str, list[Result]] = {}
    for name in options.suites:
        for title, cases in _groups(name, options.cases):
            solvers = _solvers(options.seconds, title.endswith(LARGER))
            results[title] = [_result(case, who, solvers[who]) for case in cases for who in solvers]
            print(_table(title, len(cases), results[title]), "\n", flush=True)
    _list_remarkable(results)
    if options.output:
        Path(options.output).write_text(_as_json(options.seconds, results), encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suites", nargs="+", choices=FOR_ALL, default=FOR_ALL)
    parser.add_argument("--cases", type=int, help="only the first so many cases of each suite")
    parser.add_argument("--seconds", type=float, default=1.0, help="time for ours")
    parser.add_argument("--output", help="write all results to this file, as JSON")
    return parser.parse_args()


def _groups(name: str, most: int | None) -> list[tuple[str, Sequence[Case]]]:
    cases = load_suite(name).cases[:most]
    larger = [case for case in cases if len(case.problem.gpus) > MIDDLE]
    if not larger:
        return [(name, cases)]
    smaller = [case for case in cases if len(case.problem.gpus) <= MIDDLE]
    return [(f"{name}, up to {MIDDLE} GPUs", smaller), (name + LARGER, larger)]


def _warm_up() -> None:
    """Compile and start what the first case would otherwise have to wait for."""
    problem = load_suite("adrs").cases[0].problem
    solve(problem)
    cpsat_peer.minimise(problem, 1.0)
    highs_peer.warm_up()
    for name in STRATEGIES:
        place(problem, name)


def _solvers(seconds: float, few: bool) -> dict[str, Run]:
    same, ten = f"{seconds:g} s", f"{10 * seconds:g} s"
    first: dict[str, Run] = {
        OURS: lambda problem: _ours(problem, seconds),
        f"CP-SAT, {same}": lambda problem: _peer(cpsat_peer.minimise(problem, seconds)),
        f"CP-SAT, {ten}": lambda problem: _peer(cpsat_peer.minimise(problem, 10 * seconds)),
        "initial_program": lambda problem: _strategy(problem, "initial_program"),
    }
    if few:
        return first
    return (
        first
        | {
            f"HiGHS, {same}": lambda problem: _peer(highs_peer.minimise(problem, seconds)),
            f"HiGHS, {ten}": lambda problem: _peer(highs_peer.minimise(problem, 10 * seconds)),
            **{
                name: lambda problem, name=name: _strategy(problem, name)  # type: ignore[misc]
                for name in STRATEGIES[1:]
            },
        }
    )


def _ours(problem: Problem, seconds: float) -> tuple[float, float | None, bool]:
    plan = solve(problem, time_limit=seconds)
    value = verify(problem, plan.placement).pressure
    return value, plan.bound, plan.status is Status.OPTIMAL


def _peer(found: tuple[float, float]) -> tuple[float, float | None, bool]:
    value, bound = found
    return value, bound, isfinite(value) and value <= bound * (1 + PROVEN)


def _strategy(problem: Problem, name: str) -> tuple[float, float | None, bool]:
    return verify(problem, place(problem, name).placement).pressure, None, False


def _result(case: Case, solver: str, run: Run) -> Result:
    """Run one solver on one case; whatever goes wrong counts as failed, and is told."""
    if sys.stderr.isatty():
        print(f"{case.name}  {solver:30s}", end="\r", file=sys.stderr, flush=True)
    started = perf_counter()
    try:
        value, bound, proven = run(case.problem)
        reason = "" if isfinite(value) else "no valid placement"
    except Exception as error:
        value, bound, proven, reason = inf, None, False, repr(error)
    return Result(case.name, solver, value, bound, proven, perf_counter() - started, reason)


def _table(title: str, cases: int, results: list[Result]) -> str:
    lines = [
        f"`{title}`, {cases} cases\n",
        "| solver | value / ours | worst | best | gap to own bound | proven | failed | s a case |",
        "|---|---|---|---|---|---|---|---|",
    ]
    ours = _ours_of(results)
    solvers = dict.fromkeys(result.solver for result in results)
    rows = [_row(who, [r for r in results if r.solver == who], ours) for who in solvers]
    return "\n".join(lines + rows)


def _row(solver: str, results: list[Result], ours: dict[str, float]) -> str:
    ratios = [_ratio(result.value, ours[result.case]) for result in results]
    known = [ratio for ratio in ratios if isfinite(ratio)]
    gaps = [result.gap for result in results if result.gap is not None]
    cells = [
        solver,
        *(f"{pick(known):.6f}" if known else "-" for pick in (fmean, max, min)),
        f"{fmean(gaps):.4%}" if gaps else "-",
        f"{sum(r.proven for r in results)}" if any(r.bound is not None for r in results) else "-",
        f"{sum(not isfinite(r.value) for r in results)}",
        f"{fmean(r.seconds for r in results):.4f}",
    ]
    return f"| {' | '.join(cells)} |"


def _ours_of(results: list[Result]) -> dict[str, float]:
    return {result.case: result.value for result in results if result.solver == OURS}


def _ratio(value: float, ours: float) -> float:
    if value == ours:
        return 1.0
    return value / ours if ours > 0 and isfinite(ours) else inf


def _list_remarkable(results: dict[str, list[Result]]) -> None:
    print("Lower than ours by more than 0.01%:")
    for group in results.values():
        ours = _ours_of(group)
        for result in group:
            if result.value < ours[result.case] * (1 - NOTABLE):
                share = result.value / ours[result.case] - 1
                print(f"- {result.case}: {result.solver}: {result.value:.9g}, {share:.4%}")
    print("Failed:")
    for result in (result for group in results.values() for result in group if result.reason):
        print(f"- {result.case}: {result.solver}: {result.reason}")


def _as_json(seconds: float, results: dict[str, list[Result]]) -> str:
    rows = {
        title: [
            {key: None if value == inf else value for key, value in asdict(result).items()}
            for result in group
        ]
        for title, group in results.items()
    }
    return json.dumps({"seconds": seconds, "results": rows}, indent=1) + "\n"


if __name__ == "__main__":
    main()
