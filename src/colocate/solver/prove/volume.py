"""Bounds from sums alone: all load over all free memory, and one model on its best GPU."""

import numpy as np

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.instance import FIT, Instance
from colocate.problem.kernel import entry_kernel
from colocate.problem.reduction import Reduction

SAFE = 1.0 - 1e-12
"""A factor that outweighs the rounding of a sum of floats, so that bounds stay valid."""


@entry_kernel
def volume_bound(instance: Instance) -> float:
    """Return a pressure that no placement can be below.

    If every GPU had pressure at most K, then `sum(load) <= K (capacity - sum(size))` on each, and
    so over all of them together, in every window. Valid for unequal GPUs.
    """
    free = float(instance.capacity.sum() - instance.size.sum())
    highest = 0.0
    for window in range(instance.load.shape[1]):
        highest = max(highest, float(instance.load[:, window].sum()))
    if highest == 0.0:
        return 0.0
    # Load, but no memory to spare for it: no placement has a finite pressure.
    if free <= 0.0:
        return np.inf
    return highest / free


def prove_by_volume(instance: Instance) -> Certificate:
    """Bound the pressure by the sums of the busiest window. Valid for unequal GPUs."""
    loads = instance.load.sum(axis=0)
    window = int(loads.argmax())
    capacity, size = float(instance.capacity.sum()), float(instance.size.sum())
    free = max(capacity * (1.0 + FIT) - size, 0.0)
    # The two sums may cancel, so their rounding is added to the free memory.
    spread = (capacity + size) * 1e-14
    return Certificate(Proof.VOLUME, _finite(float(loads[window]) / (free + spread) * SAFE), window)


def prove_by_model(reduction: Reduction) -> Certificate:
    """Bound the pressure by that of one model alone on the largest GPU that it may be on."""
    instance = reduction.instance
    memory = reduction.largest_room * (1.0 + FIT)
    free = memory - instance.size + 1e-14 * memory
    with np.errstate(all="ignore"):
        alone = np.where(free > 0.0, instance.load.max(axis=1) / free, 0.0)
    item = int(alone.argmax())
    bound = _finite(float(alone[item]) * SAFE)
    return Certificate(Proof.MODEL, bound, model=reduction.items[item].models[0].name)


def _finite(bound: float) -> float:
    """Return a bound, or 0, which always holds, where the bound is too large for a float."""
    return bound if 0.0 <= bound < np.inf else 0.0
