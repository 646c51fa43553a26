"""Which models stay asleep when not all can be served: those whose demand is missed least.

What is lost comes first, the pressure of what is awake second. A set of sleepers is proven to lose
the least by CP-SAT, or where the problem is too large for it by volume: at the highest pressure
allowed, models of all that is awake have to fit in all GPUs together.
"""

from collections.abc import Callable, Container
from dataclasses import replace
from math import inf
from typing import NamedTuple

from colocate.problem.model import Model
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.verify import highest_pressure, verify
from colocate.solver.construct.completion import Outcome
from colocate.solver.plan import Plan, Status
from colocate.solver.prove.choice_program import memory_for, search_choices, small_enough
from colocate.solver.run import Run

CHOOSING = 0.6
"""The part of the time that choosing may take."""
MOST_WOKEN = 16
"""Models that are woken again, one by one, if there is room after all."""
ROUNDED_DOWN, ROUNDED_UP = 1.0 - 1e-9, 1.0 + 1e-9
TINY = 1e-300

Placed = Callable[[Problem, Run, Placement | None], Plan]
"""Places models as well as the time allows, from a start or from none."""
Attempted = Callable[[Problem, float], Plan]
"""Places models with fixed numbers of copies in some seconds."""


def within_limit(
    problem: Problem, run: Run, placed: Placed, start: Placement | None = None
) -> Plan:
    """Place models as if the pressure had no limit, and say if it is over the limit."""
    most = problem.most_pressure
    if most is None:
        return placed(problem, run, start)
    run.ceiling = highest_pressure(problem)
    plan = placed(replace(problem, most_pressure=None), run, start)
    plan = replace(plan, problem=problem)
    if not plan.placement or plan.pressure <= run.ceiling:
        return plan
    status = Status.INFEASIBLE if plan.bound > run.ceiling else Status.UNKNOWN
    known = f"no placement is below {plan.bound:.6g}"
    reason = f"most_pressure={most:.6g}: the best placement has {plan.pressure:.6g}, {known}"
    return replace(plan, status=status, placement=Placement(), pressures={}, reason=reason)


def solve_with_sleepers(problem: Problem, run: Run, placed: Placed, attempted: Attempted) -> Plan:
    """Choose who sleeps, then place the others as well as possible."""
    choice = _chosen(problem, run, attempted)
    if choice is None:
        reason = "even with all models asleep that may be, the others do not fit"
        return Plan(problem, Status.INFEASIBLE, reason=reason)
    plan = _woken(problem, choice, run, placed)
    if not plan.placement:
        return plan
    plan = replace(plan, lost_bound=min(choice.bound, plan.lost))
    unproven = plan.status is Status.OPTIMAL and not plan.loses_least
    return replace(plan, status=Status.FEASIBLE) if unproven else plan


def _woken(problem: Problem, choice: "_Choice", run: Run, placed: Placed) -> Plan:
    """Place the models that are awake; the plan names the others with no place."""
    awake = problem.awake(choice.asleep)
    if awake is None:
        places: dict[str, tuple[str, ...]] = {model.name: () for model in problem.models}
        pressures = dict.fromkeys((gpu.name for gpu in problem.gpus), 0.0)
        return Plan(problem, Status.OPTIMAL, Placement(places), pressures)
    start = {m.name: choice.start[m.name] for m in awake.models} if choice.start else None
    plan = within_limit(awake, run, placed, Placement(start) if start else None)
    if not plan.placement:
        return replace(plan, problem=problem)
    order = {m.name: plan.placement.get(m.name, ()) for m in problem.models}
    return replace(plan, problem=problem, placement=Placement(order))


class _Choice(NamedTuple):
    """Who sleeps, and what is known about it."""

    asleep: frozenset[str]
    bound: float
    """No choice loses less."""
    start: Placement | None
    """A placement of all, the sleepers nowhere; None if there is none yet."""


