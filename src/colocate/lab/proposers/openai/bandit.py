"""Chooses which of several models to ask: the one that improves most for its cost."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, isfinite, log, sqrt
from typing import Self

import numpy as np

from colocate.errors import InputError, UnknownNameError

Reward = tuple[str, float, float]
"""The model that was asked, the improvement and the cost."""


@dataclass(frozen=True)
class TrackRecord:
    """The results of one model so far.

    Parameters
    ----------
    calls
        How often it was asked.
    improvement
        The total gain of all calls.
    cost
        The total cost of all calls.
    """

    calls: int = 0
    improvement: float = 0.0
    cost: float = 0.0

    @property
    def mean_improvement(self) -> float:
        """Improvement per call."""
        return self.improvement / self.calls

    @property
    def mean_cost(self) -> float:
        """Cost per call."""
        return self.cost / self.calls


class Bandit:
    """A choice among models that learns from the gain and cost of each call.

    This is UCB1 (Auer, Cesa-Bianchi and Fischer 2002), with the upper bound divided by the mean
    cost, as in i-UCB (Xia et al. 2017). Improvements are relative to the largest seen, so their
    scale does not matter. A free model counts as costing as much as the cheapest paid one; if all
    are free, only the improvement per call counts.

    Parameters
    ----------
    names
        The models, each once.
    """

    def __init__(self, names: Sequence[str]) -> None:
        if not names or len(set(names)) < len(names):
            found = ", ".join(names) or "none"
            raise InputError(f"the models are: {found}; there must be one at least, and each once")
        self._records = dict.fromkeys(names, TrackRecord())
        self._largest = 0.0

    @classmethod
    def replayed(cls, names: Sequence[str], rewards: Iterable[Reward]) -> Self:
        """Return the bandit that has seen these rewards, in order.

        It skips models that are not among the names, since the list may have changed.
        """
        bandit = cls(names)
        for name, improvement, cost in rewards:
            if name in names:
                bandit.reward(name, improvement, cost)
        return bandit

    @property
    def records(self) -> dict[str, TrackRecord]:
        """The results of each model so far."""
        return dict(self._records)

    def choose(self, rng: np.random.Generator) -> str:
        """Return the model to ask next: one never asked first; ties are broken at random."""
        indices = self._indices()
        highest = max(indices.values())
        best = [name for name, index in indices.items() if index == highest]
        return best[int(rng.integers(len(best)))]

    def reward(self, name: str, improvement: float, cost: float) -> None:
        """Learn the gain and the cost of a call.

        Parameters
        ----------
        name
            The model that was asked.
        improvement
            Fitness of the child less that of its parent; a worse child counts as no gain.
        cost
            In any currency, the same for all models.
        """
        if name not in self._records:
            raise UnknownNameError.among("model", name, self._records)
        if not isfinite(improvement):
            raise InputError.of(f"improvement of {name!r}", improvement, "a finite number")
        if not 0 <= cost < inf:
            raise InputError.of(f"cost of {name!r}", cost, "a finite number >= 0")
        gain = max(0.0, improvement)
        old = self._records[name]
        self._records[name] = TrackRecord(old.calls + 1, old.improvement + gain, old.cost + cost)
        self._largest = max(self._largest, gain)

    def _indices(self) -> dict[str, float]:
        """Return an optimistic gain per unit of cost for each model."""
        asked = [record for record in self._records.values() if record.calls]
        total = sum(record.calls for record in asked)
        cheapest = min((record.mean_cost for record in asked if record.cost > 0), default=1.0)
        scale = self._largest or 1.0

        def index(record: TrackRecord) -> float:
            if not record.calls:
                return inf
            hope = record.mean_improvement / scale + sqrt(2 * log(total) / record.calls)
            return hope * cheapest / max(cheapest, record.mean_cost)

        return {name: index(record) for name, record in self._records.items()}
