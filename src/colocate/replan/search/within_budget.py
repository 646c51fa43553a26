"""The search for the lowest value within a budget, and for the least budget at a value."""

from math import inf
from typing import NamedTuple

import numpy as np

from colocate.problem.instance import Ints
from colocate.problem.pressure import lower
from colocate.problem.tolerance import JUST_ABOVE, OUT_OF_REACH, TIE
from colocate.replan.search.item_homes import ItemHomes
from colocate.replan.search.seeker import Seeker
from colocate.solver.deadline import Deadline

FIRST_CUT, LEAST_CUT = 0.1, 0.0005
"""By what share the next target is below the best value: at first, and at last."""
SHORTER = 1.6
"""By what a cut is divided after a search without success."""
FEWEST_STEPS, MOST_STEPS, GROWTH = 300, 20_000, 1.3
"""Refills of one search at first and at most, and by what they grow after one without success."""
SINGLE_MOVES = 40
"""Single moves that take as long as one refill."""
PATIENCE = 12
"""Searches without success at the smallest cut after which the search ends."""


class Found(NamedTuple):
    """A placement of the items."""

    gpu_of: Ints
    value: float
    gb: float


class BudgetSearch:
    """Placements close to the one that runs, each no worse than the others in both respects.

    Parameters
    ----------
    homes
        The items, and where they are now.
    deadline
        When the search ends.
    seed
        Decides every random choice.
    """

    def __init__(self, homes: ItemHomes, deadline: Deadline, seed: int) -> None:
        self.homes = homes
        self._seeker = Seeker(homes, deadline, seed)
        self._rng = np.random.default_rng(seed)
        self._deadline = deadline
        self.found: list[Found] = []
        """Of all placements seen, those that no other one beats, rising by what they move."""
        self.first_seconds: float | None = None
        """When the first placement better than the start was found."""

    def offer(self, gpu_of: Ints) -> Found:
        """Keep a placement if no other is as good in both respects."""
        value = self._seeker.value(gpu_of)
        gb = self.homes.moved_gb(self.homes.reduction.placement(gpu_of))
        found = Found(gpu_of.copy(), value, gb)
        if any(each.value <= value and each.gb <= gb for each in self.found):
            return found
        if self.found and self.first_seconds is None and value < self.found[0].value:
            self.first_seconds = self._deadline.seconds
        self.found = [e for e in self.found if e.value < value or e.gb < gb]
        self.found.append(found)
        self.found.sort(key=lambda each: each.gb)
        return found

    def filled(self, kept: Ints) -> Ints | None:
        """Return a placement in which the items without a place have one; None if none is found."""
        fills = (self._seeker.filled(kept, OUT_OF_REACH, tightest) for tightest in (False, True))
        return next((fill for fill in fills if fill is not None), None)

    def best(self, budget_gb: float) -> Found | None:
        """Return the placement with the lowest value within a budget; None if there is none."""
        within = [each for each in self.found if each.gb <= budget_gb * JUST_ABOVE]
        return min(within, key=lambda each: (each.value, each.gb), default=None)

    def lightest(self, target: float) -> Found | None:
        """Return the placement that moves least among those within a target."""
        within = [each for each in self.found if each.value <= target * JUST_ABOVE]
        return min(within, key=lambda each: each.gb, default=None)

    def lower_value(self, budget_gb: float, floor: float, seconds: float) -> None:
        """Look for lower values within a budget.

        Parameters
        ----------
        budget_gb
            What may be moved.
        floor
            A value that nobody is below; the search ends there.
        seconds
            How long to search.
        """
        deadline = self._deadline.part(seconds)
        cut, steps, tired = FIRST_CUT, float(FEWEST_STEPS), 0
        best = self.best(budget_gb)
        while best is not None and lower(floor, best.value) and tired < PATIENCE:
            if deadline.over:
                return
            target = max(best.value * (1.0 - cut), floor) if best.value < inf else 1e300
            if self._sought(best.gpu_of, target, budget_gb, int(steps)):
                best = self.best(budget_gb)
                continue
            tired += cut <= LEAST_CUT
            cut, steps = max(cut / SHORTER, LEAST_CUT), min(steps * GROWTH, MOST_STEPS)

    def lower_gb(self, target: float, least_gb: float, seconds: float) -> None:
        """Look for placements that move less, within a target.

        Parameters
        ----------
        target
            The value that may not be exceeded.
        least_gb
            What any such placement moves; the search ends there.
        seconds
            How long to search.
        """
        deadline = self._deadline.part(seconds)
        cut, steps, tired = 3 * FIRST_CUT, float(FEWEST_STEPS), 0
        best = self.lightest(target)
        while best is not None and best.gb > least_gb * JUST_ABOVE and tired < PATIENCE:
            if deadline.over:
                return
            budget = max(best.gb * (1.0 - cut), least_gb)
            if self._sought(best.gpu_of, target * (1 + TIE / 2), budget, int(steps)):
                best = self.lightest(target)
                continue
            tired += cut <= 10 * LEAST_CUT
            cut, steps = max(cut / SHORTER, 10 * LEAST_CUT), min(steps * GROWTH, MOST_STEPS)

    def _sought(self, start: Ints, target: float, budget_gb: float, steps: int) -> bool:
        """Look for a placement within both limits, and keep it."""
        heat = float(self._rng.choice((0.01, 0.03, 0.1)))
        limits = (target, budget_gb * (1 + TIE / 2))
        found = self._seeker.refill(start, *limits, steps, heat)
        if found is None and (self._seeker.by_latency or steps < 2 * FEWEST_STEPS):
            found = self._seeker.seek(start, *limits, steps * SINGLE_MOVES, heat)
        if found is None:
            return False
        kept = self.offer(found)
        return kept.value <= target * JUST_ABOVE and kept.gb <= budget_gb * JUST_ABOVE
