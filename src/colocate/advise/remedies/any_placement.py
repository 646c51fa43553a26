"""Whether the models of a problem can be placed at all, with no regard to how well."""

from math import inf

from colocate.problem.layout import empty_layout
from colocate.problem.parts import Parts, parts_of
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.verify import SLACK, verify
from colocate.problem.verify_bound import refuted
from colocate.solver.construct.completion import Outcome
from colocate.solver.deadline import Deadline
from colocate.solver.feasibility import obvious_obstacle
from colocate.solver.prove.tree import search_with_proof
from colocate.solver.prove.two_solvers import search_all, small_enough
from colocate.solver.start import quick_ways

NODES = 20_000
"""Nodes of the first search; what it does not decide is for CP-SAT and SCIP."""


def any_placement(problem: Problem, deadline: Deadline) -> tuple[Outcome, Placement]:
    """Return a placement that the checker has confirmed, or whether it is proven that none exists.

    Models that may sleep do so. Where the number of copies is open, the fewest are tried first; if
    they do not fit, more may do so only where copies share something that is limited.
    """
    asleep = {model.name for model in problem.sleepers}
    awake = problem.awake(asleep) if asleep else problem
    if awake is None:
        return Outcome.FOUND, Placement(dict.fromkeys(asleep, ()))
    fewest = awake.with_copies({model.name: model.replicas for model in awake.models})
    outcome, found = _decided(parts_of(fewest), deadline)
    if outcome is not Outcome.FOUND and _more_copies_may_fit(awake):
        outcome, found = _with_any_copies(awake, deadline)
    if outcome is not Outcome.FOUND:
        return outcome, Placement()
    placement = Placement({**found, **dict.fromkeys(asleep, ())})
    if not verify(problem, placement).valid:
        return Outcome.UNDECIDED, Placement()
    return Outcome.FOUND, placement


def _more_copies_may_fit(problem: Problem) -> bool:
    shared = problem.most_pressure is not None
    return any(model.elastic and (shared or model.shared_uses) for model in problem.models)


def _with_any_copies(problem: Problem, deadline: Deadline) -> tuple[Outcome, Placement]:
    if not small_enough(problem):
        return Outcome.UNDECIDED, Placement()
    answer = search_all(problem, _target(problem), deadline.left, stopped=lambda: deadline.over)
    return answer.outcome, Placement(answer.placement)


def _target(problem: Problem) -> float:
    """Return the pressure to search at: a little more than what the checker lets pass."""
    return inf if problem.most_pressure is None else problem.most_pressure * (1.0 + 2 * SLACK)


def _decided(parts: Parts, deadline: Deadline) -> tuple[Outcome, Placement]:
    if obvious_obstacle(parts):
        return Outcome.NONE, Placement()
    target = _target(parts.whole)
    if target == 0.0:
        return Outcome.UNDECIDED, Placement()
    layout = empty_layout(parts.canonical, deadline.go)
    for _ in quick_ways(parts, layout, deadline):
        if verify(parts.whole, placement := parts.placement(layout.gpu_of)).valid:
            return Outcome.FOUND, placement
    return _searched(parts, target, deadline)


def _searched(parts: Parts, target: float, deadline: Deadline) -> tuple[Outcome, Placement]:
    """Search everything, by ourselves and then by two solvers."""
    with deadline.watched():
        layout = empty_layout(parts.instance, deadline.go)
        searched, proof = search_with_proof(parts.instance, layout, target, NODES)
    if proof and refuted(parts.whole, proof) is None:
        return Outcome.NONE, Placement()
    if searched.outcome is Outcome.FOUND:
        return Outcome.FOUND, parts.placement(layout.gpu_of)
    if not small_enough(parts.whole):
        return Outcome.UNDECIDED, Placement()
    answer = search_all(parts.whole, target, deadline.left, stopped=lambda: deadline.over)
    return answer.outcome, Placement(answer.placement)
