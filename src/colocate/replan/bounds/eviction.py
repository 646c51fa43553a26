"""What must leave its GPU before a value can be reached: a bound for every budget.

Whatever a placement looks like, some of the models that are on a GPU now are still there, and the
value of the GPU is at least that of these alone. All others have moved. So for a value below that
of a GPU as it is, at least the lightest set of models must move whose departure allows the value,
on each such GPU. If the sum of these sets exceeds a budget, no placement within it has the value.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf

from colocate.problem.tolerance import SAFE
from colocate.replan.search.eviction_sets import GpuEvictions, eviction_sets
from colocate.replan.search.group_values import GroupValues
from colocate.replan.search.item_homes import ItemHomes

Stair = tuple[tuple[float, float], ...]
"""For one GPU: the GB that leave it, rising, and the value that is left, falling."""


@dataclass(frozen=True)
class Evictions:
    """How much must move at least for each value.

    Parameters
    ----------
    forced_gb
        What any placement loads.
    stairs
        One for each GPU that has to be relieved.
    """

    forced_gb: float
    stairs: tuple[Stair, ...]

    def least_gb(self, value: float) -> float:
        """Return the least that a placement moves whose value is not above the given one."""
        return self.forced_gb + sum(_needed(stair, value) for stair in self.stairs)

    def least_value(self, budget_gb: float) -> float:
        """Return a value that no placement within a budget is below."""
        values = self._values
        if self.least_gb(0.0) <= budget_gb:
            return 0.0
        low, high = -1, len(values) - 1
        while high - low > 1:
            middle = (low + high) // 2
            if self.least_gb(values[middle]) <= budget_gb:
                high = middle
            else:
                low = middle
        return values[high] * SAFE if values[high] < inf else inf

    @cached_property
    def _values(self) -> list[float]:
        return sorted({value for stair in self.stairs for _, value in stair} | {inf})


def _needed(stair: Stair, value: float) -> float:
    return next((gb for gb, left in stair if left <= value), inf)


def evictions_of(homes: ItemHomes, values: GroupValues, floor: float) -> Evictions:
    """Find what must leave each GPU.

    Only models with one part count: parts of others may trade places.

    Parameters
    ----------
    homes, values
        The items and where they are now, and what groups of them come to.
    floor
        A value that nobody reaches below: no stair goes further down.
    """
    single = frozenset(
        number
        for number, item in enumerate(homes.reduction.items)
        if len(item.models) == 1 and item.models[0].parts == 1
    )
    gpus = eviction_sets(homes, values, floor, single)
    return Evictions(homes.forced_gb, tuple(tuple(_stair(gpu, floor)) for gpu in gpus))


def _stair(gpu: GpuEvictions, floor: float) -> Iterator[tuple[float, float]]:
    """Yield what leaves a GPU wherever that lowers what is left; below the floor, all is left."""
    lowest = inf
    for place, each in enumerate(gpu.sets):
        if each.left < lowest or place == 0:
            lowest = each.left
            yield each.gb, 0.0 if each.left <= floor else each.left
        if each.left <= floor:
            return
    if not gpu.complete:
        yield gpu.sets[-1].gb, 0.0
