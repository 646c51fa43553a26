"""The best placement there is, fast, and the proof of how close it is."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf, isfinite
from numbers import Real

import numpy as np

from colocate.errors import InputError
from colocate.problem.instance import Instance, canonical
from colocate.problem.layout import arrange, empty_layout
from colocate.problem.parts import Parts, parts_of
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.quantity import checked_seed
from colocate.problem.verify import verify
from colocate.problem.verify_bound import refuted
from colocate.solver.activities import Activity, ConstraintProgram, Exhaustion, Regrouping
from colocate.solver.construct.bisection import Bisection
from colocate.solver.construct.completion import Outcome
from colocate.solver.construct.even import EvenFilling
from colocate.solver.construct.exhaustive import Exhaustive
from colocate.solver.copies import CopySearch
from colocate.solver.feasibility import obvious_obstacle
from colocate.solver.improve.smoothing import Smoothing
from colocate.solver.place import feasible_plan, last_resort
from colocate.solver.plan import Plan, Status
from colocate.solver.portfolio import run as go_on
from colocate.solver.progress import PROVEN, Gap, Improvement, Progress
from colocate.solver.prove.raising import Raising
from colocate.solver.prove.volume import prove_by_model, prove_by_volume
from colocate.solver.run import Run
from colocate.solver.sleeping import solve_with_sleepers, within_limit
from colocate.solver.squads import (
    Nodes,
    SquadMoves,
    nodes_of,
    small_enough,
    spread_squads,
    start_with_squads,
)
from colocate.solver.stop import stopping_on_interrupt
from colocate.solver.strategies import BF_VIRTUAL, FOUR_PACKINGS
from colocate.solver.warm_up import warm_up

ROUGH = Bisection((BF_VIRTUAL,), halvings=10)
INTERRUPTED = "interrupted"
"""How the reason of a plan begins whose search was interrupted."""
FEW = 100
"""Up to so many models, the whole problem is searched exhaustively. With more, the start is filled
evenly: bisection would take long."""


def solve(
    problem: Problem,
    *,
    time_limit: float = 1.0,
    seed: int = 0,
    workers: int | None = None,
    gap: Gap = 0.0,
    on_improvement: Callable[[Improvement], None] | None = None,
    target: float | None = None,
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
        Stop as soon as the pressure is proven to be within this share of the optimum. A function
        of the seconds since the start lets more be good enough later.
    on_improvement
        Called with every better placement or bound as it is found, from any thread.
    target
        Stop as soon as a placement has this pressure, or it is proven that none has.

    Returns
    -------
    Plan
        Optimal or feasible with a placement that the independent checker has confirmed and a
        bound with its certificate, or infeasible or unknown with the reason. An interrupt ends
        the search, not the call: the best so far is returned.
    """
    _check(time_limit, seed, workers, gap, target)
    warm_up()
    run = Run(time_limit, gap, target, seed, workers or 2, on_improvement)
    with stopping_on_interrupt(run.interrupt):
        plan = _answered(problem, run)
    if run.interrupted:
        plan = replace(plan, reason=f"{INTERRUPTED}; {plan.reason or 'the best so far'}")
    return replace(plan, strategy="solve", seed=seed, seconds=run.seconds)


def _answered(problem: Problem, run: Run) -> Plan:
    """Decide in turn which models sleep, how many copies there are, and where they are."""
    if problem.sleepers:
        return solve_with_sleepers(problem, run, _placed, partial(_attempted, run))
    return within_limit(problem, run, _placed)


def _placed(problem: Problem, run: Run, start: Placement | None = None) -> Plan:
    """Place models that are all awake; a start that is given is improved."""
    if not problem.elastic:
        parts = parts_of(problem)
        return _solved(parts, run.progress(parts.problem), run, start)
    return CopySearch(problem, run, partial(_attempted, run)).solved(start)


def _attempted(run: Run, problem: Problem, seconds: float) -> Plan:
    """Place models with fixed numbers of copies, quickly."""
    parts = parts_of(problem)
    return _solved(parts, run.attempt(parts.problem, seconds), run)


def _solved(parts: Parts, progress: Progress, run: Run, start: Placement | None = None) -> Plan:
    problem = parts.problem
    if obstacle := obvious_obstacle(problem):
        return Plan(parts.whole, Status.INFEASIBLE, reason=obstacle)
    instance = canonical(problem.instance)
    if start is not None:
        progress.offer(parts.indices(start), "start")
    elif failure := (_start_squads if parts.squads else _start)(parts, progress):
        return replace(failure, problem=parts.whole)
    progress.prove(prove_by_volume(problem))
    progress.prove(prove_by_model(problem))
    if parts.squads:
        go_on(_activities_of_squads(parts, run.seed, run.workers), progress, run.workers)
    else:
        go_on(_activities(problem, instance, run.seed, run.workers), progress, run.workers)
    _smooth(parts, progress)
    return _concluded(parts, progress)


