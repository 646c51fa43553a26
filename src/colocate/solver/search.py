"""Places models that are all awake, with fixed numbers of replicas, and proves a bound.

The search finds a first placement and the bounds that follow from sums. The portfolio then runs
until the gap is closed or time is up. At the end the search smooths the placement, and the checker
judges placement and proof.
"""

from math import inf, isfinite

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.instance import confined
from colocate.problem.layout import arrange, empty_layout
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.reduction import Reduction, reduction_of
from colocate.problem.tolerance import PROVEN
from colocate.problem.verify import verify
from colocate.problem.verify_bound import refuted
from colocate.solver.budget import SolveBudget
from colocate.solver.construct.completion import Outcome
from colocate.solver.deadline import Deadline
from colocate.solver.improve.shard_moves import nodes_of_shards
from colocate.solver.improve.smoothing import PASSES, smooth
from colocate.solver.plan import Alarm, Plan, Status, confirmed_plan, gap_between
from colocate.solver.portfolio.selection import close_gap
from colocate.solver.portfolio.start import FEW, NoPlacement, first_placement
from colocate.solver.progress import ItemProgress
from colocate.solver.prove.obstacles import nothing_fits, obvious_obstacle, too_many_parts
from colocate.solver.prove.solvers.two_solvers import search_all, small_enough
from colocate.solver.prove.volume import prove_by_model, prove_by_volume

CHECK_MODEL = 12e-6
"""Seconds that the checker takes per model."""
SHORTEST = 0.5
"""The fewest seconds for a problem that rounding decides."""
NOT_FOUND = "no placement was found in time; it is not proven that there is none"


def search(problem: Problem, budget: SolveBudget, start: Placement | None = None) -> Plan:
    """Place models as well as the budget allows.

    Parameters
    ----------
    problem
        The models, all awake and with fixed numbers of replicas, and the GPUs.
    budget
        The time, which answer is good enough, and the function that reports improvements.
    start
        A placement to improve; None to look for one.
    """
    return _searched(problem, budget, None, start, None)


def attempt(
    problem: Problem,
    budget: SolveBudget,
    seconds: float,
    start: Placement | None = None,
    target: float | None = None,
) -> Plan:
    """Place models as well as some seconds of a budget allow, without reporting improvements.

    Parameters
    ----------
    problem
        The models, all awake and with fixed numbers of replicas, and the GPUs.
    budget
        The budget that the seconds come from.
    seconds
        How long the attempt may take.
    start
        A placement to improve; None to look for one.
    target
        A pressure that is good enough; None to go on to the optimum.
    """
    return _searched(problem, budget, seconds, start, target)


def _searched(
    problem: Problem,
    budget: SolveBudget,
    seconds: float | None,
    start: Placement | None,
    target: float | None,
) -> Plan:
    if obstacle := too_many_parts(problem):
        return _without_placement(problem, obstacle.proof, obstacle.reason)
    reduction = reduction_of(problem)
    checking = CHECK_MODEL * len(reduction.items)
    if seconds is None:
        stage = budget.keeping(checking)
    else:
        stage = budget.attempt(min(seconds, budget.deadline.left) - checking, target)
    return _solved(ItemProgress(reduction, stage), budget, start)


def _solved(progress: ItemProgress, budget: SolveBudget, start: Placement | None) -> Plan:
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
    close_gap(progress, budget)
    _smooth(progress, budget.deadline)
    return _concluded(progress)


def _smooth(progress: ItemProgress, deadline: Deadline) -> None:
    """Lower the sum of squared pressures without raising the peak."""
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
    """Return a plan without a placement: infeasible if the checker confirms the proof."""
    if proof and refuted(problem, proof) is None:
        return Plan(problem, Status.INFEASIBLE, reason=reason, certificate=proof)
    alarms = (Alarm(proof.proof.value, proof.bound, inf),) if proof else ()
    return Plan(problem, Status.UNKNOWN, reason=NOT_FOUND, alarms=alarms)


def _at_the_edge(reduction: Reduction, deadline: Deadline) -> Plan:
    """Decide a problem whose placement exceeds a limit only by floating-point rounding."""
    if not small_enough(reduction.whole):
        return _without_placement(reduction.whole, None, NOT_FOUND)
    answer = search_all(reduction.whole, inf, Deadline(max(deadline.left, SHORTEST)))
    if answer.outcome is Outcome.FOUND:
        return confirmed_plan(reduction.whole, Placement(answer.placement))
    proof = Certificate(Proof.SOLVERS, inf) if answer.outcome is Outcome.NONE else None
    return _without_placement(reduction.whole, proof, nothing_fits(reduction.whole))


def _concluded(progress: ItemProgress) -> Plan:
    """Return the plan with the placement and the bound that the independent checker confirms."""
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
