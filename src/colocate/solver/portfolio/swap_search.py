"""Swap search: pairs of GPUs give each other models, where load has many windows."""

from math import inf, isfinite

import numpy as np

from colocate.problem.instance import own_units
from colocate.problem.layout import arrange, empty_layout
from colocate.problem.reduction import Reduction
from colocate.solver.deadline import Deadline
from colocate.solver.improve.exchange import sorted_for_exchange, walk
from colocate.solver.plan import gap_between
from colocate.solver.progress import ItemProgress

LOOKS = 100_000
"""Exchanges that a step looks at: a millisecond or two."""
STEEPNESS = 8.0
"""A pressure at the bound costs this many times e less than one at the target."""
LEAST_POWER, MOST_POWER = 50.0, 2000.0
MOST_SHARE, LEAST_SHARE, PATIENCE = 4.0, 1.0, 0.98
"""Its share of the time after a success, its lowest one, and what is left of it after each failure.
"""


class SwapSearch:
    """Walk from the best placement on by exchanges of models between two GPUs.

    Parameters
    ----------
    reduction, deadline, seed
        As `Regrouping` takes them.
    """

    share, handicap = MOST_SHARE, 0.0

    def __init__(self, reduction: Reduction, deadline: Deadline, seed: int) -> None:
        self._instance, self._models = sorted_for_exchange(reduction.canonical)
        self._layout = empty_layout(self._instance, deadline.go)
        self._rng = np.random.default_rng(seed)
        self._lowest = np.empty(len(reduction.items), np.int64)
        self._value = self._target = inf
        size_unit, load_unit = own_units(reduction.instance)
        self._unit = load_unit / size_unit
        self.exhausted = len(reduction.whole.gpus) < 2

    def step(self, progress: ItemProgress) -> None:
        """Look at some thousand exchanges."""
        best, value = progress.best
        if not isfinite(value):
            self.exhausted = True
            return
        if value < self._value:
            arrange(self._instance, self._layout, best)
            self._value, self._target = value, inf
        gap = gap_between(value, progress.bound)
        power = min(max(STEEPNESS / gap, LEAST_POWER), MOST_POWER) if gap else MOST_POWER
        reached, self._target = walk(
            self._instance,
            self._layout,
            self._models,
            self._rng,
            progress.bound / self._unit,
            self._target,
            power,
            LOOKS,
            self._lowest,
        )
        if reached * self._unit < self._value:
            self._value = min(self._value, progress.offer(self._lowest, "exchanges"))
            self.share = MOST_SHARE
        else:
            self.share = max(self.share * PATIENCE, LEAST_SHARE)
