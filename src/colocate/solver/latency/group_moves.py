"""Moves of whole shard groups, which may change nodes, and random changes of any item."""

import numpy as np

from colocate.problem.kernel import entry_kernel, kernel
from colocate.problem.layout import NOWHERE, fits, move, node_count, swap
from colocate.problem.rules import BY_NODE, FIRST
from colocate.solver.improve.shard_moves import ShardGroups
from colocate.solver.latency.item_moves import ItemMoves, add_move, moved
from colocate.solver.latency.now import SearchState


@entry_kernel
def move_groups(
    now: SearchState, moves: ItemMoves, groups: ShardGroups, tries: int, rng: np.random.Generator
) -> bool:
    """Move shard groups to other GPUs, or let two change places; return whether that helped.

    Parameters
    ----------
    now : the state of the search, with no item confined to a node
    moves : room to work in
    groups : the shard groups
    tries : how many moves are tried
    rng : the source of all random draws
    """
    helped = False
    for _ in range(tries):
        if now.layout.go[0] == 0:
            break
        if draw_group_move(now, moves, groups, rng) and moved(now, moves):
            helped = True
    return helped


@kernel
def draw_group_move(
    now: SearchState, moves: ItemMoves, groups: ShardGroups, rng: np.random.Generator
) -> bool:
    """Draw another place for a shard group, or two that change places; False if that cannot be.

    Parameters
    ----------
    now : the state of the search, with no item confined to a node
    moves : where the moves go
    groups : the shard groups
    rng : the source of all random draws
    """
    group = int(rng.random() * groups.first.shape[0])
    first, size = groups.first[group], groups.size[group]
    if rng.random() < 0.5:
        node = int(rng.random() * node_count(now.instance))
        return _to_node(now, moves, first, size, node, rng)
    rival = int(rng.random() * groups.first.shape[0])
    if rival == group or groups.size[rival] != size:
        return False
    for place in range(size):
        other = groups.first[rival] + place
        add_move(moves, first + place, now.layout.gpu_of[other])
        add_move(moves, other, now.layout.gpu_of[first + place])
    return True


@kernel
def _to_node(
    now: SearchState,
    moves: ItemMoves,
    first: int,
    size: int,
    node: int,
    rng: np.random.Generator,
) -> bool:
    """Send a shard group to random GPUs of a node, half of the time for what is there.

    Parameters
    ----------
    now : the state of the search
    moves : where the moves go
    first, size : the first item of the group, and how many there are
    node : the node
    rng : the source of all random draws
    """
    gpus = now.instance.rules.gpu
    start, end = gpus[node, FIRST], gpus[node + 1, FIRST]
    if end - start < size:
        return False
    chosen = np.arange(start, end)
    for place in range(size):
        drawn = place + int(rng.random() * (chosen.shape[0] - place))
        chosen[place], chosen[drawn] = chosen[drawn], chosen[place]
        add_move(moves, first + place, gpus[chosen[place], BY_NODE])
    if rng.random() < 0.5:
        for place in range(size):
            item = now.layout.first[gpus[chosen[place], BY_NODE]]
            single = item != NOWHERE and now.table.items[_engine(now, item), 1] == 1
            if single:
                add_move(moves, item, now.layout.gpu_of[first + place])
    return True


@kernel
def _engine(now: SearchState, item: int) -> int:
    return int(now.table.engine[now.table.first[item]])


@entry_kernel
def kick_items(now: SearchState, changes: int, rng: np.random.Generator) -> None:
    """Move or swap random items, whatever that costs.

    Parameters
    ----------
    now : the state of the search
    changes : how many items are drawn
    rng : the source of all random draws
    """
    instance, layout = now.instance, now.layout
    items, gpus = layout.gpu_of.shape[0], layout.first.shape[0]
    for _ in range(changes):
        one = int(rng.random() * items)
        other = int(rng.random() * items)
        here, there = layout.gpu_of[one], layout.gpu_of[other]
        gpu = int(rng.random() * gpus)
        if here != there and rng.random() < 0.5:
            both = fits(instance, layout, there, other, one)
            if both and fits(instance, layout, here, one, other):
                swap(instance, layout, one, other)
        elif gpu != here and fits(instance, layout, gpu, NOWHERE, one):
            move(instance, layout, one, gpu)
