"""Vector fit: fill GPUs to a target one after the other where load has many windows.

The largest item left opens a GPU. Further items are drawn at random, and at every stage the item is
looked up that would best fill the busiest window. This is repeated many times, and the filling that
leaves least is kept. How much a window counts grows steeply with the load of the whole fleet in it.
Items that are placed already stay where they are.
"""

from typing import NamedTuple

import numpy as np

from colocate.problem.instance import Floats, Instance, Ints
from colocate.problem.kernel import entry_kernel, kernel, kernel_section, leaf_kernel
from colocate.problem.layout import NOWHERE, Layout, put
from colocate.problem.pressure import peak_load
from colocate.solver.construct.task import virtual_size

DRAWN = 4
"""Items drawn for every place; the one that leaves least is taken."""
LOOKED_AT = 128
"""The most items to look at for one that fills the rest."""
BLOCK = 16
"""Windows that are looked at together."""
SHARPNESS = 100
"""A window with a hundredth less load counts for about a third as much."""


class Pool(NamedTuple):
    """Items that are nowhere, in two orders."""

    items: Ints
    """The items that are left, in any order; behind them is garbage."""
    place: Ints
    """place[n]: where an item stands in `items`."""
    ranked: Ints
    """All items by their need in the busiest window, the least first."""
    rank: Ints
    """rank[n]: where an item stands in `ranked`."""
    least: Floats
    """least[r]: the need of the item of rank r in the busiest window."""
    mark: Ints
    """mark[n]: the number of the last filling that chose the item."""
    highest: Ints
    """highest[r + 1]: r + 1 if the item of rank r is left, else something lower; 0 ends the chain.
    """


class Room(NamedTuple):
    """What a GPU has left while it is being filled."""

    gpu: int
    target: float
    need: Floats
    """need[n, T]: what items need at the target, the busiest window of the whole fleet first."""
    left: Floats
    """By window in that order, and then by resource."""
    weight: Floats
    """How much each window counts, in that order."""
    order: Ints
    """The windows in that order."""


@leaf_kernel
def highest_left(pool: Pool, rank: int) -> int:
    """Return the highest rank, up to a given one, of an item that is left; NOWHERE if none is."""
    found = rank + 1
    while pool.highest[found] != found:
        found = pool.highest[found]
    # Path compression: whatever was passed on the way points to the answer from now on.
    passed = rank + 1
    while pool.highest[passed] != found:
        higher = passed
        passed = pool.highest[passed]
        pool.highest[higher] = found
    return found - 1


@leaf_kernel
def remove(pool: Pool, item: int, count: int) -> None:
    """Take an item out of the pool.

    Parameters
    ----------
    pool : the items that are left
    item : the item
    count : how many items are left afterwards
    """
    # The last item moves into the gap, so that the items left are a row to draw from.
    last = pool.items[count]
    pool.items[pool.place[item]] = last
    pool.place[last] = pool.place[item]
    pool.highest[pool.rank[item] + 1] = pool.rank[item]


@leaf_kernel
def look(instance: Instance, layout: Layout, room: Room) -> None:
    """Write down what a GPU has left.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    room : the GPU; its `left` is filled
    """
    gpu = room.gpu
    windows = room.weight.shape[0]
    for window in range(windows):
        free = instance.capacity[gpu] - layout.used[gpu]
        room.left[window] = room.target * free - layout.load[gpu, room.order[window]]
    for resource in range(instance.limit.shape[1]):
        room.left[windows + resource] = instance.limit[gpu, resource] - layout.use[gpu, resource]


@leaf_kernel
def occupy(instance: Instance, room: Room, item: int) -> None:
    """Take what an item needs from what is left.

    Parameters
    ----------
    instance, room, item : the problem as arrays, the GPU being filled, and an item
    """
    windows = room.weight.shape[0]
    for window in range(windows):
        room.left[window] -= room.need[item, window]
    for resource in range(instance.limit.shape[1]):
        room.left[windows + resource] -= instance.use[instance.kind[room.gpu], item, resource]


@leaf_kernel
def squares(room: Room) -> float:
    """Return the squares of what is left, each multiplied by how much its window counts."""
    total = 0.0
    for window in range(room.weight.shape[0]):
        total += room.weight[window] * room.left[window] * room.left[window]
    return total


