"""Decides where models go by their latency: as the objective, or as targets that must hold.

If pressure is the objective, the ordinary solver goes first. Its placement is the answer if it
keeps the targets. If not, a search mends it, and the bound on the pressure still holds: with
targets there are fewer placements, not more.
"""

from dataclasses import replace

from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.verify import verify
from colocate.solver.budget import SolveBudget
from colocate.solver.decide.latency_replicas import LatencyReplicas
from colocate.solver.decide.pressure_limit import (
    held_to_limit,
    place_within_limit,
    without_limit,
)
from colocate.solver.latency.search import search_by_latency
from colocate.solver.plan import Plan, Status
from colocate.solver.prove.obstacles import too_many_parts
from colocate.solver.targets import keeps_targets, without_targets

ORDINARY = 0.5
"""The share of the time for the ordinary solver, where targets limit what it may answer."""


def place_by_latency(problem: Problem, budget: SolveBudget, start: Placement | None = None) -> Plan:
    """Place models that are all awake, by latency or within targets.

    Parameters
    ----------
    problem
        The models, all awake, and the GPUs.
    budget
        What the call may spend, and which answer is good enough.
    start
        Places to begin with; None to look for some.
    """
    if problem.objective == "latency":
        return _by_latency(problem, budget, start)
    ordinary = _ordinary(problem, budget, start)
    if ordinary.status is Status.INFEASIBLE:
        return replace(ordinary, problem=problem)
    verdict = verify(problem, ordinary.placement) if ordinary.placement else None
    if verdict is not None and verdict.valid:
        return replace(ordinary, problem=problem, ratios=verdict.ratios)
    found = _searched(without_limit(problem), budget, ordinary, start)
    return held_to_limit(problem, found)


def _by_latency(problem: Problem, budget: SolveBudget, start: Placement | None) -> Plan:
    """Search for the lowest latency.

    The fewest replicas may have no place where more of them do, since these share load and limits.
    Then the ordinary solver looks for numbers of replicas to begin with.
    """
    nothing = Plan(problem, Status.UNKNOWN)
    plan = _searched(problem, budget, nothing, start)
    if plan.status is not Status.UNKNOWN or not problem.open_replicas or budget.deadline.over:
        return plan
    ordinary = _ordinary(problem, budget, None)
    if ordinary.status is Status.INFEASIBLE:
        return replace(ordinary, problem=problem)
    return _searched(problem, budget, nothing, ordinary.placement) if ordinary.placement else plan


def _ordinary(problem: Problem, budget: SolveBudget, start: Placement | None) -> Plan:
    """Solve the problem without its targets; go on with that as long as they happen to hold."""
    free = without_targets(problem)
    part = replace(budget, deadline=budget.deadline.part(budget.deadline.left * ORDINARY))
    plan = place_within_limit(free, part, start)
    kept = bool(plan.placement) and keeps_targets(problem, plan.placement)
    if not kept or budget.enough(plan.pressure, plan.bound) or budget.deadline.over:
        return plan
    later = place_within_limit(free, budget, plan.placement)
    return later if keeps_targets(problem, later.placement) else plan


def _searched(
    problem: Problem, budget: SolveBudget, ordinary: Plan, start: Placement | None
) -> Plan:
    """Search by costs, from the placement of the ordinary solver if there is one.

    Parameters
    ----------
    problem
        The problem, without a limit on the pressure if that is the objective.
    budget
        What the call may spend.
    ordinary
        The plan without targets, whose bound holds with them as well.
    start
        A placement to improve, if there is none in the plan.
    """
    begin = ordinary.placement or start
    if problem.open_replicas and not too_many_parts(problem):
        return LatencyReplicas(problem, budget, ordinary.certificate).solved(begin)
    return search_by_latency(problem, budget, begin or None, ordinary.certificate)
