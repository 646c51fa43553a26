"""Smoothing: lower the sum of squared pressures without raising the peak of any two GPUs."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from colocate.problem.instance import Instance
from colocate.problem.kernel import entry_kernel, leaf_kernel
from colocate.problem.layout import (
    NOWHERE,
    Layout,
    fits,
    move,
    pressure_after,
    swap,
)
from colocate.problem.pressure import lower

PASSES = 20
"""The most passes over all pairs of GPUs; a pass without a change is the last."""


class Smoothing(NamedTuple):
    """Move or swap models between two GPUs at a time while that makes them more alike."""

    passes: int = PASSES

    def improve(self, instance: Instance, layout: Layout, rng: Generator) -> None:
        """Smooth the layout in place; its peak never rises."""
        smooth(instance, layout, self.passes)


@leaf_kernel
def smoother(
    instance: Instance, layout: Layout, model: int, source: int, gpu: int, other: int
) -> bool:
    """Return whether moving a model, in exchange for another or for none, smooths two GPUs.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    model : the model that moves
    source, gpu : where it is, and where it goes
    other : the model that comes back for it, or `NOWHERE`
    """
    if not fits(instance, layout, gpu, other, model):
        return False
    if other != NOWHERE and not fits(instance, layout, source, model, other):
        return False
    here = pressure_after(instance, layout, source, model, other)
    there = pressure_after(instance, layout, gpu, other, model)
    before = layout.pressure[source] ** 2 + layout.pressure[gpu] ** 2
    highest = max(layout.pressure[source], layout.pressure[gpu])
    # A strict fall of the squares by more than rounding: so the loop of changes must end.
    return max(here, there) <= highest and lower(here**2 + there**2, before)


@leaf_kernel
def smooth_pair(instance: Instance, layout: Layout, source: int, gpu: int) -> bool:
    """Make the first change between two GPUs that smooths them; False if there is none.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    source, gpu : the GPU with the higher pressure, and the other one
    """
    model = layout.first[source]
    while model != NOWHERE:
        if smoother(instance, layout, model, source, gpu, NOWHERE):
            move(instance, layout, model, gpu)
            return True
        other = layout.first[gpu]
        while other != NOWHERE:
            if smoother(instance, layout, model, source, gpu, other):
                swap(instance, layout, model, other)
                return True
            other = layout.after[other]
        model = layout.after[model]
    return False


@entry_kernel
def smooth(instance: Instance, layout: Layout, passes: int) -> None:
    """Go through all pairs of GPUs until nothing changes, or the passes are used up.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    passes : the most passes over all pairs
    """
    gpus = layout.pressure.shape[0]
    # Squares of infinite pressures cannot be compared.
    if np.isinf(layout.pressure.max()):
        return
    for _ in range(passes):
        changed = False
        for source in range(gpus):
            if layout.go[0] == 0:
                return
            for gpu in range(gpus):
                # From the higher GPU to the lower: the other way would only make them more unlike.
                if source != gpu and layout.pressure[source] > layout.pressure[gpu]:
                    while smooth_pair(instance, layout, source, gpu):
                        changed = True
        if not changed:
            return
