"""The best placement there is, fast, and the proof of how close it is."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf, isfinite
from numbers import Real

from colocate.errors import InputError
from colocate.problem.certificate import Certificate, Proof
from colocate.problem.instance import confined
from colocate.problem.layout import arrange, empty_layout
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.quantity import checked_seed
from colocate.problem.reduction import Reduction, reduction_of
from colocate.problem.verify import verify
from colocate.problem.verify_bound import refuted
from colocate.solver.activities import Activity, Exhaustion, Regrouping, TwoSolvers
from colocate.solver.construct.completion import Outcome
from colocate.solver.deadline import Deadline
from colocate.solver.decide.replicas import ReplicaSearch
from colocate.solver.decide.sleep import solve_with_sleepers, within_limit
from colocate.solver.improve.shard_moves import nodes_of_shards
from colocate.solver.improve.smoothing import PASSES, smooth
from colocate.solver.interrupt import stopping_on_interrupt
from colocate.solver.obstacles import nothing_fits, obvious_obstacle, too_many_parts
from colocate.solver.plan import Plan, Status, confirmed_plan
from colocate.solver.portfolio import run as go_on
from colocate.solver.progress import PROVEN, Alarm, Gap, Improvement, Progress, gap_between
from colocate.solver.prove.bound_search import BoundSearch
from colocate.solver.prove.two_solvers import search_all, small_enough
from colocate.solver.prove.volume import prove_by_model, prove_by_volume
from colocate.solver.run import Run
from colocate.solver.start import FEW, NoPlacement, first_placement
from colocate.solver.tightening import Tightening
from colocate.solver.warm_up import warm_up

SHORTEST = 0.5
"""Seconds at least to decide what is at the edge of rounding."""
NOT_FOUND = "no placement was found in time; it is not proven that there is none"


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
    warm_up(problem)
    deadline = Deadline(time_limit)
    run = Run(deadline, gap, target, seed, workers or 2, on_improvement)
    with stopping_on_interrupt(run.interrupt):
        plan = _answered(problem, run)
    if run.interrupted:
        reason = f"interrupted; {plan.reason or 'the best so far'}"
        plan = replace(plan, interrupted=True, reason=reason)
    return replace(plan, strategy="solve", seed=seed, seconds=deadline.seconds)


def _answered(problem: Problem, run: Run) -> Plan:
    """Decide in turn which models sleep, how many replicas there are, and where they are."""
    if problem.sleepers:
        return solve_with_sleepers(problem, run, _placed, partial(_attempted, run))
    return within_limit(problem, run, _placed)


def _placed(problem: Problem, run: Run, start: Placement | None = None) -> Plan:
    """Place models that are all awake; a start that is given is improved."""
    if obstacle := too_many_parts(problem):
        return _without_placement(problem, obstacle.proof, obstacle.reason)
    if not problem.open_replicas:
        reduction = reduction_of(problem)
        return _solved(run.progress(reduction), run, start)
    return ReplicaSearch(problem, run, partial(_attempted, run)).solved(start)


def _attempted(run: Run, problem: Problem, seconds: float, start: Placement | None = None) -> Plan:
    """Place models with fixed numbers of replicas, quickly; a start that is given is improved."""
    if obstacle := too_many_parts(problem):
        return _without_placement(problem, obstacle.proof, obstacle.reason)
    reduction = reduction_of(problem)
    return _solved(run.attempt(reduction, seconds), run, start)


def _solved(progress: Progress, run: Run, start: Placement | None = None) -> Plan:
    reduction = progress.reduction
    if obstacle := obvious_obstacle(reduction):
        return _without_placement(reduction.whole, obstacle.proof, obstacle.reason)
    if start is not None:
        progress.offer(reduction.indices(start), "start")
    else:
        try:
            first_placement(reduction, progress.deadline, progress.offer, progress.alarm)
        except NoPlacement as none:
            reason = nothing_fits(reduction.whole) if none.proof else NOT_FOUND
            return _without_placement(reduction.whole, none.proof, reason)
    progress.prove(prove_by_volume(reduction.instance))
    progress.prove(prove_by_model(reduction))
    go_on(_first(progress, run), partial(_others, progress, run), progress, run.workers)
    _smooth(progress, run.deadline)
    return _concluded(progress)


def _searchable(reduction: Reduction) -> bool:
    """Say whether the whole problem can be searched exhaustively."""
    return len(reduction.items) <= FEW or len(reduction.whole.gpus) == 1


def _first(progress: Progress, run: Run) -> Activity:
    """Return what small problems need alone, or what large ones gain most by."""
    reduction, deadline = progress.reduction, progress.deadline
    if _searchable(reduction):
        return Exhaustion(reduction, deadline)
    return Tightening(reduction, deadline, run.seed)


def _others(progress: Progress, run: Run) -> list[Activity]:
    """Return what else there is to do."""
    reduction, deadline = progress.reduction, progress.deadline
    searches = [
        Regrouping(reduction, deadline, run.seed + 1 + number)
        for number in range(max(run.workers - 1, 1))
    ]
    bounds_see_all = (
        reduction.whole.plain and reduction.whole.windows == 1 and not reduction.resources
    )
    if _searchable(reduction) and not bounds_see_all and small_enough(reduction.whole):
        return [*searches, BoundSearch(reduction.instance), TwoSolvers(reduction)]
    return [*searches, BoundSearch(reduction.instance)]


def _smooth(progress: Progress, deadline: Deadline) -> None:
    """Of placements with the same peak, prefer one with a lower sum of squared pressures."""
    reduction = progress.reduction
    if len(reduction.items) > FEW or not isfinite(progress.value) or deadline.over:
        return
    best = progress.best[0]
    instance = reduction.canonical
    if reduction.shard_groups:
        instance = confined(instance, nodes_of_shards(instance, best))
    layout = empty_layout(instance, deadline.go)
    arrange(instance, layout, best)
    smooth(instance, layout, PASSES)
    progress.offer_smoother(layout.gpu_of)


def _without_placement(problem: Problem, proof: Certificate | None, reason: str) -> Plan:
    """Return the plan that says that there is no placement; the checker has to confirm a proof."""
    if proof and refuted(problem, proof) is None:
        return Plan(problem, Status.INFEASIBLE, reason=reason, certificate=proof)
    alarms = (Alarm(proof.proof.value, proof.bound, inf),) if proof else ()
    return Plan(problem, Status.UNKNOWN, reason=NOT_FOUND, alarms=alarms)


def _at_the_edge(reduction: Reduction, deadline: Deadline) -> Plan:
    """Decide a problem in which what fits in floating point is over a limit by its rounding."""
    if not small_enough(reduction.whole):
        return _without_placement(reduction.whole, None, NOT_FOUND)
    answer = search_all(reduction.whole, inf, max(deadline.left, SHORTEST))
    if answer.outcome is Outcome.FOUND:
        return confirmed_plan(reduction.whole, Placement(answer.placement))
    proof = Certificate(Proof.SOLVERS, inf) if answer.outcome is Outcome.NONE else None
    return _without_placement(reduction.whole, proof, nothing_fits(reduction.whole))


def _concluded(progress: Progress) -> Plan:
    """Return the plan; the independent checker has the last word on placement and bound."""
    reduction, proof, alarms = progress.reduction, progress.certificate, progress.alarms
    placement = reduction.placement(progress.best[0])
    if not (verdict := verify(reduction.whole, placement)).valid:
        return _at_the_edge(reduction, progress.deadline)
    if proof and refuted(reduction.whole, proof) is not None:
        alarms = [*alarms, Alarm(proof.proof.value, proof.bound, verdict.pressure)]
        proof = None
    closed = gap_between(verdict.pressure, proof.bound if proof else 0.0) <= PROVEN
    return Plan(
        reduction.whole,
        Status.OPTIMAL if closed else Status.FEASIBLE,
        placement,
        verdict.pressures,
        certificate=proof,
        history=tuple(progress.history),
        alarms=tuple(alarms),
    )


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
