"""The orders in which models are placed, all descending; ties keep the given order."""

from enum import IntEnum

import numpy as np

from colocate.problem.instance import Floats, Instance, Ints
from colocate.problem.kernel import kernel
from colocate.problem.pressure import peak_load


class Order(IntEnum):
    """What models are sorted by."""

    LOAD = 0
    LOAD_THEN_SIZE = 1
    SIZE = 2
    SIZE_THEN_LOAD = 3
    VIRTUAL = 4
    """Virtual size `load + K size`: how much of a GPU the model takes at the target pressure K."""
    DENSITY = 5
    """Load per size, computed as load / (load + size), which sorts the same way."""


GRID = 2.0**31
"""Steps between 0 and the largest key; keys within one step differ by rounding alone."""


@kernel
def steps(value: float, largest: float) -> int:
    """Return the key `value` as a number of steps on the grid."""
    return int(np.rint(value / largest * GRID)) if largest > 0.0 else 0


@kernel
def descending(first: Floats, second: Floats) -> Ints:
    """Return the indices that sort by two keys downwards; ties keep their order."""
    keys = np.empty(first.shape[0], np.int64)
    if keys.shape[0] == 0:
        return keys
    most, second_most = first.max(), second.max()
    for place in range(keys.shape[0]):
        major = steps(first[place], most)
        # Both keys in one whole number: sorting is exact and stable, and keys that differ by
        # rounding alone tie, in any units.
        keys[place] = -(major << 31) - steps(second[place], second_most)
    return np.argsort(keys, kind="mergesort")


@kernel
def sorted_models(instance: Instance, order: int, target: float) -> Ints:
    """Return all models in an order; `target` is the K of the virtual size.

    Parameters
    ----------
    instance : the problem as arrays
    order : what they are sorted by, one of `Order`
    target : the K of the virtual size `load + K size`
    """
    first = np.zeros(instance.size.shape[0])
    second = np.zeros(instance.size.shape[0])
    for model in range(first.shape[0]):
        size = instance.size[model]
        load = peak_load(instance.load, model)
        if order == Order.LOAD or order == Order.LOAD_THEN_SIZE:
            first[model] = load
        elif order == Order.VIRTUAL:
            first[model] = load + target * size
        elif order == Order.SIZE or order == Order.SIZE_THEN_LOAD:
            first[model] = size
        elif load > 0.0:
            first[model] = load / (load + size)
        if order == Order.LOAD_THEN_SIZE:
            second[model] = size
        elif order == Order.SIZE_THEN_LOAD:
            second[model] = load
    return descending(first, second)
