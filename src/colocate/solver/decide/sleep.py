"""Decides which models sleep when a fleet cannot serve all: those whose sleep costs least.

The loss comes first, the pressure of the awake models second. The solver first tries to keep all
models awake. If that fails, two solvers prove that a set of sleepers loses least. Where the problem
is too large for them, the volume gives a bound: at the highest pressure allowed, the awake models
have to fit in all GPUs together.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import NamedTuple

from colocate.problem.model import Model
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.tolerance import LONG_SUM, TINY
from colocate.problem.verify import highest_pressure, verify
from colocate.problem.verify_bound import refuted
from colocate.solver.budget import SolveBudget
from colocate.solver.construct.completion import Outcome
from colocate.solver.decide.pressure_limit import (
    held_to_limit,
    place_within_limit,
    without_limit,
)
from colocate.solver.decide.waking import woken
from colocate.solver.plan import Alarm, Plan, Status
from colocate.solver.prove.solvers.choices import load_in
from colocate.solver.prove.solvers.two_solvers import search_all, small_enough
from colocate.solver.search import attempt

CHOOSING = 0.6
"""The share of the time for choosing the sleepers."""
TRYING = 0.2
"""The share of the time for finding out whether all models, or only the required, can be awake."""


def solve_with_sleepers(problem: Problem, budget: SolveBudget) -> Plan:
    """Choose the sleepers, then place the other models as well as possible."""
    must = problem.awake({model.name for model in problem.sleepers})
    if must is not None:
        plan = _tried(must, budget)
        if plan.status is Status.INFEASIBLE and _holds_for_all_replicas(must, plan):
            reason = f"even with all models asleep that may be, {plan.reason}"
            return replace(plan, problem=problem, reason=reason)
    choice = _chosen(problem, budget)
    plan = _placed_awake(problem, choice, budget)
    plan = replace(plan, alarms=plan.alarms + choice.alarms)
    if not plan.placement:
        return plan
    plan = replace(plan, lost_bound=min(choice.bound, plan.lost))
    unproven = plan.status is Status.OPTIMAL and not plan.loses_least
    return replace(plan, status=Status.FEASIBLE) if unproven else plan


def _tried(problem: Problem, budget: SolveBudget) -> Plan:
    """Place models with the fewest replicas allowed, within the highest pressure allowed."""
    fewest = problem.with_replicas({model.name: model.replicas for model in problem.models})
    seconds = budget.deadline.left * TRYING
    enough = highest_pressure(problem)
    plan = attempt(without_limit(fewest), budget, seconds, target=enough)
    return held_to_limit(fewest, plan)


def _holds_for_all_replicas(problem: Problem, plan: Plan) -> bool:
    """Whether the failure of the fewest replicas holds for any number of replicas."""
    if not problem.open_replicas:
        return True
    proof = plan.certificate
    return proof is not None and proof.proof.checkable and refuted(problem, proof) is None


def _placed_awake(problem: Problem, choice: "_Sleepers", budget: SolveBudget) -> Plan:
    """Place the awake models; the plan lists the others without a GPU."""
    awake = problem.awake(choice.asleep)
    if awake is None:
        places: dict[str, tuple[str, ...]] = {model.name: () for model in problem.models}
        pressures = dict.fromkeys((gpu.name for gpu in problem.gpus), 0.0)
        return Plan(problem, Status.OPTIMAL, Placement(places), pressures)
    start = {m.name: choice.start[m.name] for m in awake.models} if choice.start else None
    plan = place_within_limit(awake, budget, Placement(start) if start else None)
    if not plan.placement:
        return replace(plan, problem=problem)
    order = {m.name: plan.placement.get(m.name, ()) for m in problem.models}
    return replace(plan, problem=problem, placement=Placement(order))


class _Sleepers(NamedTuple):
    """A choice of sleepers, and what is known about it."""

    asleep: frozenset[str]
    bound: float
    """A lower bound on the loss of any choice."""
    start: Placement | None
    """A placement of the awake models, with sleepers on no GPU; None if none is known yet."""
    alarms: tuple[Alarm, ...] = ()


def _chosen(problem: Problem, budget: SolveBudget) -> _Sleepers:
    """Return the choice that loses least, or one that loses little."""
    bound = least_lost(problem)
    if bound == 0.0:
        awake = problem.awake(())
        assert awake is not None
        plan = _tried(awake, budget)
        if plan.placement:
            return _Sleepers(frozenset(), 0.0, plan.placement)
    if small_enough(problem):
        deadline = budget.deadline.part(budget.deadline.left * CHOOSING)
        answer = search_all(problem, highest_pressure(problem), deadline, budget.workers)
        bound = max(bound, answer.cost_bound) if answer.outcome is not Outcome.NONE else bound
        alarms = (answer.alarm,) if answer.alarm else ()
        if answer.outcome is Outcome.FOUND and verify(problem, answer.placement).valid:
            asleep = frozenset(name for name, on in answer.placement.items() if not on)
            return _Sleepers(asleep, bound, Placement(answer.placement), alarms)
    start = woken(problem, budget, budget.deadline.left * CHOOSING)
    if start is None:
        return _Sleepers(frozenset(model.name for model in problem.sleepers), bound, None)
    asleep = frozenset(name for name, on in start.items() if not on)
    return _Sleepers(asleep, bound, start)


def least_lost(problem: Problem) -> float:
    """Return a lower bound on the loss: keep awake the models worth most for the memory they need.

    They need memory for the load at the highest pressure, and for their least cache. The last of
    them stays awake in part, so no choice of whole models is worth more.
    """
    window = max(range(problem.windows), key=lambda t: sum(load_in(m, t) for m in problem.models))
    highest = highest_pressure(problem)
    by_load = {
        m.name: m.size_gb * m.replicas + memory_for(load_in(m, window), highest)
        for m in problem.models
    }
    by_cache = {
        m.name: (m.size_gb + (m.least_cache_gb or 0.0)) * m.replicas for m in problem.models
    }
    return max(_least_lost(problem, by_load), _least_lost(problem, by_cache))


def _least_lost(problem: Problem, needs: Mapping[str, float]) -> float:
    """Return the loss if awake models need so much of the memory of all GPUs."""

    def need(model: Model) -> float:
        return needs[model.name] * (1.0 - LONG_SUM)

    free = sum(gpu.memory_gb for gpu in problem.gpus) * (1.0 + LONG_SUM)
    free -= sum(need(model) for model in problem.models if model.sleep_cost is None)
    lost = 0.0
    for model in sorted(problem.sleepers, key=lambda m: -(m.sleep_cost or 0.0) / (need(m) or TINY)):
        kept = min(max(free, 0.0) / need(model), 1.0) if need(model) > 0.0 else 1.0
        free -= need(model)
        lost += (model.sleep_cost or 0.0) * (1.0 - kept)
    return lost * (1.0 - LONG_SUM)


def memory_for(load: float, pressure: float) -> float:
    """Return the free memory at which a load has a pressure; infinite for a pressure of 0."""
    if load == 0.0:
        return 0.0
    return load / pressure if pressure > 0.0 else inf
