"""Filling: items one after the other, each on the GPU that costs least with it."""

import numpy as np

from colocate.problem.instance import Instance, Ints
from colocate.problem.kernel import entry_kernel, leaf_kernel
from colocate.problem.layout import NOWHERE, Layout, fits, put, take
from colocate.problem.pressure import lower
from colocate.solver.latency.engines import EngineTable, Rating
from colocate.solver.latency.joined import forget_noted, note_joined, rate_noted


@entry_kernel
def fill_cheaply(
    table: EngineTable, instance: Instance, layout: Layout, rating: Rating, order: Ints
) -> bool:
    """Place items that are nowhere, in an order; False if one fits nowhere.

    Parameters
    ----------
    table : the engines of all items
    instance, layout : the problem as arrays, and where every item is now
    rating : room to work in
    order : the items
    """
    for item in order:
        gpu = cheapest_gpu(table, instance, layout, rating, item)
        if gpu == NOWHERE:
            return False
        put(instance, layout, item, gpu)
    return True


@leaf_kernel
def cheapest_gpu(
    table: EngineTable, instance: Instance, layout: Layout, rating: Rating, item: int
) -> int:
    """Return the GPU that costs least with an item on it, `NOWHERE` if it fits on none.

    Parameters
    ----------
    table : the engines of all items
    instance, layout : the problem as arrays, and where every item is now
    rating : room to work in
    item : an item that is nowhere
    """
    best, least, limit = NOWHERE, np.inf, np.inf
    for gpu in range(rating.cost.shape[0]):
        if not fits(instance, layout, gpu, NOWHERE, item):
            continue
        put(instance, layout, item, gpu)
        note_joined(table, layout, rating, gpu)
        within = rate_noted(table, instance, layout, rating, limit)
        forget_noted(rating)
        take(instance, layout, item)
        if best == NOWHERE or (within and lower(rating.trial[gpu], least)):
            best, least = gpu, rating.trial[gpu]
            limit = least
    return best
