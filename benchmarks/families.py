"""Gaps on the suite `families` after some seconds, with the solver of one or two source trees.

Usage: python benchmarks/families.py [--seconds S ...] [--cases NAME ...] [--workers N]
       [--against SRC] [--output FILE]

Every case has a process of its own. A gap is that of the value to the bound that the same solver
has proven; values are those of this tree's checker, bounds those that the solver states. `none` is
no placement, `inf` one with a GPU that has load and no free memory. Where models may sleep, `lost`
is how far what is lost is from its bound.

With --against, the solver of another checkout has every case directly before this one, and a cell
reads `theirs -> ours`.
"""

import argparse
import json
from dataclasses import asdict, dataclass
from math import fsum, inf, isinf
from pathlib import Path

from one_solve import Answer, Solved, solved_apart

from colocate import Problem, load_suite, verify
from colocate.arena.suites import Case

SECONDS = (1.0, 5.0, 30.0)
NOTHING = "-"


@dataclass(frozen=True)
class Result:
    """What a solver came to with one time limit."""

    seconds: float
    """How long it took."""
    status: str
    value: float | None
    """The pressure by our checker; None without a valid placement."""
    bound: float
    lost: float
    lost_bound: float
    fault: str

    @property
    def gap(self) -> float | None:
        """How far the value is from the bound, None if there is no value."""
        return None if self.value is None else _gap(self.value, self.bound)


@dataclass(frozen=True)
class Run:
    """What a solver came to with a case."""

    results: tuple[Result, ...]
    peak_mb: float
    crash: str


def main() -> None:
    options = _options()
    suite = load_suite("families")
    cases = [case for case in suite.cases if not options.cases or _short(case) in options.cases]
    trees = [Path(options.against), None] if options.against else [None]
    _print_head(options.seconds)
    told: dict[str, list[dict[str, object]]] = {}
    for case in cases:
        runs = [_run(case, options.seconds, options.workers, tree) for tree in trees]
        print(_row(case, runs, len(options.seconds)), flush=True)
        told[case.name] = [asdict(run) for run in runs]
    _print_troubles(told)
    if options.output:
        Path(options.output).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", nargs="+", type=float, default=SECONDS, help="time limits")
    parser.add_argument("--cases", nargs="+", help="such as sharded-64; all by default")
    parser.add_argument("--workers", type=int, help="threads of the solver; its default by default")
    parser.add_argument("--against", help="the src folder of another checkout")
    parser.add_argument("--output", help="write all results to this file, as JSON")
    return parser.parse_args()


def _short(case: Case) -> str:
    return case.name.removeprefix("families-")


def _run(case: Case, limits: list[float], workers: int | None, tree: Path | None) -> Run:
    answer: Answer = solved_apart(case.problem, limits, workers, tree)
    results = tuple(_judged(case.problem, call) for call in answer.calls)
    return Run(results, answer.peak_mb, answer.crash)


def _judged(problem: Problem, call: Solved) -> Result:
    """Let our checker have its say; what it refuses is no placement."""
    value, fault, lost = None, "", 0.0
    if call.placement:
        verdict = verify(problem, call.placement)
        value = verdict.pressure if verdict.valid else None
        fault = "; ".join(verdict.faults[:3])
        lost = fsum(m.sleep_cost or 0.0 for m in problem.sleepers if not call.placement[m.name])
    return Result(call.seconds, call.status, value, call.bound, lost, call.lost_bound, fault)


def _gap(value: float, bound: float) -> float:
    if value <= bound:
        return 0.0
    return value / bound - 1 if bound > 0 else inf


def _print_head(limits: list[float]) -> None:
    columns = ["family", "GPUs", *(f"{limit:g} s" for limit in limits)]
    columns += ["value", "bound", "lost", "its bound", "peak memory, MB"]
    print(f"| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|")


def _row(case: Case, runs: list[Run], limits: int) -> str:
    last = [run.results[-1] if len(run.results) == limits else None for run in runs]
    asleep = bool(case.problem.sleepers)
    cells = [
        _short(case).rpartition("-")[0],
        f"{len(case.problem.gpus)}",
        *(_both([_gaps(case.problem, run, n) for run in runs]) for n in range(limits)),
        _both([_figure(result.value if result else None) for result in last]),
        _both([_figure(result.bound if result else None) for result in last]),
        _both([_figure(result.lost if result and asleep else None) for result in last]),
        _both([_figure(result.lost_bound if result and asleep else None) for result in last]),
        _both([f"{run.peak_mb:.0f}" if run.peak_mb else NOTHING for run in runs]),
    ]
    return f"| {' | '.join(cells)} |"


def _figure(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.6g}"


def _both(cells: list[str]) -> str:
    return NOTHING if set(cells) == {NOTHING} else " -> ".join(cells)


def _gaps(problem: Problem, run: Run, number: int) -> str:
    """Return how far from the bound a run was with one limit, or why that is not known."""
    if number >= len(run.results):
        return "no answer" if run.crash.startswith("no answer") else "crash"
    result = run.results[number]
    gap = result.gap
    if gap is None:
        return "wrong" if result.fault else "none"
    cell = "inf" if isinf(gap) else f"{gap:.3%}"
    if problem.sleepers:
        cell += f" (lost {_gap(result.lost, result.lost_bound):.2%})"
    return cell


def _print_troubles(told: dict[str, list[dict[str, object]]]) -> None:
    """Name every crash and every placement that our checker refuses."""
    for case, runs in told.items():
        for run in runs:
            if run["crash"]:
                print(f"\n{case}: {run['crash']}")
            for result in run["results"]:  # type: ignore[attr-defined]
                if result["fault"]:
                    print(f"\n{case}: {result['fault']}")


if __name__ == "__main__":
    main()
