"""Putting items that have left their GPUs where they exceed a target least."""

from colocate.problem.instance import Instance, Ints
from colocate.problem.kernel import entry_kernel
from colocate.problem.layout import NOWHERE, Layout, fits, pressure_after, put
from colocate.replan.search.kernel.moving import over


@entry_kernel
def fill_within(
    instance: Instance, layout: Layout, items: Ints, target: float, tightest: bool
) -> bool:
    """Put items, one after the other, on GPUs; return whether all have found one.

    An item goes where the pressure stays within the target: where it comes closest, or where it
    stays lowest. Where it stays so nowhere, it goes where it exceeds the target least.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every other item is
    items : the items, in the order in which they are put
    target : the pressure that should not be exceeded
    tightest : whether a GPU is filled up before the next
    """
    for place in range(items.shape[0]):
        item, best, chosen = items[place], 0.0, NOWHERE
        for gpu in range(layout.pressure.shape[0]):
            if not fits(instance, layout, gpu, NOWHERE, item):
                continue
            after = pressure_after(instance, layout, gpu, NOWHERE, item)
            rank = over(after, target)
            if rank == 0.0:
                rank = -after if tightest else after
                rank = rank / (target + 1.0) - 2.0
            if chosen == NOWHERE or rank < best:
                best, chosen = rank, gpu
        if chosen == NOWHERE:
            return False
        put(instance, layout, item, chosen)
    return True
