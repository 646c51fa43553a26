"""Replan: the best placements close to the one that runs."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from math import inf

import numpy as np

from colocate.errors import InfeasibleError, InputError, NothingFoundError
from colocate.fault import Fault
from colocate.inputs.fleet import Fleet
from colocate.problem.instance import Ints
from colocate.problem.layout import NOWHERE
from colocate.problem.parts import Places
from colocate.problem.problem import Problem
from colocate.problem.quantity import checked_number, checked_seed
from colocate.problem.tolerance import JUST_ABOVE
from colocate.problem.verify import PlacementVerdict, verify
from colocate.replan.bounds.exhaustion import is_exhaustible, search_below
from colocate.replan.bounds.proofs import PointProofs
from colocate.replan.changed_fleet import keeping, named_gpus, with_choices_of, without_gpus
from colocate.replan.replanning import FrontierPoint, Replanning
from colocate.replan.search.group_values import GroupValues
from colocate.replan.search.item_homes import homes_of
from colocate.replan.search.nearness import renamed_to_stay
from colocate.replan.search.warm_up import warm_up_replan
from colocate.replan.search.within_budget import BudgetSearch, Found
from colocate.solver.deadline import Deadline
from colocate.solver.plan import Plan, Status
from colocate.solver.solve import solve

POINTS = 8
"""Points of a frontier: enough to see its bend, few enough to read."""
MOST_GB = 1e300
"""Stands for a budget without limit."""
FIRST, SOLVING = 0.3, 0.3
"""Shares of the time for the search from the placement that runs, and for a plan from nothing."""
FIRST_OF_ANY, EACH_POINT = 0.1, 0.03
"""Where any number of models may move, the seconds for the first of these searches, if there is
time, and the share of the rest for each point of the frontier. A plan from nothing has all other
time, as the best placement is often far away."""
SHARDS = 0.4
"""The share of the time for a budget in which engines with shards go elsewhere."""
CHECKED, EACH_SHOWN = 1, 1.5
"""Placements that the checker looks at beside those shown, and how many as much time is kept for
as it needs for one that is shown and its bound. The first one, the placement that runs, tells how
long one takes; half of the time is for the search at least."""
PROVING = 0.1
"""The share of the time that is kept for checks and bounds at least."""
SHOWN = 2
"""Placements that are shown with a budget or a target: the one that runs, and the answer."""


def replan(
    of: Fleet | Problem,
    old: Plan | Places,
    *,
    budget_gb: float | None = None,
    target: float | None = None,
    keep: Iterable[str] = (),
    drain: Iterable[str] = (),
    without: Iterable[str] = (),
    points: int = POINTS,
    weights_gb: Mapping[str, float] | None = None,
    time_limit: float = 2.0,
    seed: int = 0,
) -> Replanning:
    """Find placements that are good and close to the one that runs.

    With a budget: the best of the fleet's objective that moves no more. With a target: the fewest
    bytes that reach it. With neither: the frontier of both, from staying to the best.

    Parameters
    ----------
    of
        The fleet as it is now, or its problem: rates, models and GPUs may have changed.
    old
        The plan that runs, or its placement. It may name GPUs and models that are gone.
    budget_gb
        The most weights to load, in GB.
    target
        The value to reach: a pressure, or a ratio of latency to target, by the objective.
    keep
        Models that may not move now.
    drain
        GPUs or nodes to be left; their engines run until others have taken over.
    without
        GPUs or nodes that are lost, with all that was on them.
    points
        The most points of a frontier.
    weights_gb
        The weights of models, without overhead. By default what the fleet says, else their sizes.
    time_limit, seed
        Seconds to search, and what decides every random choice. Compiling is extra.

    Returns
    -------
    Replanning
        Its points were confirmed by the independent checker, and so were their bounds.

    Raises
    ------
    InfeasibleError
        If a proof shows that nothing fits, or nothing within the budget or the target.
    NothingFoundError
        If nothing was found, and there is no proof that nothing exists.
    """
    problem = of if isinstance(of, Problem) else of.problem
    places: Places = old.placement if isinstance(old, Plan) else old
    if not places:
        raise InputError(Fault("has no placement", "a plan with one", path=("old",)))
    for name, number in (("budget_gb", budget_gb), ("target", target)):
        if number is not None:
            checked_number(number, (name,))
    if budget_gb is not None and target is not None:
        raise InputError(Fault("budget_gb and target are both given", "one of them"))
    drained = named_gpus(problem.gpus, drain)
    left = without_gpus(problem, {*drained, *named_gpus(problem.gpus, without)})
    decided = with_choices_of(left, places)
    asked = keeping(decided, places, keep)
    known = weights_gb if weights_gb is not None else weights_of(of)
    warm_up_replan(asked)
    shown = points if budget_gb is None and target is None else SHOWN
    search = _Replan(asked, places, known, Deadline(time_limit), checked_seed(seed), shown)
    search.look(budget_gb, target, points)
    return replace(search.answer(budget_gb, target, points), draining=drained, problem=decided)


def weights_of(of: Fleet | Problem) -> dict[str, float]:
    """Return the GB of weights of the models that a fleet knows, without overhead."""
    if isinstance(of, Problem):
        return {}
    return {name: spec.size_gb for name, spec in of.models.items() if spec.size_gb is not None}


class _Replan:
    """A replan under way."""

    def __init__(
        self,
        problem: Problem,
        old: Places,
        weights_gb: Mapping[str, float],
        deadline: Deadline,
        seed: int,
        shown: int,
    ) -> None:
        self._problem, self._old, self._seed = problem, old, seed
        begun = deadline.seconds
        self._broken = self._rules_broken()
        checks = (CHECKED + EACH_SHOWN * shown) * (deadline.seconds - begun)
        checks = max(checks, deadline.left * PROVING)
        self._deadline = deadline.part(max(deadline.left - checks, deadline.left / 2))
        self._verdicts: dict[bytes, PlacementVerdict] = {}
        self._homes = homes_of(problem, old, weights_gb)
        self._search = BudgetSearch(self._homes, self._deadline, seed)
        self._values = GroupValues(self._homes.reduction)
        self._whole = deadline
        self._proofs = PointProofs(self._homes, self._values, old, None, deadline)

    def look(self, budget_gb: float | None, target: float | None, points: int) -> None:
        """Search for as long as there is time."""
        whole = self._deadline.left
        within = inf if budget_gb is None else budget_gb
        first, solving = whole * FIRST, whole * SOLVING
        if budget_gb is None and target is None:
            first = min(first, FIRST_OF_ANY)
            solving = max((whole - first) * (1.0 - points * EACH_POINT), solving)
        with self._deadline.watched():
            self._begin()
            self._search.lower_value(within, 0.0, first)
            self._search.move_shards(within, self._is_valid, first)
        fresh = solve(self._problem, time_limit=max(solving, 0.05), seed=self._seed)
        if fresh.status is Status.INFEASIBLE:
            raise InfeasibleError(fresh.reason)
        if fresh.placement:
            indices = self._homes.reduction.indices(fresh.placement)
            if not self._offer_valid(renamed_to_stay(self._homes, indices)):
                self._offer_valid(indices)
        self._proofs = PointProofs(
            self._homes, self._values, self._old, fresh.certificate, self._whole
        )
        with self._deadline.watched():
            if target is not None:
                self._search.lower_value(inf, target, self._deadline.left / 2)
                self._lighten(target, self._deadline.left)
            elif budget_gb is not None:
                self._lower(budget_gb, self._deadline.left * 0.8)
                self._lighten_best(budget_gb)
            else:
                self._trace(points)

    def answer(self, budget_gb: float | None, target: float | None, points: int) -> Replanning:
        """Return what was found, checked and proven."""
        least = self._proofs.least_gb(target) if target is not None else 0.0
        found = list(self._search.found)
        kept, chosen = self._kept(found, budget_gb, target, points, least)
        while not all(self._is_valid(each.gpu_of) for each in kept):
            wrong = {id(each) for each in kept if not self._is_valid(each.gpu_of)}
            found = [each for each in found if id(each) not in wrong]
            kept, chosen = self._kept(found, budget_gb, target, points, least)
        shown = [
            self._point(each, each.gb if budget_gb is None or each is not chosen else budget_gb)
            for each in kept
        ]
        stay = None if self._broken else shown[0]
        return Replanning(
            self._problem,
            self._old,
            tuple(shown),
            self._homes.forced_gb,
            stay if stay and stay.moved_gb <= self._homes.forced_gb else None,
            self._broken,
            next(n for n, each in enumerate(kept) if each is chosen),
            least,
            (),
            dict(self._homes.weights_gb),
            self._deadline.seconds,
            self._search.first_seconds,
        )

    def _kept(
        self,
        found: list[Found],
        budget_gb: float | None,
        target: float | None,
        points: int,
        least: float,
    ) -> tuple[list[Found], Found]:
        """Return the placements to show, and the one that was asked for.

        Parameters
        ----------
        found
            All placements, rising by what they move.
        budget_gb, target, points
            What was asked for.
        least
            What any placement within the target moves.
        """
        if not found:
            raise NothingFoundError(
                "no placement was found for the fleet as it is now; give more time"
            )
        self._refuse_out_of_reach(found, budget_gb, target, least)
        chosen = _chosen(found, budget_gb, target)
        if budget_gb is None and target is None:
            return _spread(found, points), chosen
        return [found[0], chosen] if chosen is not found[0] else [chosen], chosen

    def _refuse_out_of_reach(
        self,
        found: Collection[Found],
        budget_gb: float | None,
        target: float | None,
        least: float,
    ) -> None:
        """Raise an error if nothing is within the budget or the target."""
        if budget_gb is not None and all(each.gb > budget_gb * JUST_ABOVE for each in found):
            needed = self._proofs.least_gb(inf)
            if needed > budget_gb:
                raise InfeasibleError(
                    f"at least {needed:.6g} GB must be loaded, the budget is {budget_gb:.6g} GB"
                )
            raise NothingFoundError(
                f"nothing was found within {budget_gb:.6g} GB; the least found is "
                f"{min(each.gb for each in found):.6g} GB"
            )
        if target is not None and all(each.value > target * JUST_ABOVE for each in found):
            best = min(each.value for each in found)
            if least == inf:
                raise InfeasibleError(f"no placement reaches {target:.6g}; the best is {best:.6g}")
            raise NothingFoundError(
                f"no placement was found that reaches {target:.6g}; the best is {best:.6g}"
            )

    def _begin(self) -> None:
        """Offer the placement that runs, completed where engines are missing."""
        start = self._homes.start.copy()
        if not (start == NOWHERE).any() and not self._broken:
            self._search.offer(start)
            return
        completed = self._completed(start)
        if len(completed):
            self._offer_valid(completed)

    def _completed(self, start: Ints) -> Ints:
        """Return a placement with what has no place, or not a valid one, put elsewhere."""
        rules = self._homes.reduction.instance.rules
        for gpu in range(len(rules.alike)):
            here = [int(item) for item in np.flatnonzero(start == gpu)]
            for item in [each for each in here if not rules.open[rules.pin[each], gpu]]:
                start[item] = NOWHERE
                here.remove(item)
            while here and self._values.value(gpu, frozenset(here)) == inf:
                start[here.pop()] = NOWHERE
        homeless = np.flatnonzero(start == NOWHERE)
        if (rules.shard_group[homeless] >= 0).any():
            return np.empty(0, np.int64)
        filled = self._search.filled(start)
        return np.empty(0, np.int64) if filled is None else filled

    def _offer_valid(self, gpu_of: Ints) -> bool:
        """Offer a placement unless it breaks a rule; return whether it keeps all."""
        valid = self._is_valid(gpu_of)
        if valid:
            self._search.offer(gpu_of)
        return valid

    def _is_valid(self, gpu_of: Ints) -> bool:
        return self._verdict(gpu_of).valid

    def _verdict(self, gpu_of: Ints) -> PlacementVerdict:
        """Return what the checker says of a placement, which takes it long: each is asked once."""
        key = gpu_of.tobytes()
        if key not in self._verdicts:
            placement = self._homes.reduction.placement(gpu_of)
            self._verdicts[key] = verify(self._problem, placement)
        return self._verdicts[key]

    def _rules_broken(self) -> tuple[str, ...]:
        """Return the rules that the old placement breaks in the fleet as it is now."""
        names = {model.name for model in self._problem.models}
        there = {gpu.name for gpu in self._problem.gpus}
        placed = {m: [g for g in gpus if g in there] for m, gpus in self._old.items() if m in names}
        return verify(self._problem, placed).faults

    def _trace(self, points: int) -> None:
        """Find both ends of the frontier, then points between them; all points of small fleets."""
        if is_exhaustible(self._homes) and self._traced_in_full():
            return
        if (best := self._search.best(inf)) is None:
            return
        self._lighten(best.value, self._deadline.left * 0.3)
        end = self._search.lightest(best.value) or best
        budgets = np.linspace(self._homes.forced_gb, end.gb, max(points, 2))[1:-1]
        for number, budget in enumerate(budgets):
            self._lower(float(budget), self._deadline.left / (len(budgets) - number))

    def _traced_in_full(self) -> bool:
        """Walk along the exact frontier; return whether its end was reached."""
        last = self._search.best(self._homes.forced_gb)
        value = last.value if last is not None else inf
        while not self._deadline.over:
            light = search_below(self._homes, self._values, value, MOST_GB, lightest=True)
            if light.gpu_of is None:
                return light.complete
            found = self._search.offer(light.gpu_of)
            low = search_below(self._homes, self._values, found.value, found.gb)
            if low.gpu_of is not None:
                found = self._search.offer(low.gpu_of)
            if not (light.complete and low.complete):
                return False
            value = found.value
        return False

    def _lower_in_full(self, budget_gb: float) -> None:
        """Try all placements within a budget, if there are few."""
        best = self._search.best(budget_gb)
        if is_exhaustible(self._homes):
            value = inf if best is None else best.value
            found = search_below(self._homes, self._values, value, budget_gb)
            if found.gpu_of is not None:
                self._search.offer(found.gpu_of)

    def _lower(self, budget_gb: float, seconds: float) -> None:
        self._lower_in_full(budget_gb)
        floor = max(self._proofs.floor, self._proofs.least_value(budget_gb))
        share = SHARDS if self._homes.shard_groups else 0.0
        self._search.lower_value(budget_gb, floor, seconds * (1.0 - share))
        self._search.move_shards(budget_gb, self._is_valid, seconds * share)

    def _lighten(self, target: float, seconds: float) -> None:
        self._search.lower_gb(target, self._proofs.least_gb(target), seconds)

    def _lighten_best(self, budget_gb: float) -> None:
        if (best := self._search.best(budget_gb)) is not None:
            self._lighten(best.value, self._deadline.left)

    def _point(self, found: Found, budget_gb: float) -> FrontierPoint:
        """Return a placement as a point, with the best bound that is confirmed."""
        placement = self._homes.reduction.placement(found.gpu_of)
        verdict = self._verdict(found.gpu_of)
        by_latency = self._problem.objective == "latency"
        value = verdict.ratio if by_latency else verdict.pressure
        bound, proof = self._proofs.confirmed(value, budget_gb)
        return FrontierPoint(placement, value, found.gb, budget_gb, min(bound, value), proof)


def _spread(found: list[Found], points: int) -> list[Found]:
    """Return some of many placements: the first, the last, and those that gain most between."""
    kept = list(found)
    while len(kept) > max(points, 2):
        inner = range(1, len(kept) - 1)
        least = min(inner, key=lambda n: kept[n - 1].value - kept[n].value)
        del kept[least]
    return kept


def _chosen(found: list[Found], budget_gb: float | None, target: float | None) -> Found:
    if target is not None:
        return min((e for e in found if e.value <= target * JUST_ABOVE), key=lambda e: e.gb)
    within = inf if budget_gb is None else budget_gb * JUST_ABOVE
    return min((e for e in found if e.gb <= within), key=lambda e: (e.value, e.gb))
