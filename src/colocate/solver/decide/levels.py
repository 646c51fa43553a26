"""Settles the levels of a plan: after the peak the second highest pressure, then the third.

Each level is a problem of its own, in which the GPUs that hold the levels above stay at or below
their ceilings (see `level_problem`). Identical GPUs can hold a level just as well as each other;
with unlike ones, another holder may leave a lower level below. So a bound on a level is the lowest
over all choices of holders that the levels above leave open.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

from colocate.problem.level import Level, LevelProof
from colocate.problem.placement import Placement
from colocate.problem.pressure import lower
from colocate.problem.problem import Problem
from colocate.problem.tolerance import CEILING
from colocate.solver.budget import SolveBudget
from colocate.solver.decide.holders import HolderChoices, Holders
from colocate.solver.decide.level_proofs import LOOSE, TIGHT, asked, by_sums, searched
from colocate.solver.decide.level_state import LevelState
from colocate.solver.decide.pressure_limit import without_limit
from colocate.solver.plan import Plan

PEAK = 0.8
"""The share of the time that the peak may take; the other levels have the rest."""
AT_ONCE = 1.0
"""Where the gap that is good enough changes with time, nobody waits for the lower levels: they have
this many seconds since the start, or as long again as the peak took.
"""
LEVEL = 0.4
"""The share of the time left that one level may take."""
FIRST, SECOND = 0.3, 0.5
"""The share of a choice's time for a better placement, before its bound is raised; and the share of
the rest for the bound, before two solvers search all numbers of replicas."""
MOST_CHOICES = 48
"""Choices of holders; with more, the levels below are improved, but no longer proven."""


def settle_levels(problem: Problem, plan: Plan, budget: SolveBudget, levels: int | None) -> Plan:
    """Improve the levels below the peak of a plan, and prove bounds on them.

    Parameters
    ----------
    problem
        The problem of the models that are awake.
    plan
        The plan whose peak is settled, for the problem with its sleepers.
    budget
        What the call may still spend, and which gap is good enough for a level.
    levels
        How many levels are settled; None for all.
    """
    if not plan.placement or not isfinite(plan.pressure):
        return plan
    if callable(budget.gap):
        taken = budget.deadline.seconds
        budget = replace(budget, deadline=budget.deadline.part(max(taken, AT_ONCE - taken)))
    awake = Placement({model.name: plan.placement[model.name] for model in problem.models})
    state = LevelState(without_limit(problem), awake, plan, budget)
    search = LevelSearch(state, plan.bound)
    search.settle(min(levels or len(problem.gpus), len(problem.gpus)))
    places = {**plan.placement, **state.placement}
    return replace(
        plan,
        placement=Placement({model: places[model] for model in plan.placement}),
        pressures=state.pressures,
        levels=search.levels,
        alarms=tuple(dict.fromkeys([*plan.alarms, *state.alarms])),
    )


class LevelSearch:
    """The levels settled so far, and the choices of holders that they leave open.

    Parameters
    ----------
    state
        The best placement, and what is known about its levels.
    bound
        The bound on the peak.
    """

    def __init__(self, state: LevelState, bound: float) -> None:
        self._state = state
        self._holders = HolderChoices(state.problem)
        self._opens: list[list[Holders] | None] = [[()]]
        """By level, the choices of holders of the levels above it; None if there are too many."""
        self._bounds: list[tuple[float, tuple[LevelProof, ...]]] = [(bound, ())]

    @property
    def levels(self) -> tuple[Level, ...]:
        """All levels of the placement; those that were not settled have no bound."""
        nothing: tuple[float, tuple[LevelProof, ...]] = (0.0, ())
        found = []
        for number, (gpu, pressure) in enumerate(self._state.row):
            bound, proofs = self._bounds[number] if number < len(self._bounds) else nothing
            known = number < len(self._state.ceilings)
            ceiling = self._state.ceilings[number] if known else pressure * CEILING
            found.append(Level(gpu, pressure, ceiling, bound, proofs))
        return tuple(found)

    def settle(self, levels: int) -> None:
        """Settle levels from the top; while time is left, go back to the first without a proof."""
        self._settle_down(levels)
        first = self._first_unproven()
        while first is not None and not self._state.time_is_up:
            for kept in (self._state.ceilings, self._bounds, self._opens):
                del kept[first:]
            self._settle_down(levels)
            first = self._first_unproven()

    def _settle_down(self, levels: int) -> None:
        """Settle levels until time is up, then those that proofs are known for."""
        while len(self._state.ceilings) < levels and self._state.value > 0.0:
            if self._state.time_is_up and self._state.known(self._state.own) is None:
                return
            self._settle_next()

    def _first_unproven(self) -> int | None:
        """Return the first level whose bound is too low, if more time may raise it."""
        for number, (bound, _) in enumerate(self._bounds):
            if number > 0 and not self._state.budget.enough(self._state.row[number][1], bound):
                return None if self._opens[number] is None else number
        return None

    def _settle_next(self) -> None:
        """Settle one level: improve it, and prove a bound for every choice of holders."""
        stage = replace(
            self._state.budget,
            deadline=self._state.budget.deadline.part(self._state.budget.deadline.left * LEVEL),
        )
        choices = self._choices()
        _LevelWork(self._state, choices or [self._state.own], stage).run()
        proofs = [proof for each in choices or () if (proof := self._state.known(each))]
        complete = choices is not None and len(proofs) == len(choices)
        bound = min(proof.bound for proof in proofs) if complete else 0.0
        self._bounds.append((min(bound, self._state.value), tuple(proofs) if complete else ()))
        self._state.ceilings.append(self._state.value * CEILING)
        if complete:
            excluded = {p.holders for p in proofs if p.bound > self._state.ceilings[-1]}
            choices = [holders for holders in choices or () if holders not in excluded]
        self._opens.append(choices)

    def _choices(self) -> list[Holders] | None:
        """Return the choices of holders to look at, that of the best placement first.

        None if there are too many.
        """
        above = self._opens[-1]
        if above is None:
            return None
        own = self._state.own
        mine = self._holders.key(own, self._state.ceilings)
        found = [own]
        for holders in self._holders.longer(above, self._state.ceilings):
            if self._holders.key(holders, self._state.ceilings) != mine:
                found.append(holders)
            if len(found) > MOST_CHOICES:
                return None
        return found


class _LevelWork:
    """The work on one level: the choices of holders to look at, that of the best plan first."""

    def __init__(self, state: LevelState, choices: Sequence[Holders], stage: SolveBudget) -> None:
        self._state = state
        self._stage = stage
        self._choices = list(choices)

    def run(self) -> None:
        """Look at all choices; at one that turned out better, again."""
        for holders in self._choices:
            if not self._time_is_up and self._state.known(holders) is None:
                self._state.keep(by_sums(self._state, holders))
        left = list(self._choices)
        while left and not self._time_is_up:
            holders, before = left[0], self._state.value
            if not self._good_enough(holders):
                self._look(holders, len(left))
            if self._good_enough(holders) or not lower(self._state.value, before):
                left.pop(0)

    @property
    def _time_is_up(self) -> bool:
        return self._stage.deadline.left < self._state.least_seconds

    def _look(self, holders: Holders, left: int) -> None:
        """Search one choice of holders: for a better placement first, then for a bound."""
        whole = replace(
            self._stage, deadline=self._stage.deadline.part(self._stage.deadline.left / left)
        )
        if self._state.is_own(holders):
            self._try(holders, LOOSE, whole, FIRST)
        asking = self._state.problem.open_replicas
        self._try(holders, TIGHT, whole, SECOND if asking else 1.0)
        if asking and not self._good_enough(holders) and not self._time_is_up:
            self._state.keep(asked(self._state, holders, whole))

    def _try(self, holders: Holders, floor: float, whole: SolveBudget, share: float) -> None:
        """Search with a share of the time left, unless the bound is high enough."""
        if self._good_enough(holders) or self._time_is_up:
            return
        stage = replace(whole, deadline=whole.deadline.part(whole.deadline.left * share))
        self._state.keep(searched(self._state, holders, floor, stage))

    def _good_enough(self, holders: Holders) -> bool:
        """Whether the bound is high enough for the level, or for this choice to be out."""
        if self._state.value == 0.0:
            return True
        proof = self._state.known(holders)
        return proof is not None and self._stage.enough(self._state.value, proof.bound)
