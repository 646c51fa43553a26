"""Moves of whole shard groups, which may change nodes, and random changes of any item."""

import numpy as np

from colocate.problem.instance import Instance
from colocate.problem.kernel import entry_kernel, kernel
from colocate.problem.layout import NOWHERE, Layout, fits, move, node_count, swap
from colocate.problem.rules import BY_NODE, FIRST
from colocate.solver.improve.shard_moves import ShardGroups
from colocate.solver.latency.engines import EngineTable, Rating
from colocate.solver.latency.exchange import Exchange, add, tried


@entry_kernel
def move_groups(
    table: EngineTable,
    instance: Instance,
    layout: Layout,
    rating: Rating,
    exchange: Exchange,
    groups: ShardGroups,
    tries: int,
    rng: np.random.Generator,
) -> bool:
    """Move shard groups to other GPUs, or let two change places; return whether that helped.

    Parameters
    ----------
    table : the engines of all items
    instance, layout : the problem as arrays, with no item confined, and where every item is now
    rating, exchange : the cost of every GPU, and room to work in
    groups : the shard groups
    tries : how many moves are tried
    rng : the source of all random draws
    """
    helped = False
    nodes = node_count(instance)
    for _ in range(tries):
        if layout.go[0] == 0:
            break
        group = int(rng.random() * groups.first.shape[0])
        rival = int(rng.random() * groups.first.shape[0])
        first, size = groups.first[group], groups.size[group]
        if rng.random() < 0.5:
            node = int(rng.random() * nodes)
            ready = _to_node(instance, layout, exchange, first, size, node, rng)
        else:
            ready = rival != group and groups.size[rival] == size
            for place in range(size if ready else 0):
                other = groups.first[rival] + place
                add(exchange, first + place, layout.gpu_of[other])
                add(exchange, other, layout.gpu_of[first + place])
        if ready and tried(table, instance, layout, rating, exchange):
            helped = True
    return helped


@kernel
def _to_node(
    instance: Instance,
    layout: Layout,
    exchange: Exchange,
    first: int,
    size: int,
    node: int,
    rng: np.random.Generator,
) -> bool:
    """Send a shard group to random GPUs of a node, half of the time for what is there.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every item is now
    exchange : where the move goes
    first, size : the first item of the group, and how many there are
    node : the node
    rng : the source of all random draws
    """
    gpus = instance.rules.gpu
    start, end = gpus[node, FIRST], gpus[node + 1, FIRST]
    if end - start < size:
        return False
    chosen = np.arange(start, end)
    for place in range(size):
        drawn = place + int(rng.random() * (chosen.shape[0] - place))
        chosen[place], chosen[drawn] = chosen[drawn], chosen[place]
        add(exchange, first + place, gpus[chosen[place], BY_NODE])
    if rng.random() < 0.5:
        for place in range(size):
            item = layout.first[gpus[chosen[place], BY_NODE]]
            if item != NOWHERE and not first <= item < first + size:
                add(exchange, item, layout.gpu_of[first + place])
    return True


@entry_kernel
def kick(instance: Instance, layout: Layout, changes: int, rng: np.random.Generator) -> None:
    """Move or swap random items, whatever that costs.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every item is now
    changes : how many items are drawn
    rng : the source of all random draws
    """
    items, gpus = layout.gpu_of.shape[0], layout.first.shape[0]
    for _ in range(changes):
        one = int(rng.random() * items)
        other = int(rng.random() * items)
        here, there = layout.gpu_of[one], layout.gpu_of[other]
        gpu = int(rng.random() * gpus)
        if here != there and rng.random() < 0.5:
            if fits(instance, layout, there, other, one) and fits(
                instance, layout, here, one, other
            ):
                swap(instance, layout, one, other)
        elif gpu != here and fits(instance, layout, gpu, NOWHERE, one):
            move(instance, layout, one, gpu)
