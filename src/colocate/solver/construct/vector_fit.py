"""Vector fit: GPUs are filled to a target one after the other where load has many windows.

The largest item left opens a GPU. Then, of a few drawn at random, the one is added that leaves the
shortest vector of what is left in all windows: an item that is busy when the others are not. After
the norm-based greedy of Panigrahy and others (Heuristics for vector bin packing, 2011). What is
placed already stays where it is.
"""

import numpy as np

from colocate.problem.instance import Floats, Instance, Ints
from colocate.problem.kernel import entry_kernel, leaf_kernel
from colocate.problem.layout import NOWHERE, Layout, put
from colocate.problem.pressure import peak_load
from colocate.solver.construct.packing import leftover

SAMPLE = 96
"""Items drawn for every place."""


@leaf_kernel
def squares_left(instance: Instance, layout: Layout, gpu: int, item: int, target: float) -> float:
    """Return the sum over windows of the squares of what a GPU has left with an item on it."""
    free = target * (instance.capacity[gpu] - layout.used[gpu] - instance.size[item])
    total = 0.0
    for window in range(instance.load.shape[1]):
        left = free - layout.load[gpu, window] - instance.load[item, window]
        total += left * left
    return total


@leaf_kernel
def best_drawn(
    instance: Instance, layout: Layout, gpu: int, target: float, pool: Ints, count: int, draws: Ints
) -> int:
    """Return the place in the pool of the item that leaves least, or -1 if none drawn fits."""
    best = -1
    least = np.inf
    for draw in draws:
        place = draw % count
        item = pool[place]
        squares = squares_left(instance, layout, gpu, item, target)
        if squares < least and leftover(instance, layout, gpu, item, target) >= 0.0:
            best = place
            least = squares
    return best


@entry_kernel
def fill_vectors(
    instance: Instance, layout: Layout, row: Ints, target: float, rng: np.random.Generator
) -> int:
    """Fill the GPUs of a row with items that are nowhere; return how many are left."""
    waiting = np.flatnonzero(layout.gpu_of == NOWHERE)
    needs: Floats = np.empty(waiting.shape[0])
    for place in range(waiting.shape[0]):
        item = waiting[place]
        needs[place] = -target * instance.size[item] - peak_load(instance.load, item)
    largest_first = waiting[np.argsort(needs, kind="mergesort")]
    pool = largest_first.copy()
    where = np.empty(layout.gpu_of.shape[0], np.int64)
    for place in range(pool.shape[0]):
        where[pool[place]] = place
    count = pool.shape[0]
    largest = 0
    for gpu in row:
        if count == 0 or layout.go[0] == 0:
            break
        while layout.gpu_of[largest_first[largest]] != NOWHERE:
            largest += 1
        place = where[largest_first[largest]]
        if leftover(instance, layout, gpu, pool[place], target) < 0.0:
            place = -2
        while place != -1 and count > 0:
            if place >= 0:
                put(instance, layout, pool[place], gpu)
                count -= 1
                pool[place] = pool[count]
                where[pool[place]] = place
            if count > 0:
                draws = rng.integers(0, 1 << 40, SAMPLE)
                place = best_drawn(instance, layout, gpu, target, pool, count, draws)
    return int(count)
