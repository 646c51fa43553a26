"""Exact search by the resource that runs out first, as if that were memory.

Bin completion prunes by memory alone. Where another resource is nearly used up, such as the memory
for sizes and least caches together, it goes astray. Here that resource takes the place of memory.
"""

from math import inf

import numpy as np

from colocate.problem.instance import Instance, frozen
from colocate.problem.layout import NOWHERE, Layout, arrange, fits
from colocate.solver.construct.completion import Outcome
from colocate.solver.construct.exhaustive import search_fit


def search_scarcest(instance: Instance, layout: Layout, nodes: int) -> bool:
    """Fill the layout with any placement that fits; return whether one was found.

    A failure proves nothing.

    Parameters
    ----------
    instance, layout
        The problem, and the layout to fill.
    nodes
        The most nodes to visit.
    """
    scarce = _in_place_of_memory(instance)
    if scarce is None or search_fit(scarce, layout, inf, nodes).outcome is not Outcome.FOUND:
        return False
    arrange(instance, layout, layout.gpu_of.copy())
    gpus = range(len(instance.capacity))
    return all(fits(instance, layout, gpu, NOWHERE, NOWHERE) for gpu in gpus)


def _in_place_of_memory(instance: Instance) -> Instance | None:
    """Return the instance whose memory is the scarcest resource; None if memory is scarcer."""
    use, limit = instance.use.max(axis=0), instance.limit
    total = limit.sum(axis=0)
    limited = np.isfinite(total) & (total > 0.0)
    if not limited.any():
        return None
    shares = np.where(limited, use.sum(axis=0) / np.where(limited, total, 1.0), 0.0)
    column = int(shares.argmax())
    if shares[column] <= instance.size.sum() / instance.capacity.sum():
        return None
    size, capacity = use[:, column].copy(), limit[:, column].copy()
    return frozen(instance._replace(size=size, capacity=capacity))
