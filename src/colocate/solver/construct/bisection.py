"""Bisection on K: find the lowest target at which some packing succeeds."""

from typing import NamedTuple

import numpy as np

from colocate.problem.instance import Instance, Ints
from colocate.problem.kernel import entry_kernel, kernel, kernel_section
from colocate.problem.layout import Layout, arrange
from colocate.problem.tolerance import ROUNDING
from colocate.solver.construct.orders import Order, sorted_models
from colocate.solver.construct.packing import Packing, pack
from colocate.solver.construct.volume import volume_bound

DOUBLINGS = 60
"""After this many doublings from the volume bound, only memory counts."""


class Bisection(NamedTuple):
    """Halve the interval of K; a target is reachable if one of the packings reaches it.

    Packings are tried in turn until one succeeds. Of all placements seen, the one with the lowest
    true pressure is kept.
    """

    packings: tuple[Packing, ...]
    halvings: int = 50

    def construct(self, instance: Instance, layout: Layout) -> bool:
        """Fill the layout; False if no packing fits even by memory alone."""
        packings = np.array(self.packings, dtype=np.int64).reshape(-1, 2)
        return bisect(instance, layout, packings, self.halvings)


@kernel_section
def pack_by_any(instance: Instance, layout: Layout, packings: Ints, target: float) -> bool:
    """Try the packings in turn; True at the first that succeeds.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    packings : pairs of a fit and an order, as numbers
    target : the highest pressure allowed; infinite counts memory alone
    """
    for number in range(packings.shape[0]):
        order = packings[number, 1]
        # At an infinite target virtual sizes are infinite, so the order would be arbitrary.
        if np.isinf(target) and order == Order.VIRTUAL:
            order = np.int64(Order.SIZE)
        models = sorted_models(instance, order, target)
        if pack(instance, layout, models, packings[number, 0], target):
            return True
    return False


@kernel
def next_target(low: float, high: float, doublings: int) -> float:
    """Return the target to try next: twice the last until one was reached, then halfway.

    Parameters
    ----------
    low : the highest target that failed
    high : the lowest pressure reached; infinite if none was
    doublings : how often the target was doubled
    """
    if high < np.inf:
        return (low + high) / 2.0
    return low * 2.0 if doublings < DOUBLINGS else np.inf


@entry_kernel
def bisect(instance: Instance, layout: Layout, packings: Ints, halvings: int) -> bool:
    """Find a low reachable target by doubling up from the volume bound, then halving.

    Without load, or with no memory to spare for it, only memory counts.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    packings : pairs of a fit and an order, as numbers
    halvings : how often the interval is halved
    """
    low = volume_bound(instance)
    target = low if 0.0 < low < np.inf else np.inf
    low = 0.0
    high = np.inf
    doublings = 0
    halved = 0
    best = layout.gpu_of.copy()
    reached = False
    while halved <= halvings and low < high * (1.0 - ROUNDING):
        if pack_by_any(instance, layout, packings, target):
            best[:] = layout.gpu_of
            reached = True
            # The true pressure is often well below the target, which saves halvings.
            high = layout.pressure.max()
        elif layout.go[0] == 0:
            break
        # Not even memory alone fits, so no target will.
        elif np.isinf(target):
            return False
        else:
            low = target
        if np.isinf(target):
            break
        if high < np.inf:
            halved += 1
        doublings += 1
        target = next_target(low, high, doublings)
    if not reached:
        return False
    arrange(instance, layout, best)
    return True
