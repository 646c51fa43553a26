"""Decide whether the models of a problem can be placed at all, at any pressure allowed."""

import sys
from dataclasses import replace
from math import inf

from colocate.problem.layout import empty_layout
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.reduction import Reduction, reduction_of
from colocate.problem.tolerance import OVER_LIMIT
from colocate.problem.verify import verify
from colocate.problem.verify_bound import refuted
from colocate.solver.construct.completion import Outcome
from colocate.solver.deadline import Deadline
from colocate.solver.plan import Status
from colocate.solver.portfolio.start import quick_ways
from colocate.solver.prove.obstacles import obvious_obstacle
from colocate.solver.prove.solvers.two_solvers import search_all, small_enough
from colocate.solver.prove.tree import search_with_proof
from colocate.solver.solve import solve

ONE_SEARCH = 0.5
"""Seconds to decide whether some models fit."""
SHORTEST = 0.01
"""The fewest seconds of a search within latency targets."""
NODES = 20_000
"""Nodes of the first search; CP-SAT and SCIP take over what it leaves undecided."""


def any_placement(problem: Problem, deadline: Deadline) -> tuple[Outcome, Placement]:
    """Return a placement that the checker has confirmed, or whether none is proven to exist.

    Models that may sleep do so. Where the number of replicas is open, the fewest are tried first.
    If they do not fit, more replicas help only where replicas share something that is limited.
    """
    asleep = {model.name for model in problem.sleepers}
    awake = problem.awake(asleep) if asleep else problem
    if awake is None:
        return Outcome.FOUND, Placement(dict.fromkeys(asleep, ()))
    if awake.limits_latency:
        outcome, found = _within_targets(awake, deadline)
        return outcome, Placement({**found, **dict.fromkeys(asleep, ())} if found else {})
    fewest = awake.with_replicas({model.name: model.replicas for model in awake.models})
    outcome, found = _decided(reduction_of(fewest), deadline)
    if outcome is not Outcome.FOUND and _more_replicas_may_fit(awake):
        outcome, found = _with_any_replicas(awake, deadline)
    if outcome is not Outcome.FOUND:
        return outcome, Placement()
    placement = Placement({**found, **dict.fromkeys(asleep, ())})
    if not verify(problem, placement).valid:
        return Outcome.UNDECIDED, Placement()
    return Outcome.FOUND, placement


def _within_targets(problem: Problem, deadline: Deadline) -> tuple[Outcome, Placement]:
    """Decide by the solver whether models can be placed so that they keep their latency targets."""
    any_pressure = replace(problem, objective="pressure")
    seconds = max(deadline.left, SHORTEST)
    plan = solve(any_pressure, time_limit=seconds, target=sys.float_info.max)
    if plan.placement:
        return Outcome.FOUND, plan.placement
    none = plan.status is Status.INFEASIBLE
    return Outcome.NONE if none else Outcome.UNDECIDED, Placement()


def _more_replicas_may_fit(problem: Problem) -> bool:
    shared = problem.most_pressure is not None
    return any(model.open_replicas and (shared or model.shared_uses) for model in problem.models)


def _with_any_replicas(problem: Problem, deadline: Deadline) -> tuple[Outcome, Placement]:
    if not small_enough(problem):
        return Outcome.UNDECIDED, Placement()
    answer = search_all(problem, _target(problem), deadline)
    return answer.outcome, Placement(answer.placement)


def _target(problem: Problem) -> float:
    """Return the pressure to search at: a little above the highest that the checker accepts."""
    return inf if problem.most_pressure is None else problem.most_pressure * (1.0 + 2 * OVER_LIMIT)


def _decided(reduction: Reduction, deadline: Deadline) -> tuple[Outcome, Placement]:
    if obvious_obstacle(reduction):
        return Outcome.NONE, Placement()
    target = _target(reduction.whole)
    if target == 0.0:
        return Outcome.UNDECIDED, Placement()
    layout = empty_layout(reduction.canonical, deadline.go)
    for _ in quick_ways(reduction, layout, deadline):
        if verify(reduction.whole, placement := reduction.placement(layout.gpu_of)).valid:
            return Outcome.FOUND, placement
    return _searched(reduction, target, deadline)


def _searched(reduction: Reduction, target: float, deadline: Deadline) -> tuple[Outcome, Placement]:
    """Search everything, by ourselves and then by two solvers."""
    with deadline.watched():
        layout = empty_layout(reduction.instance, deadline.go)
        searched, proof = search_with_proof(reduction.instance, layout, target, NODES)
    if proof and refuted(reduction.whole, proof) is None:
        return Outcome.NONE, Placement()
    if searched.outcome is Outcome.FOUND:
        return Outcome.FOUND, reduction.placement(layout.gpu_of)
    if not small_enough(reduction.whole):
        return Outcome.UNDECIDED, Placement()
    answer = search_all(reduction.whole, target, deadline)
    return answer.outcome, Placement(answer.placement)
