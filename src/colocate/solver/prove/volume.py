"""Bounds from sums alone: all load over all free memory, and one model on its best GPU."""

import numpy as np

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.instance import FIT, Floats, Instance
from colocate.problem.kernel import entry_kernel
from colocate.problem.parts import Parts

SAFE = 1.0 - 1e-12
"""What a sum in floating point may be off by."""


@entry_kernel
def volume_bound(instance: Instance) -> float:
    """Return a pressure below which no placement can be, whatever it is.

    If every GPU had pressure at most K, then `sum(load) <= K (capacity - sum(size))` on each,
    and so over all of them together, in every window. Valid for unequal GPUs.
    """
    free = float(instance.capacity.sum() - instance.size.sum())
    highest = 0.0
    for window in range(instance.load.shape[1]):
        highest = max(highest, float(instance.load[:, window].sum()))
    if highest == 0.0:
        return 0.0
    if free <= 0.0:
        return np.inf
    return highest / free


def prove_by_volume(instance: Instance) -> Certificate:
    """Bound the pressure by the sums of the busiest window. Valid for unequal GPUs."""
    window = int(instance.load.sum(axis=0).argmax())
    load = float(instance.load[:, window].sum())
    free = max(float(instance.capacity.sum() * (1.0 + FIT) - instance.size.sum()), 0.0)
    spread = float(instance.capacity.sum() + instance.size.sum()) * 1e-14
    return Certificate(Proof.VOLUME, _finite(load / (free + spread) * SAFE), window)


def prove_by_model(parts: Parts) -> Certificate:
    """Bound the pressure by that of one model alone on the largest GPU that it may be on."""
    instance = parts.instance
    memory = _largest_rooms(parts) * (1.0 + FIT)
    free = memory - instance.size + 1e-14 * memory
    with np.errstate(all="ignore"):
        alone = np.where(free > 0.0, instance.load.max(axis=1) / free, 0.0)
    item = int(alone.argmax())
    bound = _finite(float(alone[item]) * SAFE)
    return Certificate(Proof.MODEL, bound, model=parts.items[item].models[0].name)


def _largest_rooms(parts: Parts) -> Floats:
    """Return for every item the memory of the largest GPU that it may be on by itself."""
    instance, rules = parts.instance, parts.instance.rules
    largest = np.zeros(len(instance.size))
    for gpu in parts.sorts:
        use = instance.use[instance.kind[gpu]]
        open_here = (use <= instance.limit[gpu] * (1.0 + 2.0 * FIT)).all(axis=1)
        open_here &= rules.open[rules.pin, gpu]
        largest[open_here & (largest == 0.0)] = instance.capacity[gpu]
        if largest.all():
            break
    return largest


def _finite(bound: float) -> float:
    """Return a bound, and 0, which always holds, where it is too large for a float."""
    return bound if 0.0 <= bound < np.inf else 0.0
