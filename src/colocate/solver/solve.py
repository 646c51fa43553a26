"""The best placement there is, fast, and the proof of how close it is."""

from collections.abc import Callable
from dataclasses import replace
from math import isfinite
from numbers import Real

import numpy as np

from colocate.errors import InputError
from colocate.problem.instance import Instance, canonical
from colocate.problem.layout import arrange, empty_layout
from colocate.problem.problem import Problem
from colocate.problem.quantity import checked_seed
from colocate.problem.verify_bound import refuted
from colocate.solver.activities import Activity, ConstraintProgram, Exhaustion, Regrouping
from colocate.solver.construct.bisection import Bisection
from colocate.solver.construct.even import EvenFilling
from colocate.solver.construct.exhaustive import Exhaustive
from colocate.solver.feasibility import obvious_obstacle
from colocate.solver.improve.smoothing import Smoothing
from colocate.solver.place import feasible_plan, last_resort
from colocate.solver.plan import Plan, Status
from colocate.solver.portfolio import run
from colocate.solver.progress import PROVEN, Improvement, Progress
from colocate.solver.prove.raising import Raising
from colocate.solver.prove.volume import prove_by_model, prove_by_volume
from colocate.solver.stop import stopping_on_interrupt
from colocate.solver.strategies import BF_VIRTUAL, FOUR_PACKINGS
from colocate.solver.warm_up import warm_up

ROUGH = Bisection((BF_VIRTUAL,), halvings=10)
FEW = 100
"""Up to so many models, the whole problem is searched exhaustively. With more, the start is filled
evenly: bisection would take long."""


def solve(
    problem: Problem,
    *,
    time_limit: float = 1.0,
    seed: int = 0,
    workers: int | None = None,
    gap: float = 0.0,
    on_improvement: Callable[[Improvement], None] | None = None,
) -> Plan:
    """Place the models of a problem as well as possible, and prove how well that is.

    Parameters
    ----------
    problem
        What to place where.
    time_limit
        Seconds after which the best so far is returned; compiling, at the first start, is extra.
    seed
        Decides every random choice.
    workers
        How many threads search and prove side by side; two by default.
    gap
        Stop as soon as the pressure is proven to be within this share of the optimum.
    on_improvement
        Called with every better placement or bound as it is found, from any thread.

    Returns
    -------
    Plan
        Optimal or feasible with a placement that the independent checker has confirmed and a
        bound with its certificate, or infeasible or unknown with the reason. An interrupt ends
        the search, not the call: the best so far is returned.
    """
    _check(time_limit, seed, workers, gap)
    warm_up()
    progress = Progress(problem, time_limit, gap, on_improvement)
    with stopping_on_interrupt(progress.interrupt):
        plan = _solved(problem, progress, seed, workers or 2)
    return replace(plan, strategy="solve", seed=seed, seconds=progress.seconds)


def _solved(problem: Problem, progress: Progress, seed: int, workers: int) -> Plan:
    if obstacle := obvious_obstacle(problem):
        return Plan(problem, Status.INFEASIBLE, reason=obstacle)
    instance = canonical(problem.instance)
    if not _start(instance, progress):
        plan = last_resort(problem, "no start fitted")
        if not plan.placement:
            return plan
        progress.offer(plan.placement.indices(problem), "memory search")
    progress.prove(prove_by_volume(problem))
    progress.prove(prove_by_model(problem))
    run(_activities(problem, instance, seed, workers), progress, workers)
    _smooth(instance, progress)
    return _concluded(problem, progress)


def _start(instance: Instance, progress: Progress) -> bool:
    """Find a first placement; False if no way to start fitted."""
    layout = empty_layout(instance)
    quick = ROUGH if len(instance.size) <= FEW else EvenFilling()
    for block in (quick, FOUR_PACKINGS, Exhaustive()):
        if block.construct(instance, layout):
            progress.offer(layout.gpu_of, type(block).__name__.lower())
            return True
    return False


def _activities(problem: Problem, instance: Instance, seed: int, workers: int) -> list[Activity]:
    given = problem.instance
    searches = [Regrouping(instance, given, seed + number) for number in range(max(workers - 1, 1))]
    activities: list[Activity] = [*searches, Raising(given)]
    if len(problem.models) <= FEW or len(problem.gpus) == 1:
        activities = [Exhaustion(given), *activities]
        if given.load.shape[1] > 1 or given.limit.shape[1] > 0:
            activities.append(ConstraintProgram(given))
    return activities


def _smooth(instance: Instance, progress: Progress) -> None:
    """Of placements with the same peak, prefer one with a lower sum of squared pressures."""
    if len(instance.size) > FEW or not isfinite(progress.value):
        return
    layout = empty_layout(instance)
    arrange(instance, layout, progress.best[0])
    Smoothing().improve(instance, layout, np.random.default_rng(0))
    progress.offer_smoother(layout.gpu_of)


def _concluded(problem: Problem, progress: Progress) -> Plan:
    """Return the plan; the independent checker has the last word on placement and bound."""
    note = "interrupted; the best so far" if progress.interrupted else ""
    plan = feasible_plan(problem, progress.best[0], note)
    certificate = progress.certificate
    if certificate and (fault := refuted(problem, certificate)):
        raise AssertionError(f"a proof does not hold: {fault}")
    plan = replace(plan, certificate=certificate, history=tuple(progress.history))
    return replace(plan, status=Status.OPTIMAL) if plan.gap <= PROVEN else plan


def _check(time_limit: float, seed: int, workers: int | None, gap: float) -> None:
    if not isinstance(time_limit, Real) or not time_limit > 0:
        raise InputError(f"time_limit={time_limit!r}, must be a number of seconds > 0")
    checked_seed(seed)
    if workers is not None and (not isinstance(workers, int) or workers < 1):
        raise InputError(f"workers={workers!r}, must be a whole number >= 1")
    if not isinstance(gap, Real) or not gap >= 0:
        raise InputError(f"gap={gap!r}, must be a number >= 0")
