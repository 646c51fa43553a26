"""Move whole shard groups: to another node, or in exchange for a group of the same size."""

from typing import NamedTuple

import numpy as np

from colocate.problem.instance import Instance, Ints
from colocate.problem.kernel import entry_kernel, kernel_section, leaf_kernel
from colocate.problem.layout import NOWHERE, Layout, fits, move, node_count, pressure_after
from colocate.problem.pressure import lower
from colocate.problem.rules import BY_NODE, FIRST, NODE, SHARD_GROUP
from colocate.solver.construct.tournament import replay, tournament


class ShardGroups(NamedTuple):
    """The shard groups of an instance."""

    first: Ints
    """first[s]: the first item of a shard group; the others follow it."""
    size: Ints
    """size[s]: how many items it has."""


def shard_groups_in(instance: Instance) -> ShardGroups:
    """Return the shard groups of an instance, by number."""
    shard_group = instance.rules.shard_group
    _, first, size = np.unique(shard_group, return_index=True, return_counts=True)
    if len(shard_group) and shard_group.min() < 0:
        first, size = first[1:], size[1:]
    return ShardGroups(first.astype(np.int64), size.astype(np.int64))


def nodes_of_shards(instance: Instance, gpu_of: Ints) -> Ints:
    """Return the nodes of the items of shard groups; -1 for items outside of any."""
    rules = instance.rules
    homes: Ints = np.where((rules.shard_group >= 0) & (gpu_of >= 0), rules.gpu[gpu_of, NODE], -1)
    return homes


@kernel_section
def shard_group_on(instance: Instance, layout: Layout, gpu: int, rng: np.random.Generator) -> int:
    """Draw one of the shard groups that have an item on a GPU; `NOWHERE` if there are none.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    gpu : the GPU
    rng : the source of all random draws
    """
    chosen = NOWHERE
    count = 0
    item = layout.first[gpu]
    while item != NOWHERE:
        if instance.rules.item[item, SHARD_GROUP] != NOWHERE:
            count += 1
            # Keeps the nth candidate with chance 1/n: a fair draw in one pass, without a list.
            if rng.random() * count < 1.0:
                chosen = instance.rules.item[item, SHARD_GROUP]
        item = layout.after[item]
    return chosen


@kernel_section
def relocated(
    instance: Instance, layout: Layout, first: int, size: int, node: int, limit: float
) -> bool:
    """Move a shard group to the least pressed GPUs of a node if all of them stay below a limit.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    first, size : the first item of the shard group, and how many there are
    node : the node
    limit : the pressure that no GPU may reach
    """
    rules = instance.rules
    chosen = np.empty(size, np.int64)
    found = np.empty(size)
    count = 0
    for place in range(rules.gpu[node, FIRST], rules.gpu[node + 1, FIRST]):
        gpu = rules.gpu[place, BY_NODE]
        value = pressure_after(instance, layout, gpu, NOWHERE, first)
        # The pressure is quicker to rate than the rules, so it goes first.
        if not lower(value, limit) or (count == size and value >= found[size - 1]):
            continue
        if not fits(instance, layout, gpu, NOWHERE, first):
            continue
        # A short sorted list of the least pressed GPUs so far: no more than the group needs.
        rank = min(count, size - 1)
        while rank > 0 and found[rank - 1] > value:
            found[rank] = found[rank - 1]
            chosen[rank] = chosen[rank - 1]
            rank -= 1
        found[rank] = value
        chosen[rank] = gpu
        count = min(count + 1, size)
    if count < size:
        return False
    for place in range(size):
        move(instance, layout, first + place, chosen[place])
    return True


@leaf_kernel
def swappable(instance: Instance, layout: Layout, one: int, other: int, limit: float) -> bool:
    """Return whether an item can take the place of another and stay below a limit.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    one, other : the item that comes, and the one whose place it takes
    limit : the pressure that the GPU may not reach
    """
    gpu = layout.gpu_of[other]
    return fits(instance, layout, gpu, other, one) and lower(
        pressure_after(instance, layout, gpu, other, one), limit
    )


@kernel_section
def exchanged(
    instance: Instance, layout: Layout, one: int, other: int, size: int, limit: float
) -> bool:
    """Let two shard groups change places if all their GPUs stay below a limit.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    one, other : the first items of the two shard groups
    size : how many items each has
    limit : the pressure that no GPU may reach
    """
    for place in range(size):
        # The check below changes each GPU once, which would be wrong for two groups that share one.
        for rival in range(size):
            if layout.gpu_of[one + place] == layout.gpu_of[other + rival]:
                return False
    for place in range(size):
        if not swappable(instance, layout, one + place, other + place, limit):
            return False
        if not swappable(instance, layout, other + place, one + place, limit):
            return False
    for place in range(size):
        here = layout.gpu_of[one + place]
        move(instance, layout, one + place, layout.gpu_of[other + place])
        move(instance, layout, other + place, here)
    return True


@entry_kernel
def move_shard_groups(
    instance: Instance,
    layout: Layout,
    shard_groups: ShardGroups,
    rng: np.random.Generator,
    tries: int,
) -> bool:
    """Move shard groups off the bottleneck; return whether anything moved.

    No GPU that changes ends at or above the peak. No item may be confined to a node here, since
    shard groups change nodes.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    shard_groups : the shard groups of the instance
    rng : the source of all random draws
    tries : how many moves are tried
    """
    winners = tournament(layout.pressure)
    nodes = node_count(instance)
    moved = False
    for _ in range(tries):
        if layout.go[0] == 0:
            break
        peak = winners[1]
        shard_group = shard_group_on(instance, layout, peak, rng)
        # No shard group is on the bottleneck: moving others does not lower the peak.
        if shard_group == NOWHERE:
            break
        first, size = shard_groups.first[shard_group], shard_groups.size[shard_group]
        before = layout.gpu_of[first : first + size].copy()
        limit = layout.pressure[peak]
        done = False
        rival = int(rng.random() * shard_groups.first.shape[0])
        if rng.random() < 0.5:
            node = int(rng.random() * nodes)
            done = relocated(instance, layout, first, size, node, limit)
        elif shard_groups.size[rival] == size and rival != shard_group:
            done = exchanged(instance, layout, first, shard_groups.first[rival], size, limit)
        if done:
            moved = True
            for place in range(size):
                replay(winners, layout.pressure, before[place])
                replay(winners, layout.pressure, layout.gpu_of[first + place])
    return moved


@entry_kernel
def scatter_shards(
    instance: Instance, layout: Layout, shard_groups: ShardGroups, rng: np.random.Generator
) -> None:
    """Move any shard group to any node where the pressure stays finite: a new start nearby.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    shard_groups : the shard groups of the instance
    rng : the source of all random draws
    """
    if shard_groups.first.shape[0] == 0:
        return
    shard_group = int(rng.random() * shard_groups.first.shape[0])
    node = int(rng.random() * node_count(instance))
    relocated(
        instance,
        layout,
        shard_groups.first[shard_group],
        shard_groups.size[shard_group],
        node,
        np.inf,
    )
