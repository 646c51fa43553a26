"""The search for the lowest value within a budget, and for the least budget at a value."""

from collections.abc import Callable
from itertools import islice, takewhile
from math import inf
from typing import NamedTuple

import numpy as np

from colocate.problem.instance import Ints
from colocate.problem.pressure import lower
from colocate.problem.tolerance import JUST_ABOVE, OUT_OF_REACH, TIE
from colocate.replan.search.item_homes import ItemHomes
from colocate.replan.search.seeker import MOST, Seeker
from colocate.replan.search.shard_seats import seats_elsewhere
from colocate.solver.deadline import Deadline

LEAST_CUT = 0.0005
"""The share of a value, or of what is moved, below which no gain is sought."""
WIDE, NARROW = 0.1, 0.02
"""The share within which a gain is sought: as long as every search succeeds, and later."""
FEWEST_STEPS, MOST_STEPS, GROWTH = 100, 20_000, 1.7
"""Steps of one search at first and at most, and by what they grow once no gain is left."""
SINGLE_MOVES = 40
"""Moves drawn by chance, where shards join GPUs, that take as long as one exchange."""
SEATS_TRIED = 4
"""Other seats of engines with shards from which a search goes on, those with the lowest values."""
PATIENCE = 12
"""Rounds without success after which the search ends."""


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
        """Keep a placement if no other is as good in both respects, up to rounding."""
        value = self._seeker.value(gpu_of)
        gb = self._moved_gb(gpu_of)
        found = Found(gpu_of.copy(), value, gb)
        if any(not lower(value, each.value) and each.gb <= gb for each in self.found):
            return found
        if self.found and self.first_seconds is None and value < self.found[0].value:
            self.first_seconds = self._deadline.seconds
        self.found = [e for e in self.found if lower(e.value, value) or e.gb < gb]
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
        best = self.best(budget_gb)
        halving = _Halving(floor, WIDE, NARROW)
        while best is not None and lower(floor, best.value) and not halving.tired:
            if deadline.over:
                return
            target = halving.between(best.value) if best.value < inf else MOST
            if self._sought(best.gpu_of, target, budget_gb, halving.steps):
                best = self.best(budget_gb)
            else:
                halving.missed(target)

    def move_shards(
        self, budget_gb: float, is_valid: Callable[[Ints], bool], seconds: float
    ) -> None:
        """Let engines with shards go elsewhere, one after the other, and search on from there.

        Parameters
        ----------
        budget_gb
            What may be moved.
        is_valid
            Says whether a placement keeps all rules.
        seconds
            How long to search.
        """
        deadline = self._deadline.part(seconds)
        best = self.best(budget_gb)
        while best is not None and best.value > 0.0 and not deadline.over:
            target = best.value * (1 - NARROW)
            for start in {id(each): each for each in (best, self.found[0])}.values():
                ways = self._with_other_seats(start, target, budget_gb, deadline)
                valid = (each for each in ways if not deadline.over and is_valid(each))
                for each in islice(valid, SEATS_TRIED):
                    self.offer(each)
                    self._sought(each, target, budget_gb, FEWEST_STEPS)
            last, best = best, self.best(budget_gb)
            if best is None or not lower(best.value, last.value):
                return

    def _with_other_seats(
        self, start: Found, target: float, budget_gb: float, deadline: Deadline
    ) -> list[Ints]:
        """Return placements in which one engine with shards is elsewhere, the best ones first.

        Parameters
        ----------
        start, target, budget_gb
            The placement to begin with, the value that is sought, and what may be moved.
        deadline
            When no further one is looked at.
        """
        now = self._seeker.values(start.gpu_of).copy()
        seats = seats_elsewhere(self.homes, start.gpu_of, now)
        looked_at = takewhile(lambda _: not deadline.over, seats)
        within = [each for each in looked_at if self._moved_gb(each) <= budget_gb * JUST_ABOVE]
        return sorted(within, key=lambda each: self._seeker.over(each, target))

    def _moved_gb(self, gpu_of: Ints) -> float:
        return self.homes.moved_gb(self.homes.reduction.placement(gpu_of))

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
        best = self.lightest(target)
        halving = _Halving(least_gb, 1.0, 3 * NARROW)
        while best is not None and best.gb > least_gb * JUST_ABOVE and not halving.tired:
            if deadline.over:
                return
            budget = halving.between(best.gb)
            if self._sought(best.gpu_of, target * (1 + TIE / 2), budget, halving.steps):
                best = self.lightest(target)
            else:
                halving.missed(budget)

    def _sought(self, start: Ints, target: float, budget_gb: float, steps: int) -> bool:
        """Look for a placement within both limits, and keep it."""
        heat = float(self._rng.choice((0.01, 0.03, 0.1)))
        many = steps * SINGLE_MOVES if self._seeker.draws else steps
        left = budget_gb - self._beyond_items(start)
        found = self._seeker.seek(start, target, left * (1 + TIE / 2), many, heat)
        if found is None:
            return False
        kept = self.offer(found)
        return kept.value <= target * JUST_ABOVE and kept.gb <= budget_gb * JUST_ABOVE

    def _beyond_items(self, start: Ints) -> float:
        """Return what a placement moves beyond its items: one shard elsewhere reloads them all."""
        if not self.homes.shard_groups:
            return 0.0
        return self._moved_gb(start) - float(self.homes.gb[np.arange(len(start)), start].sum())


class _Halving:
    """What to try next between the best so far and what was missed; again and longer at the end.

    Parameters
    ----------
    floor
        What nobody is below.
    wide, narrow
        The share within which something better is sought: while nothing was missed, and later.
    """

    def __init__(self, floor: float, wide: float, narrow: float) -> None:
        self._floor, self._wide, self._narrow = floor, wide, narrow
        self._low: float | None = None
        self._missed = False
        self._rounds, self._best_then = 0, inf
        self.steps = FEWEST_STEPS
        """How many exchanges the next search may make."""

    @property
    def tired(self) -> bool:
        """Whether many rounds brought nothing."""
        return self._rounds >= PATIENCE

    def between(self, best: float) -> float:
        """Return what to try next, given the best so far."""
        if self._low is None or best - self._low < best * LEAST_CUT:
            self._next_round(best)
        assert self._low is not None
        return (self._low + best) / 2

    def missed(self, tried: float) -> None:
        """Note that nothing was found within what was tried."""
        self._low, self._missed = tried, True

    def _next_round(self, best: float) -> None:
        width = self._narrow if self._missed else self._wide
        self._rounds = self._rounds + 1 if best >= self._best_then else 0
        if self._missed:
            self.steps = min(int(self.steps * GROWTH), MOST_STEPS)
        self._low, self._missed, self._best_then = max(self._floor, best * (1 - width)), False, best
