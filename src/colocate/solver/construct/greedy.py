"""Greedy construction: place one model after the other on the GPU with the lowest pressure."""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from colocate.problem.instance import Instance
from colocate.problem.kernel import entry_kernel, kernel_section
from colocate.problem.layout import NOWHERE, Layout, clear, fits, pressure_after, put
from colocate.problem.pressure import lower
from colocate.solver.construct.orders import Order, sorted_models


class Look(IntEnum):
    """Which pressure decides: that of the GPU now, or with the model on it."""

    CURRENT = 0
    RESULTING = 1


class Greedy(NamedTuple):
    """Place models in an order, each where the pressure, now or afterwards, is lowest."""

    order: Order
    look: Look

    def construct(self, instance: Instance, layout: Layout) -> bool:
        """Fill the layout; False if some model found no GPU with room."""
        return place_greedily(instance, layout, int(self.order), int(self.look))


@kernel_section
def lowest_gpu(instance: Instance, layout: Layout, model: int, look: int) -> int:
    """Return the GPU with room for the model that has the lowest pressure, or NOWHERE.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    model : the model to place
    look : the pressure that decides, one of `Look`
    """
    best = NOWHERE
    lowest = np.inf
    for gpu in range(instance.capacity.shape[0]):
        if not fits(instance, layout, gpu, NOWHERE, model):
            continue
        if look == Look.CURRENT:
            value = layout.pressure[gpu]
        else:
            value = pressure_after(instance, layout, gpu, NOWHERE, model)
        # Lower by more than rounding: ties go to the first GPU, whatever units the fleet is written
        # in.
        if best == NOWHERE or lower(value, lowest):
            lowest = value
            best = gpu
    return best


@entry_kernel
def place_greedily(instance: Instance, layout: Layout, order: int, look: int) -> bool:
    """Fill an emptied layout greedily; False if a model found no room.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    order : in which order models are placed, one of `Order`
    look : the pressure that decides, one of `Look`
    """
    clear(layout)
    for model in sorted_models(instance, order, 0.0):
        if layout.go[0] == 0:
            return False
        gpu = lowest_gpu(instance, layout, model, look)
        if gpu == NOWHERE:
            return False
        put(instance, layout, model, gpu)
    return True
