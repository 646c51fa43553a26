"""What each item tolerates at a ratio, and what it adds to its neighbours, as tables.

An item waits for its neighbours with steps and with prefills, and the longer its own turns are, the
longer each of them waits. The tables know one delay for both, and a few lengths of turns. Both are
rounded down, so what they call impossible is impossible.
"""

from collections.abc import Callable
from math import inf
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from colocate.machine_code.entry import EntryKernel
from colocate.machine_code.marks import marked
from colocate.problem.checker.latency import (
    BESIDE_NUMBERS,
    COUNTS,
    beside_at,
    delay_by,
    own_turn,
    ratio_at,
)
from colocate.problem.checker.tolerance import BELOW

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Function = TypeVar("Function", bound=Callable[..., object])

LEVELS = 128
"""Delays at which it is tabled what an item adds; between two of them the lower one counts."""
STRIDE = 8
"""Levels in a row of delays; items are ordered by what they weigh for the delay that they add, once
for each row."""
ROWS = LEVELS // STRIDE
"""How many rows there are."""
LENGTHS = 6
"""Lengths of a neighbour's own turns for which that is tabled; the same holds for them."""
SWEEPS = 40
"""How often the members of an item pass on their delays; the sums only rise, so fewer are safe."""
DOUBLINGS, HALVINGS = 80, 60
"""Steps towards a tolerance: from a microsecond upwards, then between the last two."""
FIRST_DELAY = 2.0**-20
"""Seconds from which the search for a tolerance starts."""


def _part(function: Function) -> Function:
    return marked(function, _nrt=False)


@_part
def shortest_turn(engine: Floats, start: int, end: int, sharing: Floats) -> float:
    """Return the shortest turn of the engines of an item by themselves; infinite if none works.

    Parameters
    ----------
    engine, start, end : all engines, and which ones are the item's
    sharing : the constants of the way to share
    """
    shortest = inf
    for row in range(start, end):
        token = beside_at(engine[row], 0.0, sharing, BELOW)[0]
        step = own_turn(engine[row], token, sharing, False) * BELOW
        work = own_turn(engine[row], token, sharing, True) * BELOW
        if step > 0.0:
            shortest = min(shortest, step)
        if work > 0.0:
            shortest = min(shortest, work)
    return shortest


@_part
def delay_inside(
    states: Floats, row: int, members: int, delay: float, turn: float, sharing: Floats
) -> float:
    """Return the delay of a member of an item, with what the other members add.

    Parameters
    ----------
    states, row, members : what delays make of the members, which one, and how many there are
    delay : seconds that the item waits for items beside it
    turn : a length that no own turn is shorter than
    sharing : the constants of the way to share
    """
    for other in range(members):
        if other != row:
            delay += delay_by(states[other], turn, sharing)
    return delay * BELOW


@_part
def settle_item(
    engine: Floats, start: int, end: int, delay: float, sharing: Floats, turn: float, states: Floats
) -> None:
    """Write what a delay makes of the engines of an item, at least.

    Parameters
    ----------
    engine, start, end : all engines, and which ones are the item's
    delay : seconds that each turn of the item waits for items beside it
    sharing : the constants of the way to share
    turn : a length that no own turn is shorter than
    states : written here, a row for each engine of the item
    """
    members = end - start
    for row in range(members):
        for number in range(BESIDE_NUMBERS):
            states[row, number] = 0.0
    for _ in range(SWEEPS if members > 1 else 1):
        for row in range(members):
            here = delay_inside(states, row, members, delay, turn, sharing)
            found = beside_at(engine[start + row], here, sharing, BELOW)
            for number in range(BESIDE_NUMBERS):
                states[row, number] = found[number]


@_part
def misses(
    engine: Floats,
    start: int,
    end: int,
    delay: float,
    sharing: Floats,
    turn: float,
    states: Floats,
    ratio: float,
) -> bool:
    """Return whether an item is certain to have the ratio, or a higher one, at a delay.

    Parameters
    ----------
    engine, start, end, delay, sharing, turn, states : as `settle_item` takes them
    ratio : the ratio
    """
    settle_item(engine, start, end, delay, sharing, turn, states)
    for row in range(end - start):
        here = delay_inside(states, row, end - start, delay, turn, sharing)
        counts = engine[start + row, COUNTS] > 0.0
        if counts and ratio_at(engine[start + row], here, sharing, BELOW) >= ratio:
            return True
    return False


@_part
def _tolerance(
    engine: Floats,
    start: int,
    end: int,
    sharing: Floats,
    turn: float,
    states: Floats,
    ratio: float,
) -> float:
    """Return a delay at which an item misses a ratio, as short as possible."""
    if misses(engine, start, end, 0.0, sharing, turn, states, ratio):
        return 0.0
    low, high = 0.0, FIRST_DELAY
    for _ in range(DOUBLINGS):
        if misses(engine, start, end, high, sharing, turn, states, ratio):
            break
        low, high = high, 2.0 * high
    else:
        return inf
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        if misses(engine, start, end, middle, sharing, turn, states, ratio):
            high = middle
        else:
            low = middle
    return high


@EntryKernel
@marked
def item_turns(engine: Floats, first: Ints, sharing: Floats) -> Floats:
    """Return the shortest turn of every item by itself.

    Parameters
    ----------
    engine, first : all engines, and where those of an item begin
    sharing : the constants of the way to share
    """
    turns = np.empty(first.shape[0] - 1)
    for item in range(turns.shape[0]):
        turns[item] = shortest_turn(engine, first[item], first[item + 1], sharing)
    return turns


@EntryKernel
@marked
def item_tables(
    engine: Floats, first: Ints, sharing: Floats, lengths: Floats, ratio: float
) -> tuple[Floats, Floats, Floats]:
    """Return the tolerances of all items, a grid of delays, and what items add at each of them.

    Parameters
    ----------
    engine, first : all engines, and where those of an item begin
    sharing : the constants of the way to share
    lengths : of own turns, upwards
    ratio : the ratio
    """
    items = first.shape[0] - 1
    states = np.zeros((engine.shape[0] + 1, BESIDE_NUMBERS))
    tolerance = np.zeros(items)
    longest = 0.0
    for item in range(items):
        start, end = first[item], first[item + 1]
        tolerance[item] = _tolerance(engine, start, end, sharing, lengths[0], states, ratio)
        if tolerance[item] < inf:
            longest = max(longest, tolerance[item])
    grid = np.empty(LEVELS)
    for level in range(LEVELS):
        grid[level] = (level / (LEVELS - 1)) ** 2 * longest
    push = np.zeros((lengths.shape[0], items, LEVELS))
    for item in range(items):
        start, end = first[item], first[item + 1]
        for level in range(LEVELS):
            settle_item(engine, start, end, grid[level], sharing, lengths[0], states)
            for length in range(lengths.shape[0]):
                added = 0.0
                for row in range(end - start):
                    added += delay_by(states[row], lengths[length], sharing)
                push[length, item, level] = added * BELOW
    return tolerance, grid, push
