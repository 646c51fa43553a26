"""Packing against a target: place every model so that no pressure exceeds K.

`pressure <= K` on a GPU is the same as `sum(load + K size) <= K capacity` in every window. So this
is bin packing with virtual sizes. At an infinite target only memory counts.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from colocate.problem.instance import Instance, Ints
from colocate.problem.kernel import kernel_section, leaf_kernel
from colocate.problem.layout import NOWHERE, Layout, clear, fits, put
from colocate.problem.pressure import lower, peak_load
from colocate.problem.tolerance import LONG_SUM, ROUNDING
from colocate.solver.construct.orders import Order


class Fit(IntEnum):
    """Which GPU with room a model takes."""

    FIRST = 0
    BEST = 1
    """The one with the least virtual capacity left afterwards."""


class Packing(NamedTuple):
    """An order and a fit: one way to pack."""

    fit: Fit
    order: Order


@leaf_kernel
def spare(instance: Instance, layout: Layout, gpu: int, target: float) -> float:
    """Return the virtual capacity that a GPU has left in its worst window.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    gpu : the GPU
    target : the highest pressure allowed; infinite counts memory alone
    """
    free = instance.capacity[gpu] - layout.used[gpu]
    return float(free if np.isinf(target) else target * free - peak_load(layout.load, gpu))


@leaf_kernel
def needs(instance: Instance, model: int, target: float) -> tuple[float, float]:
    """Return the virtual size of a model in its easiest and in its hardest window.

    Parameters
    ----------
    instance : the problem as arrays
    model : the model
    target : the highest pressure allowed; infinite counts memory alone
    """
    size = float(instance.size[model])
    if np.isinf(target):
        return size, size
    least = np.inf
    for window in range(instance.load.shape[1]):
        least = min(least, instance.load[model, window])
    return target * size + least, target * size + peak_load(instance.load, model)


@leaf_kernel
def leftover(instance: Instance, layout: Layout, gpu: int, model: int, target: float) -> float:
    """Return the virtual capacity left on a GPU once a model is there; negative means no room.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    gpu, model : where it would be, and what
    target : the highest pressure allowed; infinite counts memory alone
    """
    if not fits(instance, layout, gpu, NOWHERE, model):
        return -1.0
    capacity = float(instance.capacity[gpu])
    used = float(layout.used[gpu] + instance.size[model])
    if np.isinf(target):
        return max(capacity - used, 0.0)
    highest = 0.0
    for window in range(instance.load.shape[1]):
        highest = max(highest, float(layout.load[gpu, window] + instance.load[model, window]))
    least = target * (capacity - used) - highest
    # An excess by rounding alone counts as an exact fit.
    if least < 0.0 and least >= -ROUNDING * target * capacity:
        return 0.0
    return least


@kernel_section
def pack(instance: Instance, layout: Layout, models: Ints, fit: int, target: float) -> bool:
    """Fill an emptied layout in the order given; False if a model found no room at the target.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    models : the models in the order in which they are placed
    fit : which GPU is taken, one of `Fit`
    target : the highest pressure allowed; infinite counts memory alone
    """
    clear(layout)
    gpus = instance.capacity.shape[0]
    room = np.empty(gpus)
    for gpu in range(gpus):
        room[gpu] = spare(instance, layout, gpu, target)
    margin = LONG_SUM * room.max()
    for model in models:
        if layout.go[0] == 0:
            return False
        best = NOWHERE
        least = np.inf
        easiest, hardest = needs(instance, model, target)
        for gpu in range(gpus):
            # One comparison passes over GPUs that have too little room even for the easiest window,
            # or would leave no less than the best so far even in the hardest. The margin is for
            # rounding; `leftover` decides.
            if room[gpu] < easiest - margin or not lower(room[gpu] - hardest, least):
                continue
            left = leftover(instance, layout, gpu, model, target)
            if left >= 0.0 and (best == NOWHERE or lower(left, least)):
                best = gpu
                least = left
                if fit == Fit.FIRST:
                    break
        if best == NOWHERE:
            return False
        put(instance, layout, model, best)
        room[best] = spare(instance, layout, best, target)
    return True