def _start(parts: Parts, progress: Progress) -> Plan | None:
    """Find a first placement; return the plan that says why there is none."""
    problem = parts.problem
    instance = canonical(problem.instance)
    layout = empty_layout(instance)
    quick = ROUGH if len(instance.size) <= FEW else EvenFilling()
    for block in (quick, FOUR_PACKINGS, Exhaustive()):
        if block.construct(instance, layout):
            progress.offer(layout.gpu_of, type(block).__name__.lower())
            return None
    plan = last_resort(problem, "no start fitted")
    if not plan.placement:
        return plan
    progress.offer(plan.placement.indices(problem), "memory search")
    return None


def _start_squads(parts: Parts, progress: Progress) -> Plan | None:
    """Find a first placement with every squad in one node, or say why there is none."""
    outcome, gpu_of = start_with_squads(parts, progress.seconds_left, lambda: progress.interrupted)
    if outcome is Outcome.FOUND and verify(parts.whole, parts.placement(gpu_of)).valid:
        progress.offer(gpu_of, "squads")
        return None
    if outcome is Outcome.NONE:
        reason = "models: no way to put them on the GPUs respects memory and all constraints"
        return Plan(parts.whole, Status.INFEASIBLE, reason=f"{reason} (CP-SAT searched all)")
    reason = "no placement was found in time; it is not proven that there is none"
    return Plan(parts.whole, Status.UNKNOWN, reason=reason)


def _activities_of_squads(parts: Parts, seed: int, workers: int) -> list[Activity]:
    given = parts.problem.instance
    searches = [SquadMoves(parts, seed + number) for number in range(max(workers - 1, 1))]
    activities: list[Activity] = [*searches, Raising(given)]
    if small_enough(parts):
        activities.append(ConstraintProgram(given, parts.squads, nodes_of(parts)))
    return activities


def _activities(problem: Problem, instance: Instance, seed: int, workers: int) -> list[Activity]:
    given = problem.instance
    searches = [Regrouping(instance, given, seed + number) for number in range(max(workers - 1, 1))]
    activities: list[Activity] = [*searches, Raising(given)]
    if len(problem.models) <= FEW or len(problem.gpus) == 1:
        activities = [Exhaustion(given), *activities]
        if given.load.shape[1] > 1 or given.limit.shape[1] > 0:
            activities.append(ConstraintProgram(given))
    return activities


def _smooth(parts: Parts, progress: Progress) -> None:
    """Of placements with the same peak, prefer one with a lower sum of squared pressures."""
    if len(parts.items) > FEW or not isfinite(progress.value):
        return
    instance = canonical(parts.problem.instance)
    if parts.squads:
        spread_squads(parts, progress)
        nodes = Nodes(parts)
        instance = nodes.confined(nodes.homes_of(progress.best[0]))
    layout = empty_layout(instance)
    arrange(instance, layout, progress.best[0])
    Smoothing().improve(instance, layout, np.random.default_rng(0))
    progress.offer_smoother(layout.gpu_of)


def _concluded(parts: Parts, progress: Progress) -> Plan:
    """Return the plan; the independent checker has the last word on placement and bound."""
    plan = feasible_plan(parts.whole, parts.placement(progress.best[0]))
    certificate = progress.certificate
    if certificate and (fault := refuted(parts.problem, certificate)):
        raise AssertionError(f"a proof does not hold: {fault}")
    plan = replace(plan, certificate=certificate, history=tuple(progress.history))
    return replace(plan, status=Status.OPTIMAL) if plan.gap <= PROVEN else plan


def _check(
    time_limit: float, seed: int, workers: int | None, gap: Gap, target: float | None
) -> None:
    if not isinstance(time_limit, Real) or not time_limit > 0:
        raise InputError(f"time_limit={time_limit!r}, must be a number of seconds > 0")
    checked_seed(seed)
    if workers is not None and (not isinstance(workers, int) or workers < 1):
        raise InputError(f"workers={workers!r}, must be a whole number >= 1")
    if not callable(gap) and (not isinstance(gap, Real) or not gap >= 0):
        raise InputError(f"gap={gap!r}, must be a number >= 0")
    if target is not None and not (isinstance(target, Real) and 0 <= target < inf):
        raise InputError(f"target={target!r}, must be a finite number >= 0")
