"""Exchanges: an item goes to another GPU, alone or for one that is there."""

from colocate.problem.instance import Instance
from colocate.problem.kernel import leaf_kernel
from colocate.problem.layout import NOWHERE, Layout, fits, move, swap


@leaf_kernel
def can_exchange(instance: Instance, layout: Layout, item: int, other: int, goal: int) -> bool:
    """Return whether an item can go to a GPU, for another one there if that is one.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every item is
    item, goal : the item, and the GPU that it goes to
    other : an item on that GPU, or `NOWHERE`
    """
    here = layout.gpu_of[item]
    if goal == here or not fits(instance, layout, goal, other, item):
        return False
    return other == NOWHERE or fits(instance, layout, here, item, other)


@leaf_kernel
def exchange(instance: Instance, layout: Layout, item: int, other: int, goal: int) -> None:
    """Let an item go to a GPU, for another one there if that is one.

    With the GPU where it was as the goal, that undoes itself.

    Parameters
    ----------
    instance, layout, item, other, goal : as `can_exchange` takes them
    """
    if other != NOWHERE:
        swap(instance, layout, item, other)
    else:
        move(instance, layout, item, goal)
