"""Tight fit: fill GPUs to a target one after the other, each with as little left as possible.

After minimum bin slack (Gupta and Ho, 1999): the largest item left opens a GPU. Then two items are
sought that fill it: a large one, and the one that fits best beside it. Large fleets have so many
items that hardly anything stays free. Items that are placed already stay where they are.
"""

import numpy as np

from colocate.problem.instance import Floats, Instance, Ints
from colocate.problem.kernel import entry_kernel, kernel_section, leaf_kernel
from colocate.problem.layout import NOWHERE, Layout, put
from colocate.problem.pressure import peak_load
from colocate.solver.construct.packing import leftover, spare

PAIRS = 60
"""How many items are tried as the larger of the last two."""
ENOUGH = 2e-5
"""The share of a GPU that may stay free without a further search."""


@leaf_kernel
def alive(before: Ints, place: int) -> int:
    """Return the last place up to this one whose item is still left; -1 if there is none."""
    root = place
    while root >= 0 and before[root] != root:
        root = before[root]
    # Path compression: later searches jump over items that are gone.
    while place >= 0 and place != root:
        following = before[place]
        before[place] = root
        place = following
    return int(root)


@kernel_section
def last_within(need: Floats, room: float) -> int:
    """Return the last place whose need fits in a room; -1 if there is none."""
    return int(np.searchsorted(need, room, side="right")) - 1


@leaf_kernel
def takes(instance: Instance, layout: Layout, gpu: int, item: int, target: float) -> bool:
    """Return whether a GPU can take an item at the target.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    gpu, item : where it would be, and what
    target : the highest pressure allowed; infinite counts memory alone
    """
    return leftover(instance, layout, gpu, item, target) >= 0.0


@leaf_kernel
def fill_one(
    instance: Instance,
    layout: Layout,
    gpu: int,
    target: float,
    order: Ints,
    need: Floats,
    before: Ints,
) -> None:
    """Fill a GPU with items that are left.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    gpu : the GPU
    target : the highest pressure allowed; infinite counts memory alone
    order : the items, those with the least need first
    need : need[r]: what the item at each place of `order` needs
    before : before[r]: r if that item is left, else a lower place to look at
    """
    enough = ENOUGH * target * instance.capacity[gpu]
    while True:
        room = spare(instance, layout, gpu, target)
        first = alive(before, last_within(need, room))
        while first >= 0 and not takes(instance, layout, gpu, order[first], target):
            first = alive(before, first - 1)
        if first < 0:
            return
        empty = layout.first[gpu] == NOWHERE
        # The largest item that fits is the fallback. A pair replaces it only if it fills the GPU
        # better; the first item of a GPU is always the largest one left.
        best, beside, least = first, -1, room - need[first]
        candidate = first
        for _ in range(0 if empty else PAIRS):
            if candidate < 0 or least <= enough:
                break
            rest = room - need[candidate]
            other = alive(before, min(last_within(need, rest), candidate - 1))
            if (
                other >= 0
                and rest - need[other] < least
                and takes(instance, layout, gpu, order[candidate], target)
            ):
                best, beside, least = candidate, other, rest - need[other]
            candidate = alive(before, candidate - 1)
        # No pair fills the GPU: take the largest alone and look for a pair again in what is left.
        if least > enough and not empty:
            best, beside = first, -1
        put(instance, layout, order[best], gpu)
        before[best] = best - 1
        if beside >= 0 and takes(instance, layout, gpu, order[beside], target):
            put(instance, layout, order[beside], gpu)
            before[beside] = beside - 1


@entry_kernel
def fill_tightly(instance: Instance, layout: Layout, row: Ints, target: float) -> int:
    """Fill the GPUs of a row with all items that are nowhere; return how many are left.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    row : the GPUs in the order in which they are filled
    target : the highest pressure allowed; infinite counts memory alone
    """
    count = 0
    for item in range(layout.gpu_of.shape[0]):
        if layout.gpu_of[item] == NOWHERE:
            count += 1
    items = np.empty(count, np.int64)
    needs = np.empty(count)
    count = 0
    for item in range(layout.gpu_of.shape[0]):
        if layout.gpu_of[item] == NOWHERE:
            items[count] = item
            needs[count] = target * instance.size[item] + peak_load(instance.load, item)
            count += 1
    rank = np.argsort(needs, kind="mergesort")
    order, need = items[rank], needs[rank]
    before = np.arange(count)
    for gpu in row:
        if layout.go[0] == 0:
            break
        fill_one(instance, layout, gpu, target, order, need, before)
    left = 0
    for place in range(count):
        if layout.gpu_of[order[place]] == NOWHERE:
            left += 1
    return left
