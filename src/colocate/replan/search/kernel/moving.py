"""What moving items means, and what is sought, for the kernels of a replan."""

from typing import NamedTuple

from colocate.problem.instance import Bools, Floats, Ints
from colocate.problem.kernel import leaf_kernel
from colocate.problem.layout import NOWHERE

MOST_OVER = 10.0
"""The most that one GPU counts, as a share of the target: as much as ten models too many."""


class MovingItems(NamedTuple):
    """What moving n items to g GPUs means."""

    gb: Floats
    """gb[n, g]: weights to load for an item on a GPU."""
    home: Ints
    """home[n]: where an item is now, or `NOWHERE`."""
    free: Ints
    """The items that may move one by one."""
    movable: Bools
    """movable[n]: the same for every item."""
    usual_gb: float
    """The weights of a usual item."""


class SoughtLimits(NamedTuple):
    """What is sought, and how long."""

    target: float
    budget_gb: float
    hot: float
    cold: float
    steps: int


@leaf_kernel
def over(value: float, target: float) -> float:
    """Return the share by which the value of a GPU exceeds a target."""
    if value <= target:
        return 0.0
    return min(value / target - 1.0, MOST_OVER) if target > 0.0 else MOST_OVER


@leaf_kernel
def moved_gb(moving: MovingItems, gpu_of: Ints) -> float:
    """Return the weights that a placement of the items loads."""
    total = 0.0
    for item in range(gpu_of.shape[0]):
        total += moving.gb[item, gpu_of[item]]
    return total


@leaf_kernel
def gb_after(
    moving: MovingItems, gpu_of: Ints, gb: float, item: int, other: int, goal: int
) -> float:
    """Return what is moved after an exchange.

    Parameters
    ----------
    moving, gpu_of : what moving means, and where every item is
    gb : what is moved before
    item, other, goal : as `drawn` returns them
    """
    here = gpu_of[item]
    after = gb + moving.gb[item, goal] - moving.gb[item, here]
    if other != NOWHERE:
        after += moving.gb[other, here] - moving.gb[other, goal]
    return float(after)
