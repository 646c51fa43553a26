"""What each item tolerates at a ratio, and what it adds to its neighbours, as tables."""

from collections.abc import Callable
from math import inf
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from colocate.machine_code.entry import EntryKernel
from colocate.machine_code.marks import marked
from colocate.problem.checker.latency import COUNTS, beside, ratio_beside
from colocate.problem.checker.tolerance import BELOW

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Function = TypeVar("Function", bound=Callable[..., object])

LEVELS = 256
"""Delays at which it is tabled what an item adds; between two of them the lower one counts."""
SWEEPS = 40
"""How often the members of an item pass on their delays; the sums only rise, so fewer are safe."""
DOUBLINGS, HALVINGS = 80, 60
"""Steps towards a tolerance: from a microsecond upwards, then between the last two."""
FIRST_DELAY = 2.0**-20
"""Seconds from which the search for a tolerance starts."""


def _part(function: Function) -> Function:
    return marked(function, _nrt=False)


@_part
def added_by(
    engine: Floats, start: int, end: int, delay: float, sharing: Floats, added: Floats
) -> float:
    """Return the delay that the engines of an item add to others, at least.

    Parameters
    ----------
    engine, start, end : all engines, and which ones are the item's
    delay : seconds that each turn of the item waits for items beside it
    sharing : the constants of the way to share
    added : written here, by engine of the item: what each adds
    """
    if end == start + 1:
        added[0] = beside(engine[start], delay, sharing, BELOW)[3]
        return added[0]  # type: ignore[no-any-return]
    total = 0.0
    for row in range(end - start):
        added[row] = 0.0
    for _ in range(SWEEPS):
        total = 0.0
        for row in range(end - start):
            here = delay
            for other in range(end - start):
                if other != row:
                    here += added[other]
            added[row] = beside(engine[start + row], here * BELOW, sharing, BELOW)[3]
            total += added[row]
    return total * BELOW


@_part
def misses(
    engine: Floats,
    start: int,
    end: int,
    delay: float,
    sharing: Floats,
    added: Floats,
    ratio: float,
) -> bool:
    """Return whether an item is certain to have the ratio, or a higher one, at a delay.

    Parameters
    ----------
    engine, start, end, delay, sharing, added : as `added_by` takes them
    ratio : the ratio
    """
    if end > start + 1:
        added_by(engine, start, end, delay, sharing, added)
    for row in range(start, end):
        here = delay
        for other in range(start, end):
            if other != row:
                here += added[other - start]
        counts = engine[row, COUNTS] > 0.0
        if counts and ratio_beside(engine[row], here * BELOW, sharing, BELOW) >= ratio:
            return True
    return False


@EntryKernel
@marked
def item_tables(
    engine: Floats, first: Ints, sharing: Floats, ratio: float
) -> tuple[Floats, Floats, Floats]:
    """Return the tolerances of all items, a grid of delays, and what items add at each of them.

    Parameters
    ----------
    engine, first : all engines, and where those of an item begin
    sharing : the constants of the way to share
    ratio : the ratio
    """
    items = first.shape[0] - 1
    added = np.zeros(engine.shape[0] + 1)
    tolerance = np.zeros(items)
    longest = 0.0
    for item in range(items):
        start, end = first[item], first[item + 1]
        if misses(engine, start, end, 0.0, sharing, added, ratio):
            continue
        low, high = 0.0, FIRST_DELAY
        for _ in range(DOUBLINGS):
            if misses(engine, start, end, high, sharing, added, ratio):
                break
            low, high = high, 2.0 * high
        else:
            tolerance[item] = inf
            continue
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            if misses(engine, start, end, middle, sharing, added, ratio):
                high = middle
            else:
                low = middle
        tolerance[item] = high
        longest = max(longest, high)
    grid = np.empty(LEVELS)
    for level in range(LEVELS):
        grid[level] = (level / (LEVELS - 1)) ** 2 * longest
    push = np.empty((items, LEVELS))
    for item in range(items):
        for level in range(LEVELS):
            start, end = first[item], first[item + 1]
            push[item, level] = added_by(engine, start, end, grid[level], sharing, added)
    return tolerance, grid, push
