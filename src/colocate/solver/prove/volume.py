"""Bounds from sums alone: all load over all free memory, and one model on its best GPU."""

import numpy as np

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.instance import Instance
from colocate.problem.reduction import Reduction
from colocate.problem.tolerance import FIT, LAST_BITS, SAFE


def prove_by_volume(instance: Instance) -> Certificate:
    """Bound the pressure by the sums of the busiest window. Valid for unequal GPUs."""
    loads = instance.load.sum(axis=0)
    window = int(loads.argmax())
    capacity, size = float(instance.capacity.sum()), float(instance.size.sum())
    free = max(capacity * (1.0 + FIT) - size, 0.0)
    # The two sums may cancel, so their rounding is added to the free memory.
    spread = (capacity + size) * LAST_BITS
    return Certificate(Proof.VOLUME, _finite(float(loads[window]) / (free + spread) * SAFE), window)


def prove_by_model(reduction: Reduction) -> Certificate:
    """Bound the pressure by that of one model alone on the largest GPU that it may be on."""
    instance = reduction.instance
    memory = reduction.largest_room * (1.0 + FIT)
    free = memory - instance.size + LAST_BITS * memory
    with np.errstate(all="ignore"):
        alone = np.where(free > 0.0, instance.load.max(axis=1) / free, 0.0)
    item = int(alone.argmax())
    bound = _finite(float(alone[item]) * SAFE)
    return Certificate(Proof.MODEL, bound, model=reduction.items[item].models[0].name)


def _finite(bound: float) -> float:
    """Return a bound, or 0, which always holds, where the bound is too large for a float."""
    return bound if 0.0 <= bound < np.inf else 0.0
