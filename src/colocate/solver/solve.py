"""Finds the best placement it can in a given time, and proves how good it is."""

from collections.abc import Callable
from dataclasses import replace
from math import inf
from numbers import Real

from colocate.errors import InputError
from colocate.problem.problem import Problem
from colocate.problem.quantity import checked_seed
from colocate.solver.budget import Gap, SolveBudget
from colocate.solver.deadline import Deadline
from colocate.solver.decide.latency import place_by_latency
from colocate.solver.decide.latency_sleep import sleep_by_latency
from colocate.solver.decide.levels import PEAK, settle_levels
from colocate.solver.decide.pressure_limit import place_within_limit
from colocate.solver.decide.sleep import solve_with_sleepers
from colocate.solver.interrupt import stopping_on_interrupt
from colocate.solver.plan import Improvement, Plan, with_ratios
from colocate.solver.targets import by_latency
from colocate.solver.warm_up import warm_up

A_YEAR = 365 * 86_400.0
"""Seconds: stands for a time without an end, of which no stage could have a share."""
MOST_WITH_LEVELS = 10_000
"""Models up to which levels below the peak are settled: stating one level of a larger problem takes
longer than a time limit of a second."""


def solve(
    problem: Problem,
    *,
    time_limit: float = 1.0,
    seed: int = 0,
    workers: int | None = None,
    gap: Gap = 0.0,
    on_improvement: Callable[[Improvement], None] | None = None,
    target: float | None = None,
    levels: int | None = 1,
) -> Plan:
    """Place the models of a problem as well as possible, and prove how good the placement is.

    Parameters
    ----------
    problem
        The models and the GPUs to place them on.
    time_limit
        Seconds after which the call returns the best placement so far; infinite for no end before
        a proof, or an answer that is good enough. Compiling, at the first start, is extra.
    seed
        Decides every random choice.
    workers
        Threads that search and prove in parallel; two by default.
    gap
        Stop as soon as the value is proven to be within this share of the optimum. Pass a
        function of the seconds since the start to accept a wider gap later.
    on_improvement
        Called with every better placement or bound as it is found, from any thread.
    target
        Stop as soon as a placement reaches this value, or a proof shows that none does.
    levels
        How many pressures are minimised, the highest first, then the second highest with the first
        kept, and so on; None for all. With a target, or with more than 10,000 models, only the
        first is. Where latencies decide, all values are lowered, and only the first has a bound.

    Returns
    -------
    Plan
        Optimal or feasible, with a placement that the independent checker has confirmed and a
        bound with its certificate; or infeasible or unknown, with the reason. An interrupt ends
        the search, not the call: the call returns the best placement so far.
    """
    _check(time_limit, seed, workers, gap, target)
    _check_levels(levels)
    several = levels != 1 and target is None and len(problem.models) <= MOST_WITH_LEVELS
    several = several and not by_latency(problem)
    warm_up(problem, several)
    deadline = Deadline(min(time_limit, A_YEAR))
    budget = SolveBudget(deadline, gap, target, seed, workers or 2, on_improvement)
    with stopping_on_interrupt(deadline.stop):
        plan = _with_levels(problem, budget, levels) if several else _answered(problem, budget)
    if deadline.stopped:
        reason = f"interrupted; {plan.reason or 'the best so far'}"
        plan = replace(plan, interrupted=True, reason=reason)
    return replace(with_ratios(plan), strategy="solve", seed=seed, seconds=deadline.seconds)


def _answered(problem: Problem, budget: SolveBudget) -> Plan:
    """Decide in turn which models sleep, how many replicas they have, and where these go."""
    if by_latency(problem):
        solved = sleep_by_latency if problem.sleepers else place_by_latency
        return solved(problem, budget)
    if problem.sleepers:
        return solve_with_sleepers(problem, budget)
    return place_within_limit(problem, budget)


def _with_levels(problem: Problem, budget: SolveBudget, levels: int | None) -> Plan:
    """Settle the peak, with a share of the time kept for the levels below it."""
    whole = budget.deadline
    plan = _answered(problem, replace(budget, deadline=whole.part(whole.left * PEAK)))
    awake = problem.awake(frozenset(plan.asleep)) if problem.sleepers else problem
    if awake is None or not plan.placement:
        return plan
    return settle_levels(awake, plan, budget, levels)


def _check_levels(levels: int | None) -> None:
    whole = isinstance(levels, int) and not isinstance(levels, bool)
    if levels is not None and not (whole and levels >= 1):
        raise InputError.of("levels", levels, "a whole number >= 1, or None")


def _check(
    time_limit: float, seed: int, workers: int | None, gap: Gap, target: float | None
) -> None:
    if not isinstance(time_limit, Real) or not time_limit > 0:
        raise InputError.of("time_limit", time_limit, "a number of seconds > 0")
    checked_seed(seed)
    if workers is not None and (not isinstance(workers, int) or workers < 1):
        raise InputError.of("workers", workers, "a whole number >= 1")
    if not callable(gap) and (not isinstance(gap, Real) or not gap >= 0):
        raise InputError.of("gap", gap, "a number >= 0")
    if target is not None and not (isinstance(target, Real) and 0 <= target < inf):
        raise InputError.of("target", target, "a finite number >= 0")
