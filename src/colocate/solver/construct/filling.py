"""Filling: place one item after the other on the GPU that keeps the most of its scarcest resource.

This is the rule of Graham for parallel machines (1969) on virtual sizes, for fleets of any size and
with all rules. Items that are hard to place go first: those with few open GPUs, then shard groups,
then the largest. A shard group goes to the node whose GPUs keep the most. If load has windows or
other resources are limited, a few random GPUs compete with the one that has the most left.
"""

import numpy as np

from colocate.problem.instance import Floats, Instance, Ints
from colocate.problem.kernel import entry_kernel, kernel, kernel_section, leaf_kernel
from colocate.problem.layout import NOWHERE, Layout, empty, fits, node_count, put
from colocate.problem.pressure import peak_load
from colocate.problem.rules import BY_NODE, FIRST, PIN, SHARD_GROUP
from colocate.solver.construct.tournament import replay, tournament
from colocate.solver.construct.volume import volume_bound

RIVALS = 24
"""How many random GPUs compete for an item."""
WORST = -np.inf


def filling_order(instance: Instance, target: float) -> Ints:
    """Return the items in the order in which they are placed, one for each shard group."""
    rules = instance.rules
    need = (instance.load.max(axis=1) + target * instance.size) / (target * instance.capacity.max())
    for column in range(instance.limit.shape[1]):
        limit = instance.limit[:, column]
        highest = limit[np.isfinite(limit)].max(initial=0.0)
        if highest > 0.0:
            need = np.maximum(need, instance.use[:, :, column].max(axis=0) / highest)
    gpus_open = rules.open.sum(axis=1)[rules.pin]
    in_shard_group = rules.shard_group >= 0
    first = np.ones(len(need), np.bool_)
    first[1:] = ~in_shard_group[1:] | (rules.shard_group[1:] != rules.shard_group[:-1])
    order = np.lexsort((-need, ~in_shard_group, gpus_open))
    return order[first[order]].astype(np.int64)


@leaf_kernel
def share_left(instance: Instance, layout: Layout, gpu: int, item: int, target: float) -> float:
    """Return the share that a GPU has left of whatever it has least of.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    gpu : the GPU
    item : an item that is counted as if it were there, or `NOWHERE`
    target : the highest pressure allowed; infinite counts memory alone
    """
    capacity = instance.capacity[gpu]
    free = capacity - layout.used[gpu]
    if item != NOWHERE:
        free -= instance.size[item]
        highest = 0.0
        for window in range(instance.load.shape[1]):
            highest = max(highest, layout.load[gpu, window] + instance.load[item, window])
    else:
        highest = peak_load(layout.load, gpu)
    least = float((free - highest / target) / capacity)
    for resource in range(instance.limit.shape[1]):
        limit = instance.limit[gpu, resource]
        if limit > 0.0 and limit < np.inf:
            use = layout.use[gpu, resource]
            if item != NOWHERE:
                use += instance.use[instance.kind[gpu], item, resource]
            least = min(least, 1.0 - use / limit)
    return least


@kernel_section
def best_gpu(
    instance: Instance,
    layout: Layout,
    item: int,
    target: float,
    winner: int,
    rng: np.random.Generator,
) -> int:
    """Return the GPU that keeps the most: the best of a few, or of all if none of those fits.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    item : the item to place
    target : the highest pressure allowed; infinite counts memory alone
    winner : the GPU that has the most left now
    rng : the source of all random draws
    """
    gpus = instance.capacity.shape[0]
    best = NOWHERE
    most = WORST
    if instance.rules.item[item, PIN] == 0:
        # With one window and no resources, an item takes the same from equal GPUs, so the one with
        # the most left wins. Otherwise it may suit another GPU better, and a few compete.
        rivals = RIVALS if instance.load.shape[1] + instance.limit.shape[1] > 1 else 0
        for number in range(rivals + 1):
            gpu = winner if number == 0 else int(rng.random() * gpus)
            if fits(instance, layout, gpu, NOWHERE, item):
                left = share_left(instance, layout, gpu, item, target)
                if left > most:
                    best = gpu
                    most = left
    if best != NOWHERE:
        return best
    # None of the few fits, or the item is pinned: look at all GPUs that are open to it.
    rules = instance.rules
    for gpu in range(gpus):
        if rules.open[rules.item[item, PIN], gpu] and fits(instance, layout, gpu, NOWHERE, item):
            left = share_left(instance, layout, gpu, item, target)
            if left > most:
                best = gpu
                most = left
    return best