@leaf_kernel
def squares_with(instance: Instance, room: Room, item: int) -> float:
    """Return the squares of what is left with one more item; infinite if it does not fit.

    Parameters
    ----------
    instance, room, item : the problem as arrays, the GPU being filled, and an item
    """
    windows = room.weight.shape[0]
    # Within a block there is no way out, so it becomes vector instructions.
    for block in range(windows // BLOCK):
        short = 0
        for window in range(block * BLOCK, block * BLOCK + BLOCK):
            short += room.left[window] < room.need[item, window]
        if short > 0:
            return np.inf
    for window in range(windows - windows % BLOCK, windows):
        if room.left[window] < room.need[item, window]:
            return np.inf
    for resource in range(instance.limit.shape[1]):
        used = instance.use[instance.kind[room.gpu], item, resource]
        if room.left[windows + resource] < used:
            return np.inf
    return _rest_squares(room, item)


@leaf_kernel
def _rest_squares(room: Room, item: int) -> float:
    """Return the squares of what is left with one more item that fits.

    Parameters
    ----------
    room, item : the GPU being filled, and the item
    """
    left, need, weight = room.left, room.need, room.weight
    first = second = third = fourth = 0.0
    windows = weight.shape[0]
    for block in range(windows // 4):
        place = 4 * block
        one, two = left[place] - need[item, place], left[place + 1] - need[item, place + 1]
        three = left[place + 2] - need[item, place + 2]
        four = left[place + 3] - need[item, place + 3]
        first += weight[place] * one * one
        second += weight[place + 1] * two * two
        third += weight[place + 2] * three * three
        fourth += weight[place + 3] * four * four
    total = (first + second) + (third + fourth)
    for window in range(windows - windows % 4, windows):
        rest = left[window] - need[item, window]
        total += weight[window] * rest * rest
    return total


@leaf_kernel
def filling_up(instance: Instance, room: Room, pool: Pool, number: int) -> tuple[int, float]:
    """Return the item that fits and best fills the busiest window, and what is left then.

    Parameters
    ----------
    instance : the problem as arrays
    room : the GPU that is being filled
    pool : the items that are left
    number : the number of this filling, which marks the items it has chosen
    """
    # Items are sorted by their need in the busiest window: the search starts at the largest that
    # fits there and goes down until one fits in all windows.
    most = np.searchsorted(pool.least, room.left[0], side="right")
    rank = highest_left(pool, most - 1)
    for _ in range(LOOKED_AT):
        if rank == NOWHERE:
            break
        item = pool.ranked[rank]
        left = squares_with(instance, room, item)
        if left < np.inf and pool.mark[item] != number:
            return item, left
        rank = highest_left(pool, rank - 1)
    return NOWHERE, np.inf


@kernel
def drawn(
    instance: Instance, room: Room, pool: Pool, count: int, number: int, rng: np.random.Generator
) -> int:
    """Return the best of a few items drawn at random; `NOWHERE` if none of them fits.

    Parameters
    ----------
    instance : the problem as arrays
    room : the GPU that is being filled
    pool, count : the items that are left, and how many
    number : the number of this filling, which marks the items it has chosen
    rng : the source of all random draws
    """
    best = NOWHERE
    least = np.inf
    for _ in range(DRAWN):
        item = pool.items[int(rng.random() * count)]
        left = squares_with(instance, room, item)
        if left < least and pool.mark[item] != number:
            best = item
            least = left
    return best


@kernel
def fill_room(
    instance: Instance,
    room: Room,
    first: int,
    pool: Pool,
    count: int,
    number: int,
    least: float,
    go: Ints,
    best: Ints,
    rng: np.random.Generator,
) -> tuple[int, float]:
    """Fill a GPU by chance; return how many items the best filling has, and what it leaves.

    The number of items is 0 if no filling leaves less than the least so far.

    Parameters
    ----------
    instance : the problem as arrays
    room : the GPU that is being filled
    first : the item to begin with, if it fits
    pool, count : the items that are left, and how many
    number : the number of this filling, a new one each time
    least : what the best filling so far leaves
    go : go[0] is 0 if the search should end
    best : filled with the items of a better filling, if there is one
    rng : the source of all random draws
    """
    found = 0
    length = 0
    tried = np.empty(count, np.int64)
    item = first
    if squares_with(instance, room, first) == np.inf:
        item = drawn(instance, room, pool, count, number, rng)
    while item != NOWHERE and go[0] != 0:
        tried[length] = item
        length += 1
        pool.mark[item] = number
        occupy(instance, room, item)
        # Every stage could be the last: the item that would fill the GPU best ends it on paper, and
        # the draw goes on without it.
        last, left = filling_up(instance, room, pool, number)
        if last == NOWHERE:
            left = squares(room)
        if left < least:
            least = left
            best[:length] = tried[:length]
            found = length
            if last != NOWHERE:
                best[length] = last
                found += 1
        item = drawn(instance, room, pool, count, number, rng)
    return found, least


@kernel_section
def make_pool(items: Ints, need: Floats) -> Pool:
    """Return a pool of some items, given the need of every item in the busiest window."""
    ranked = items[np.argsort(need[items], kind="mergesort")]
    place = np.empty(need.shape[0], np.int64)
    rank = np.empty(need.shape[0], np.int64)
    for number in range(items.shape[0]):
        place[items[number]] = number
        rank[ranked[number]] = number
    mark = np.zeros(need.shape[0], np.int64)
    below = np.arange(items.shape[0] + 1)
    return Pool(items.copy(), place, ranked, rank, need[ranked], mark, below)


@kernel_section
def needs(instance: Instance, target: float, order: Ints) -> Floats:
    """Return what all items need in every window.

    Parameters
    ----------
    instance : the problem as arrays
    target : the highest pressure allowed; infinite counts memory alone
    order : the windows in the order of the result
    """
    need = np.empty(instance.load.shape)
    for item in range(instance.load.shape[0]):
        for window in range(instance.load.shape[1]):
            need[item, window] = virtual_size(instance, item, order[window], target)
    return need


@kernel_section
def largest_first(instance: Instance, items: Ints, target: float) -> Ints:
    """Return items by their need in their own busiest window.

    Parameters
    ----------
    instance : the problem as arrays
    items : the items to sort
    target : the highest pressure allowed; infinite counts memory alone
    """
    need = np.empty(items.shape[0])
    for place in range(items.shape[0]):
        item = items[place]
        need[place] = -target * instance.size[item] - peak_load(instance.load, item)
    return items[np.argsort(need, kind="mergesort")]


@entry_kernel
def fill_vectors(
    instance: Instance,
    layout: Layout,
    row: Ints,
    target: float,
    rounds: int,
    rng: np.random.Generator,
) -> int:
    """Fill the GPUs of a row with items that are nowhere; return how many are left.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    row : the GPUs in the order in which they are filled
    target : the highest pressure allowed; infinite counts memory alone
    rounds : in how many ways each GPU is filled; the one that leaves least is kept
    rng : the source of all random draws
    """
    order = largest_first(instance, np.flatnonzero(layout.gpu_of == NOWHERE), target)
    count = order.shape[0]
    total = instance.load.sum(axis=0)
    windows = np.argsort(-total, kind="mergesort")
    # A window well below the busiest will hardly be the first to overflow.
    weight = (total[windows] / total[windows[0]]) ** SHARPNESS
    need = needs(instance, target, windows)
    pool = make_pool(order, need[:, 0])
    left = np.empty(instance.load.shape[1] + instance.limit.shape[1])
    best = np.empty(count + 1, np.int64)
    number = 0
    largest = 0
    for gpu in row:
        if count == 0 or layout.go[0] == 0:
            break
        # Items are sorted, and none comes back: this index never moves down.
        while layout.gpu_of[order[largest]] != NOWHERE:
            largest += 1
        room = Room(gpu, target, need, left, weight, windows)
        size = 0
        least = np.inf
        for _ in range(rounds):
            if layout.go[0] == 0:
                break
            look(instance, layout, room)
            number += 1
            found, least = fill_room(
                instance, room, order[largest], pool, count, number, least, layout.go, best, rng
            )
            if found > 0:
                size = found
        for item in best[:size]:
            put(instance, layout, item, gpu)
            count -= 1
            remove(pool, item, count)
    return int(count)
