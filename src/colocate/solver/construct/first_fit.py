"""First fit for fleets of any size: a tree finds the first GPU with room.

This packs at a target as `packing` does. GPUs stand in a row, smallest first. A binary tree over
the row knows the most room in every stretch of it, so a model finds the first GPU with room in a
few steps. Items with few open GPUs are packed first.
"""

from math import inf

import numpy as np

from colocate.problem.instance import Floats, Instance, Ints
from colocate.problem.kernel import entry_kernel, kernel_section
from colocate.problem.layout import Layout, arrange, clear, put
from colocate.problem.tolerance import LONG_SUM
from colocate.solver.construct.packing import leftover, needs, spare
from colocate.solver.construct.volume import volume_bound
from colocate.solver.deadline import Deadline

LADDER = (1.002, 1.01, 1.05, 1.2, 2.0, 8.0, 64.0, 1024.0)
"""Targets to try, as multiples of the volume bound; bisection follows the first one reached."""
HALVINGS = 8
"""Bisection steps after the ladder; eight leave less than half a percent of the interval."""
BISECTING = 0.1
"""The share of the time that bisection may take."""


def pack_first(instance: Instance, layout: Layout, deadline: Deadline) -> bool:
    """Fill the layout at the lowest target that first fit reaches; False if it reaches none.

    Parameters
    ----------
    instance, layout
        The problem as arrays, and the layout to fill.
    deadline
        When to stop.
    """
    lowest = volume_bound(instance)
    row = np.argsort(instance.capacity, kind="stable")
    if not 0.0 < lowest < inf:
        return fit_first(instance, layout, _order(instance, inf), row, inf)
    until = deadline.left * (1.0 - BISECTING)
    low, best = 1.0, layout.gpu_of
    high = 0.0
    for factor in (*LADDER, inf):
        if deadline.over:
            return False
        if fit_first(instance, layout, _order(instance, factor * lowest), row, factor * lowest):
            high, best = factor, layout.gpu_of.copy()
            break
        low = factor
    if high == 0.0:
        return False
    for _ in range(HALVINGS if high < inf else 0):
        if deadline.left < until:
            break
        middle = (low + high) / 2.0
        if fit_first(instance, layout, _order(instance, middle * lowest), row, middle * lowest):
            high, best = middle, layout.gpu_of.copy()
        else:
            low = middle
    arrange(instance, layout, best)
    return True


def _order(instance: Instance, target: float) -> Ints:
    """Return the items, those with the fewest open GPUs first, then by virtual size downwards."""
    rules = instance.rules
    need = instance.size if target == inf else instance.size + instance.load.max(axis=1) / target
    order: Ints = np.lexsort((-need, rules.open.sum(axis=1)[rules.pin]))
    return order


@kernel_section
def first_from(tree: Floats, start: int, least: float) -> int:
    """Return the first place at or after a start with enough room, or the end of the row.

    Parameters
    ----------
    tree : the tree: leaves from the middle on, each other node the most of its two children
    start : the first place to consider
    least : how much room is enough
    """
    half = int(tree.shape[0] // 2)
    node = int(start + half)
    # Climb to the next stretch on the right. A right child, which is odd, ends the stretch of its
    # parent, so that is passed over too. A power of two begins a level: the row has ended.
    while tree[node] < least:
        while node & 1:
            node >>= 1
            if node == 0:
                return half
        node += 1
        if node & (node - 1) == 0:
            return half
    while node < half:
        node *= 2
        if tree[node] < least:
            node += 1
    return node - half


@entry_kernel
def fit_first(instance: Instance, layout: Layout, order: Ints, row: Ints, target: float) -> bool:
    """Place items in an order, each on the first GPU of the row that can take it at the target.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    order : the items in the order in which they are placed
    row : the GPUs in the order in which they are tried
    target : the highest pressure allowed; infinite counts memory alone
    """
    clear(layout)
    gpus = row.shape[0]
    half = 1
    while half < gpus:
        half *= 2
    tree = np.full(2 * half, -np.inf)
    for place in range(gpus):
        tree[half + place] = spare(instance, layout, row[place], target)
    for node in range(half - 1, 0, -1):
        tree[node] = max(tree[2 * node], tree[2 * node + 1])
    # The tree only says where room may be, so it may err on the generous side; `leftover` decides.
    margin = LONG_SUM * tree[1]
    for item in order:
        if layout.go[0] == 0:
            return False
        easiest, _ = needs(instance, item, target)
        place = first_from(tree, 0, easiest - margin)
        while place < gpus and leftover(instance, layout, row[place], item, target) < 0.0:
            place = first_from(tree, place + 1, easiest - margin) if place + 1 < half else half
        if place >= gpus:
            return False
        put(instance, layout, item, row[place])
        node = half + place
        tree[node] = spare(instance, layout, row[place], target)
        # Only the path to the root changes, so an item costs a logarithm of the fleet.
        node //= 2
        while node > 0:
            tree[node] = max(tree[2 * node], tree[2 * node + 1])
            node //= 2
    return True
