"""The sets of items that could leave a GPU, the lightest first, and the value that they leave."""

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from colocate.replan.search.group_values import GroupValues
from colocate.replan.search.item_homes import ItemHomes

MOST_SETS = 2000
"""Sets that are tried for one GPU: all of them, for ten items."""
SPARE_SETS = 12
"""Sets that are tried beyond the first that leaves as little as anybody can ask for: where what
leaves finds no room, a heavier set may."""


class EvictionSet(NamedTuple):
    """Items that leave a GPU."""

    gb: float
    """Their weights."""
    left: float
    """The value of the GPU without them."""
    gone: frozenset[int]


class GpuEvictions(NamedTuple):
    """The sets that could leave one GPU, rising by their weights."""

    gpu: int
    sets: tuple[EvictionSet, ...]
    complete: bool
    """Whether every set of the listed weights is there, up to one that leaves the floor."""


def eviction_sets(
    homes: ItemHomes, values: GroupValues, floor: float, among: frozenset[int]
) -> tuple[GpuEvictions, ...]:
    """Return the sets that could leave each GPU whose value is above a floor.

    Parameters
    ----------
    homes
        The items, and where they are now.
    values
        The values of groups of items.
    floor
        A value that nobody reaches below.
    among
        The items that count; others are as if they were not there.
    """
    on_gpu: dict[int, list[int]] = {}
    for item, gpu in enumerate(homes.start.tolist()):
        if gpu >= 0 and item in among:
            on_gpu.setdefault(gpu, []).append(item)
    return tuple(
        _of_gpu(homes, values, floor, gpu, here)
        for gpu, here in on_gpu.items()
        if values.value(gpu, frozenset(here)) > floor
    )


def _of_gpu(
    homes: ItemHomes, values: GroupValues, floor: float, gpu: int, here: Sequence[int]
) -> GpuEvictions:
    rules = homes.reduction.instance.rules
    weights = homes.gb.max(axis=1)
    may_leave = [item for item in here if rules.open[rules.pin[item]].sum() > 1]
    may_leave.sort(key=lambda item: (weights[item], item))
    found: list[EvictionSet] = []
    whole, spare = frozenset(here), SPARE_SETS
    for gb, places in lightest_sets([float(weights[item]) for item in may_leave]):
        if len(found) >= MOST_SETS:
            return GpuEvictions(gpu, tuple(found), False)
        gone = frozenset(may_leave[place] for place in places)
        left = values.value(gpu, whole - gone)
        found.append(EvictionSet(gb, left, gone))
        spare -= left <= floor or spare < SPARE_SETS
        if spare < 0:
            break
    return GpuEvictions(gpu, tuple(found), True)


def lightest_sets(weights: Sequence[float]) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Yield the sets of some weights, rising by their sums, as places.

    Parameters
    ----------
    weights
        In rising order.
    """
    yield 0.0, ()
    heap: list[tuple[float, tuple[int, ...]]] = []
    if weights:
        heappush(heap, (weights[0], (0,)))
    while heap:
        total, places = heappop(heap)
        yield total, places
        last = places[-1]
        if last + 1 < len(weights):
            heappush(heap, (total + weights[last + 1], (*places, last + 1)))
            moved = total - weights[last] + weights[last + 1]
            heappush(heap, (moved, (*places[:-1], last + 1)))
