"""Trading places: wake a model in place of models that are worth less."""

from typing import NamedTuple

import numpy as np

from colocate.problem.instance import Bools, Floats, Instance, Ints
from colocate.problem.kernel import entry_kernel, kernel_section, leaf_kernel
from colocate.problem.layout import NOWHERE, Layout, admits, clear, fits, node_count, put, take
from colocate.problem.pressure import within
from colocate.problem.rules import NODE, SHARD_GROUP


class Wakeable(NamedTuple):
    """What items are worth, and which of them can sleep by themselves."""

    cost: Floats
    """cost[n]: what is lost without the item; infinite if it must be awake."""
    single: Bools
    """single[n]: whether the item can sleep by itself."""
    unit: Ints
    """unit[n]: how many items its model has, which are awake or asleep together."""


@leaf_kernel
def tightest(instance: Instance, layout: Layout, item: int, node: int) -> int:
    """Return the GPU with the least memory left that can take an item, or `NOWHERE`.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    item : the item
    node : the node that the GPU must be in, or `NOWHERE`
    """
    best = NOWHERE
    least = np.inf
    for gpu in range(instance.capacity.shape[0]):
        left = instance.capacity[gpu] - layout.used[gpu]
        if node != NOWHERE and instance.rules.gpu[gpu, NODE] != node:
            continue
        # The cheap comparison first: `fits` looks at rules and resources.
        if left < least and fits(instance, layout, gpu, NOWHERE, item):
            best = gpu
            least = left
    return best


@kernel_section
def put_shard_group_in(instance: Instance, layout: Layout, item: int, size: int) -> bool:
    """Place a shard group on the first node that can take it.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    item : the first item of the shard group
    size : how many items it has
    """
    for node in range(node_count(instance)):
        done = 0
        while done < size:
            gpu = tightest(instance, layout, item + done, node)
            if gpu == NOWHERE:
                break
            put(instance, layout, item + done, gpu)
            done += 1
        if done == size:
            return True
        # A node that takes only some of the shards is of no use.
        for place in range(done):
            take(instance, layout, item + place)
    return False


@kernel_section
def put_model(instance: Instance, layout: Layout, first: int, parts: int) -> bool:
    """Place all items of a model, or none.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    first : the first item of the model; the others follow it
    parts : how many items it has
    """
    shard_group = instance.rules.item[:, SHARD_GROUP]
    done = 0
    while done < parts:
        item = first + done
        size = 1
        if shard_group[item] != NOWHERE:
            while size < parts - done and shard_group[item + size] == shard_group[item]:
                size += 1
            if not put_shard_group_in(instance, layout, item, size):
                break
        else:
            gpu = tightest(instance, layout, item, NOWHERE)
            if gpu == NOWHERE:
                break
            put(instance, layout, item, gpu)
        done += size
    if done == parts:
        return True
    # A model is awake as a whole or not at all, so its parts are taken back.
    for place in range(done):
        take(instance, layout, first + place)
    return False


@entry_kernel
def wake(instance: Instance, layout: Layout, order: Ints, wakeable: Wakeable) -> bool:
    """Place models in an order, each where it leaves least; False if a required one does not fit.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    order : the first items of the models
    wakeable : what the items are worth
    """
    clear(layout)
    for first in order:
        placed = put_model(instance, layout, first, wakeable.unit[first])
        # A model that may sleep and finds no place sleeps on.
        if not placed and np.isinf(wakeable.cost[first]):
            return False
    return True


@leaf_kernel
def takes_place(
    instance: Instance, layout: Layout, gpu: int, one: int, other: int, item: int
) -> bool:
    """Return whether an item fits on a GPU once two others are gone.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    gpu : the GPU
    one, other : the models that leave
    item : the item that comes
    """
    # Colours are checked as if the second model stayed, which refuses a few trades that would be
    # allowed, but allows none that is not.
    if not admits(instance, layout, gpu, one, item):
        return False
    used = layout.used[gpu] - instance.size[one] - instance.size[other] + instance.size[item]
    if not within(used, instance.capacity[gpu]):
        return False
    kind = instance.kind[gpu]
    for resource in range(instance.limit.shape[1]):
        use = layout.use[gpu, resource] + instance.use[kind, item, resource]
        use -= instance.use[kind, one, resource] + instance.use[kind, other, resource]
        if not within(use, instance.limit[gpu, resource]):
            return False
    return True


@kernel_section
def offer(instance: Instance, layout: Layout, item: int, wakeable: Wakeable) -> bool:
    """Give a sleeping item a free place, or the place of one or two items that are worth less.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    item : an item that is asleep
    wakeable : what the items are worth
    """
    cost = wakeable.cost
    best, out, second = NOWHERE, NOWHERE, NOWHERE
    # Whatever goes must be worth less than what comes, or trading could go round in circles.
    least = cost[item]
    for gpu in range(instance.capacity.shape[0]):
        if fits(instance, layout, gpu, NOWHERE, item):
            put(instance, layout, item, gpu)
            return True
        one = layout.first[gpu]
        while one != NOWHERE:
            if wakeable.single[one] and cost[one] < least:
                if fits(instance, layout, gpu, one, item):
                    best, out, second = gpu, one, NOWHERE
                    least = cost[one]
                other = layout.after[one]
                while other != NOWHERE:
                    if (
                        wakeable.single[other]
                        and cost[one] + cost[other] < least
                        and takes_place(instance, layout, gpu, one, other, item)
                    ):
                        best, out, second = gpu, one, other
                        least = cost[one] + cost[other]
                    other = layout.after[other]
            one = layout.after[one]
    if best == NOWHERE:
        return False
    take(instance, layout, out)
    if second != NOWHERE:
        take(instance, layout, second)
    put(instance, layout, item, best)
    return True


@entry_kernel
def trade(instance: Instance, layout: Layout, wakeable: Wakeable, passes: int) -> None:
    """Offer places to all items that are asleep, the most valuable first, until none is taken.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    wakeable : what the items are worth
    passes : the most rounds of offers
    """
    order = np.argsort(-wakeable.cost, kind="mergesort")
    for _ in range(passes):
        changed = False
        for item in order:
            if layout.go[0] == 0:
                return
            if layout.gpu_of[item] == NOWHERE and wakeable.single[item]:
                changed |= offer(instance, layout, item, wakeable)
        if not changed:
            return