@kernel
def best_in_node(
    instance: Instance, layout: Layout, node: int, item: int, target: float, chosen: Ints
) -> float:
    """Choose the GPUs of a node that keep the most for a shard group; return what the last keeps.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    node : the node
    item : the first item of the shard group; the others are equal to it
    target : the highest pressure allowed; infinite counts memory alone
    chosen : filled with a GPU for each item of the shard group
    """
    rules = instance.rules
    count = 0
    left = np.empty(chosen.shape[0])
    for place in range(rules.gpu[node, FIRST], rules.gpu[node + 1, FIRST]):
        gpu = rules.gpu[place, BY_NODE]
        if not fits(instance, layout, gpu, NOWHERE, item):
            continue
        mine = share_left(instance, layout, gpu, item, target)
        if count == chosen.shape[0] and mine <= left[count - 1]:
            continue
        # Insertion into a short sorted list: shard groups have a handful of items.
        rank = min(count, chosen.shape[0] - 1)
        while rank > 0 and left[rank - 1] < mine:
            left[rank] = left[rank - 1]
            chosen[rank] = chosen[rank - 1]
            rank -= 1
        left[rank] = mine
        chosen[rank] = gpu
        count = min(count + 1, chosen.shape[0])
    return float(left[count - 1]) if count == chosen.shape[0] else WORST


@leaf_kernel
def shard_group_size(instance: Instance, item: int) -> int:
    """Return how many items there are in the shard group that begins with an item."""
    shard_group = instance.rules.item[: instance.size.shape[0], SHARD_GROUP]
    size = 1
    while (
        shard_group[item] != NOWHERE
        and item + size < shard_group.shape[0]
        and shard_group[item + size] == shard_group[item]
    ):
        size += 1
    return size


@kernel_section
def put_shard_group(
    instance: Instance, layout: Layout, item: int, size: int, target: float, room: Floats
) -> bool:
    """Place a shard group on the node that keeps the most; False if it fits on none.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    item : the first item of the shard group
    size : how many items it has
    target : the highest pressure allowed; infinite counts memory alone
    room : room[g]: what every GPU has left; brought up to date
    """
    chosen = np.empty(size, np.int64)
    best = np.empty(size, np.int64)
    most = WORST
    for node in range(node_count(instance)):
        left = best_in_node(instance, layout, node, item, target, chosen)
        if left > most:
            most = left
            best[:] = chosen
    if most == WORST:
        return False
    for place in range(size):
        put(instance, layout, item + place, best[place])
        room[best[place]] = share_left(instance, layout, best[place], NOWHERE, target)
    return True


@entry_kernel
def fill(
    instance: Instance,
    layout: Layout,
    order: Ints,
    target: float,
    rng: np.random.Generator,
) -> int:
    """Place items that are nowhere, in an order; return how many found no room and stay nowhere.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    order : the items, one for each shard group
    target : the highest pressure allowed; infinite counts memory alone
    rng : the source of all random draws
    """
    gpus = instance.capacity.shape[0]
    room = np.empty(gpus)
    for gpu in range(gpus):
        room[gpu] = share_left(instance, layout, gpu, NOWHERE, target)
    winners = tournament(room)
    left_out = 0
    for item in order:
        if layout.go[0] == 0:
            # Stopped: nothing is known about the rest, so all count as left out.
            return int(order.shape[0])
        size = shard_group_size(instance, item)
        if size > 1:
            if not put_shard_group(instance, layout, item, size, target, room):
                left_out += size
            # A shard group changes several GPUs at once, so the tournament is held anew.
            winners = tournament(room)
            continue
        gpu = best_gpu(instance, layout, item, target, winners[1], rng)
        if gpu == NOWHERE:
            left_out += 1
            continue
        put(instance, layout, item, gpu)
        room[gpu] = share_left(instance, layout, gpu, NOWHERE, target)
        replay(winners, room, gpu)
    return left_out


def filled(instance: Instance, layout: Layout, seed: int) -> int:
    """Fill the layout at the lowest pressure that the sums allow; return how many found no room.

    Parameters
    ----------
    instance, layout
        The problem as arrays, and the layout to fill.
    seed
        The seed of the random draws.
    """
    lowest = volume_bound(instance)
    target = lowest if 0.0 < lowest < np.inf else 1.0
    order = filling_order(instance, target)
    empty(layout)
    return fill(instance, layout, order, target, np.random.default_rng(seed))
