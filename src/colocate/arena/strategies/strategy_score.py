"""Scores a strategy on a suite."""

import multiprocessing
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from math import fsum, inf
from statistics import fmean
from typing import Any

from colocate.arena.best_known import Record, read_best_known
from colocate.arena.suites import Suite
from colocate.errors import InputError
from colocate.machine_code.entry import compiled_together
from colocate.problem.problem import Problem
from colocate.problem.quantity import checked_seed
from colocate.problem.verify import verify
from colocate.solver.place import place
from colocate.solver.plan import Plan, Status
from colocate.solver.solve import solve
from colocate.solver.strategy import Strategy
from colocate.solver.warm_up import SMALL, warm_up

SOLVER = "solve"
"""The solver's name among the scored strategies."""
SAFE_PATH = "PYTHONSAFEPATH"
"""What tells Python not to look for modules in the current folder."""


@dataclass(frozen=True)
class CaseResult:
    """The result of one case."""

    case: str
    status: Status
    pressure: float
    """Peak pressure by the independent checker; infinite if there is no valid placement."""
    best_known: float | None
    """The lowest pressure known; None if the case was never solved."""
    seconds: float
    reason: str
    """Why there is no placement, or why the search ended early."""
    served: float | None = None
    """The demand served, as a share of the most known; None where no model may sleep."""

    @property
    def valid(self) -> bool:
        """Whether there is a valid placement."""
        return self.status in (Status.OPTIMAL, Status.FEASIBLE)

    @property
    def ratio(self) -> float | None:
        """Best known over this pressure: 1 is as good as the best known, 0 is failed.

        Where models may sleep, the loss matters more than the pressure: the ratio is the share
        served.
        """
        if self.best_known is None:
            return None
        if not self.valid:
            return 0.0
        if self.served is not None:
            return self.served
        return 1.0 if self.pressure == self.best_known else self.best_known / self.pressure


@dataclass(frozen=True)
class Score:
    """The result of a strategy on a suite. A failed case counts with an infinite pressure.

    Parameters
    ----------
    suite, strategy
        Their names.
    seed
        The seed of the strategy's random choices.
    results
        One per case.
    """

    suite: str
    strategy: str
    seed: int
    results: tuple[CaseResult, ...]

    @property
    def valid_cases(self) -> int:
        """How many cases have a valid placement."""
        return sum(result.valid for result in self.results)

    @property
    def proven_cases(self) -> int:
        """How many cases have a placement that is proven optimal."""
        return sum(result.status is Status.OPTIMAL for result in self.results)

    @property
    def score(self) -> float:
        """The public formula: 1 / mean pressure, plus the share of valid cases."""
        mean = fmean(result.pressure for result in self.results)
        return (1 / mean if mean > 0 else inf) + self.valid_cases / len(self.results)

    @property
    def ratio(self) -> float | None:
        """Mean of best known / pressure over the cases, if all of them have a best known value."""
        ratios = [result.ratio for result in self.results if result.ratio is not None]
        return fmean(ratios) if len(ratios) == len(self.results) else None

    @property
    def refusal(self) -> str:
        """Why it has no placement at all, if the reason is the same for every case."""
        reasons = {result.reason for result in self.results}
        return reasons.pop() if self.valid_cases == 0 and len(reasons) == 1 else ""

    @property
    def worst(self) -> CaseResult:
        """The case furthest from its best known value."""
        return min(self.results, key=lambda r: (r.valid, 1.0 if r.ratio is None else r.ratio))

    @property
    def seconds(self) -> float:
        """Total time of all cases."""
        return sum(result.seconds for result in self.results)

    def as_dict(self) -> dict[str, Any]:
        """Return the score as plain data for JSON."""
        return {
            "suite": self.suite,
            "strategy": self.strategy,
            "seed": self.seed,
            "score": _finite(self.score),
            "ratio": self.ratio,
            "valid_cases": self.valid_cases,
            "proven_cases": self.proven_cases,
            "cases": len(self.results),
            "worst_case": self.worst.case,
            "worst_ratio": self.worst.ratio,
            "seconds": self.seconds,
            "results": [
                {
                    "case": result.case,
                    "status": result.status.value,
                    "pressure": _finite(result.pressure),
                    "ratio": result.ratio,
                    "seconds": result.seconds,
                    "reason": result.reason,
                }
                for result in self.results
            ],
        }


