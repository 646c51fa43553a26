"""Decides which models sleep so that the others keep their targets.

The ordinary solver chooses sleepers by memory and pressure, and proves how little any choice loses.
If the models that it keeps awake keep their targets too, its choice stands. If not, more models
have to sleep: of few sleepers all choices are tried, those that lose least first; of many, the
cheapest go to sleep until all targets hold, and then wake again as far as they can.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from math import fsum, inf

from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.reduction import reduction_of
from colocate.solver.budget import SolveBudget
from colocate.solver.decide.latency import place_by_latency
from colocate.solver.decide.sleep import solve_with_sleepers
from colocate.solver.latency.progress import LatencyProgress
from colocate.solver.latency.search import MOST_STARTS, Start, first_places, improve, start_over
from colocate.solver.plan import Plan, Status, with_ratios
from colocate.solver.targets import without_targets

CHOOSING = 0.3
"""The share of the time for the ordinary choice of sleepers."""
KEEPING = 0.6
"""The share of the time after which the choice of sleepers stands."""
FEW = 10
"""Sleepers up to which all choices are tried."""
TRYING, SHORTEST = 0.1, 0.05
"""The share of the time that one choice may take at most, and the fewest seconds for it."""
STEPS = 20
"""Steps of the search for one choice from the first start."""
STARTS = 4
"""Other starts for a choice that does not lose least."""


def sleep_by_latency(problem: Problem, budget: SolveBudget) -> Plan:
    """Choose the sleepers, then place the other models as well as possible.

    Parameters
    ----------
    problem
        The models, some of which may sleep, and the GPUs.
    budget
        What the call may spend, and which answer is good enough.
    """
    part = budget.keeping(budget.deadline.left * (1.0 - CHOOSING))
    ordinary = solve_with_sleepers(without_targets(problem), replace(part, target=None))
    if ordinary.status is Status.INFEASIBLE:
        return replace(ordinary, problem=problem)
    start = SleeperSearch(problem, budget, ordinary).chosen()
    if start is None:
        return _without_sleepers(problem, budget, ordinary.lost_bound)
    return _placed(problem, budget, start, ordinary.lost_bound)


def _without_sleepers(problem: Problem, budget: SolveBudget, bound: float) -> Plan:
    """Decide whether those that must be awake keep their targets; others beside them do not help.

    Parameters
    ----------
    problem, budget
        The models, some of which may sleep, with the GPUs, and what the call may spend.
    bound
        What any choice of sleepers loses at least.
    """
    must = problem.awake({model.name for model in problem.sleepers})
    assert must is not None, "a search that puts all models to sleep finds a placement"
    plan = place_by_latency(must, budget)
    if plan.placement:
        start = {model.name: plan.placement.get(model.name, ()) for model in problem.models}
        return _placed(problem, budget, Placement(start), bound)
    if plan.status is Status.INFEASIBLE:
        reason = f"even with all models asleep that may be, {plan.reason}"
        return replace(plan, problem=problem, reason=reason)
    reason = "no choice of sleepers was found that keeps all targets"
    return replace(plan, problem=problem, reason=reason)


def _placed(problem: Problem, budget: SolveBudget, start: Placement, bound: float) -> Plan:
    """Place the awake models as well as possible; the plan lists the others without a GPU."""
    awake = problem.awake({name for name, gpus in start.items() if not gpus})
    if awake is None:
        return with_ratios(_all_asleep(problem, bound))
    begin = Placement({model.name: start[model.name] for model in awake.models})
    plan = place_by_latency(awake, budget, begin)
    order = {m.name: plan.placement.get(m.name, ()) for m in problem.models}
    plan = replace(plan, problem=problem)
    if not plan.placement:
        return plan
    plan = replace(plan, placement=Placement(order))
    plan = replace(plan, lost_bound=min(bound, plan.lost))
    unproven = plan.status is Status.OPTIMAL and not plan.loses_least
    return replace(plan, status=Status.FEASIBLE) if unproven else plan


def _all_asleep(problem: Problem, bound: float) -> Plan:
    places: dict[str, tuple[str, ...]] = {model.name: () for model in problem.models}
    pressures = dict.fromkeys((gpu.name for gpu in problem.gpus), 0.0)
    plan = Plan(problem, Status.FEASIBLE, Placement(places), pressures, lost_bound=bound)
    return replace(plan, status=Status.OPTIMAL) if plan.loses_least else plan


class SleeperSearch:
    """A search for sleepers without whom all targets hold.

    Parameters
    ----------
    problem
        The models, some of which may sleep, and the GPUs.
    budget
        What the call may spend.
    ordinary
        The plan without targets.
    """

    def __init__(self, problem: Problem, budget: SolveBudget, ordinary: Plan) -> None:
        self._problem = problem
        self._budget = budget
        self._ordinary = ordinary
        self._cost = {model.name: model.sleep_cost or 0.0 for model in problem.sleepers}
        self._until = budget.deadline.left * (1.0 - KEEPING)

    def chosen(self) -> Placement | None:
        """Return a placement that keeps all targets, with those models asleep that lose least."""
        if not self._ordinary.placement:
            found = self._tried(frozenset(self._cost), Placement())
            return found and self._woken(found)
        usual = frozenset(self._ordinary.asleep)
        found = self._tried(usual, self._ordinary.placement, MOST_STARTS)
        if found is not None or not self._problem.limits_latency:
            return found or self._ordinary.placement
        if len(self._cost) <= FEW:
            for asleep in self._by_loss():
                if (found := self._tried(asleep, self._ordinary.placement)) is not None:
                    return found
                if self._time_is_up:
                    break
        put_to_sleep = self._put_to_sleep(usual)
        return put_to_sleep and self._woken(put_to_sleep)

    @property
    def _time_is_up(self) -> bool:
        return self._budget.deadline.left < self._until

    def _by_loss(self) -> Iterator[frozenset[str]]:
        """Yield all choices of sleepers, those that lose least first."""
        names = sorted(self._cost)
        choices = [
            frozenset(each) for size in range(len(names) + 1) for each in combinations(names, size)
        ]
        least = self._ordinary.lost_bound
        losses = {each: fsum(self._cost[name] for name in each) for each in choices}
        yield from sorted((c for c in choices if losses[c] >= least), key=losses.__getitem__)

    def _tried(
        self, asleep: frozenset[str], start: Start, starts: int = STARTS
    ) -> Placement | None:
        """Return a placement that keeps all targets with these models asleep, if one is found.

        Parameters
        ----------
        asleep
            The models.
        start
            Places to begin with.
        starts
            How many others to begin with if these lead to none.
        """
        awake = self._problem.awake(asleep)
        if awake is None:
            return Placement({model.name: () for model in self._problem.models})
        fewest = awake.with_replicas({model.name: model.replicas for model in awake.models})
        seconds = max(TRYING * self._budget.deadline.left, SHORTEST)
        places = {m.name: tuple(start.get(m.name, ()))[: m.parts] for m in fewest.models}
        first = first_places(fewest, self._budget, seconds, places)
        if not first.placement:
            return None
        stage = self._budget.attempt(seconds, target=inf)
        progress = LatencyProgress(reduction_of(fewest), stage)
        improve(progress, self._budget.seed, first.placement, STEPS)
        start_over(progress, stage, starts)
        if not progress.found:
            return None
        found = progress.reduction.placement(progress.best)
        return Placement({model.name: found.get(model.name, ()) for model in self._problem.models})

    def _put_to_sleep(self, asleep: frozenset[str]) -> Placement | None:
        """Put the cheapest models to sleep, one by one, until all targets hold."""
        left = sorted(self._cost.keys() - asleep, key=self._cost.__getitem__)
        start: Start = self._ordinary.placement
        for name in left:
            asleep |= {name}
            if (found := self._tried(asleep, start)) is not None:
                return found
        return None

    def _woken(self, placement: Placement) -> Placement:
        """Wake the models again, those that lose most first, as long as all targets hold."""
        for name in sorted(self._cost, key=lambda name: -self._cost[name]):
            asleep = frozenset(each for each, gpus in placement.items() if not gpus)
            if name in asleep and not self._time_is_up:
                placement = self._tried(asleep - {name}, placement) or placement
        return placement
