"""Choose the GPU to relieve, and GPUs that could help."""

import numpy as np
from numpy.random import Generator

from colocate.problem.kernel import kernel
from colocate.problem.layout import NOWHERE, Layout
from colocate.problem.pressure import lower
from colocate.problem.tolerance import TIE


@kernel
def highest_gpu(layout: Layout) -> int:
    """Return the first GPU with the highest pressure."""
    best = 0
    for gpu in range(1, layout.pressure.shape[0]):
        if lower(layout.pressure[best], layout.pressure[gpu]):
            best = gpu
    return best


@kernel
def second_highest_gpu(layout: Layout, highest: int) -> int:
    """Return the first GPU with the highest pressure other than `highest`, or NOWHERE."""
    best = NOWHERE
    for gpu in range(layout.pressure.shape[0]):
        if gpu != highest and (
            best == NOWHERE or lower(layout.pressure[best], layout.pressure[gpu])
        ):
            best = gpu
    return best


@kernel
def lowest_other_gpu(layout: Layout, gpu: int) -> int:
    """Return the GPU with the lowest pressure other than `gpu`, or NOWHERE."""
    best = NOWHERE
    for other in range(layout.pressure.shape[0]):
        if other != gpu and (
            best == NOWHERE or lower(layout.pressure[other], layout.pressure[best])
        ):
            best = other
    return best


@kernel
def random_bottleneck(layout: Layout, share: float, rng: Generator) -> int:
    """Return a random GPU among those with at least `share` of the highest pressure.

    Parameters
    ----------
    layout : where every model is now
    share : the share of the highest pressure from which on a GPU counts
    rng : the source of all random draws
    """
    limit = layout.pressure.max()
    # An infinite peak times any share is infinite: only GPUs at infinity count then.
    if not np.isinf(limit):
        limit *= share * (1.0 - TIE)
    count = 0
    for value in layout.pressure:
        if value >= limit:
            count += 1
    # Two passes instead of a list of candidates, which would be allocated at every draw.
    pick = int(rng.random() * count)
    for gpu in range(layout.pressure.shape[0]):
        if layout.pressure[gpu] >= limit:
            if pick == 0:
                return gpu
            pick -= 1
    return 0