def score_strategy(
    suite: Suite,
    strategy: str | Strategy,
    seed: int = 0,
    on_case: Callable[[CaseResult], None] | None = None,
) -> Score:
    """Run a strategy, or the solver, on every case of a suite and judge the placements.

    Cases that a strategy cannot take, such as those with shards, count as failed.

    Parameters
    ----------
    suite
        The cases.
    strategy
        A name from the catalogue, or a strategy of your own.
    seed
        The seed of its random choices.
    on_case
        Called after every case.
    """
    checked_seed(seed)
    known = read_best_known(suite)
    results = []
    for case in suite.cases:
        plan = _planned(case.problem, strategy, seed)
        record = known.get(case.name)
        result = _judged(case.name, plan, record)
        results.append(result)
        if on_case:
            on_case(result)
    name = strategy if isinstance(strategy, str) else strategy.name
    return Score(suite.name, name, seed, tuple(results))


def score_strategies(
    suite: Suite,
    strategies: Sequence[str | Strategy],
    seed: int = 0,
    workers: int = 1,
    on_cases: Callable[[int], None] | None = None,
) -> list[Score]:
    """Score several strategies, in this process and `workers - 1` others.

    The other processes start from the first strategy, this process from the last. The scores do not
    depend on the number of workers; only the times may.

    Parameters
    ----------
    suite
        The cases.
    strategies
        Names from the catalogue, or strategies of your own.
    seed
        The seed of their random choices.
    workers
        Processes at a time.
    on_cases
        Called with the number of newly finished cases.
    """
    _compile_ahead(strategies)
    report = on_cases or (lambda _: None)
    everyone = range(len(strategies))
    copy = pickle.dumps(suite)  # now: the pool would do it while this process uses the suite
    with _modules_of_this_folder_left_alone():
        pool = ProcessPoolExecutor(max(workers - 1, 1), multiprocessing.get_context("spawn"))
    try:
        with _modules_of_this_folder_left_alone():
            tasks = [
                pool.submit(_score_copy, copy, strategy, seed) if workers > 1 else Future[Score]()
                for strategy in strategies
            ]
        scores = {
            number: score_strategy(suite, strategies[number], seed, lambda _: report(1))
            for number in reversed(everyone)
            if tasks[number].cancel()
        }
        for number in everyone:
            if number not in scores:
                scores[number] = tasks[number].result()
                report(len(suite.cases))
    finally:
        pool.shutdown(cancel_futures=True)
    return [scores[number] for number in everyone]


@contextmanager
def _modules_of_this_folder_left_alone() -> Iterator[None]:
    """Have new processes import nothing from the current folder: programs may lie there."""
    usual = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        del os.environ[SAFE_PATH]
        if usual is not None:
            os.environ[SAFE_PATH] = usual


def _compile_ahead(strategies: Sequence[str | Strategy]) -> None:
    """Compile what all strategies need together; each process by itself would take longer."""
    with compiled_together():
        for strategy in strategies:
            if strategy == SOLVER:
                warm_up(SMALL)
            else:
                place(SMALL, strategy)


def _planned(problem: Problem, strategy: str | Strategy, seed: int) -> Plan:
    if strategy == SOLVER:
        return solve(problem, seed=seed)
    try:
        return place(problem, strategy, seed)
    except InputError as error:
        return Plan(problem, Status.UNKNOWN, reason=str(error))


def _score_copy(suite: bytes, strategy: str | Strategy, seed: int) -> Score:
    return score_strategy(pickle.loads(suite), strategy, seed)


def _judged(case: str, plan: Plan, record: Record | None) -> CaseResult:
    pressure, status, reason = inf, plan.status, plan.reason
    if plan.placement:
        verdict = verify(plan.problem, plan.placement)
        pressure = verdict.pressure
        if not verdict.valid:
            status, reason = Status.UNKNOWN, "; ".join(verdict.faults)
    best = record.value if record else None
    return CaseResult(case, status, pressure, best, plan.seconds, reason, _served(plan, record))


def _served(plan: Plan, record: Record | None) -> float | None:
    """Return the worth of the awake models, as a share of the most known."""
    if record is None or not plan.problem.sleepers:
        return None
    total = fsum(model.sleep_cost or 0.0 for model in plan.problem.sleepers)
    most = total - record.lost
    return (total - plan.lost) / most if most > 0.0 else 1.0


def _finite(value: float) -> float | None:
    return value if value < inf else None