def _chosen(problem: Problem, run: Run, attempted: Attempted) -> _Choice | None:
    """Return the choice that loses least, None if there is proven to be none."""
    target = highest_pressure(problem)
    bound = least_lost(problem)
    if small_enough(problem):
        answer = search_choices(
            problem, target, run.seconds_left * CHOOSING, run.workers, lambda: run.interrupted
        )
        if answer.outcome is Outcome.NONE:
            return None
        bound = max(bound, answer.cost_bound)
        if answer.outcome is Outcome.FOUND and verify(problem, answer.placement).valid:
            asleep = frozenset(name for name, on in answer.placement.items() if not on)
            return _Choice(asleep, bound, Placement(answer.placement))
    return _chosen_by_density(problem, run, attempted, bound)


def _chosen_by_density(problem: Problem, run: Run, attempted: Attempted, bound: float) -> _Choice:
    """Let those sleep that free most for what they cost, as few of them as it takes."""
    order = [m.name for m in sorted(problem.sleepers, key=lambda m: _density(problem, m))]
    seconds = run.seconds_left * CHOOSING / (len(order).bit_length() + MOST_WOKEN)
    fewest, most = 0, len(order)
    start: Placement | None = None
    while fewest < most:
        middle = (fewest + most) // 2
        found = _fits(problem, frozenset(order[:middle]), seconds, attempted)
        start, fewest, most = (found, fewest, middle) if found else (start, middle + 1, most)
    asleep = frozenset(order[:most])
    for name in sorted(asleep, key=lambda name: -_cost_of(problem, {name}))[:MOST_WOKEN]:
        if found := _fits(problem, asleep - {name}, seconds, attempted):
            asleep, start = asleep - {name}, found
    return _Choice(asleep, bound, start)


def _fits(
    problem: Problem, asleep: frozenset[str], seconds: float, attempted: Attempted
) -> Placement | None:
    """Return a placement with these models asleep, if one is found."""
    awake = problem.awake(asleep)
    if awake is None:
        return Placement()
    fixed = awake.with_copies({m.name: m.replicas for m in awake.models})
    plan = attempted(replace(fixed, most_pressure=None), seconds)
    within = plan.placement and plan.pressure <= highest_pressure(problem)
    return plan.placement if within else None


def _density(problem: Problem, model: Model) -> float:
    need = _need(model, problem.most_pressure)
    return (model.sleep_cost or 0.0) / need if need > 0.0 else inf


def _need(model: Model, most_pressure: float | None) -> float:
    """Return what a model takes of all memory at least: its size, and its load at the limit."""
    load = max(model.load) / most_pressure if most_pressure else 0.0
    return model.size_gb * model.replicas + load


def least_lost(problem: Problem) -> float:
    """Bound what is lost: keep those awake that are worth most for their part of all memory.

    The last one is kept in part, so that no choice of whole models is worth more.
    """
    window = max(range(problem.windows), key=lambda t: sum(_load(m, t) for m in problem.models))
    highest = highest_pressure(problem)

    def need(model: Model) -> float:
        room = memory_for(_load(model, window), highest)
        return (model.size_gb * model.replicas + room) * ROUNDED_DOWN

    free = sum(gpu.memory_gb for gpu in problem.gpus) * ROUNDED_UP
    free -= sum(need(model) for model in problem.models if model.sleep_cost is None)
    lost = 0.0
    for model in sorted(problem.sleepers, key=lambda m: -(m.sleep_cost or 0.0) / (need(m) or TINY)):
        kept = min(max(free, 0.0) / need(model), 1.0) if need(model) > 0.0 else 1.0
        free -= need(model)
        lost += (model.sleep_cost or 0.0) * (1.0 - kept)
    return lost * ROUNDED_DOWN


def _load(model: Model, window: int) -> float:
    return model.load[min(window, len(model.load) - 1)]


def _cost_of(problem: Problem, asleep: Container[str]) -> float:
    return sum(model.sleep_cost or 0.0 for model in problem.sleepers if model.name in asleep)
