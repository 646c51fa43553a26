"""The lowest target worth a try: all load over all free memory."""

import numpy as np

from colocate.problem.instance import Instance
from colocate.problem.kernel import entry_kernel


@entry_kernel
def volume_bound(instance: Instance) -> float:
    """Return a pressure that no placement can be below.

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
