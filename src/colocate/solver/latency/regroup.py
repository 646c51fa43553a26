"""Regrouping: some GPUs are emptied, and a search fills them anew below a limit.

A group that is above a limit stays above it with any item added, so the search gives up a branch as
soon as one GPU is above. If all GPUs are emptied and the search ends, nothing is below the limit.
"""

from typing import NamedTuple

import numpy as np

from colocate.problem.instance import Floats, Instance, Ints
from colocate.problem.kernel import entry_kernel, kernel, leaf_kernel
from colocate.problem.layout import NOWHERE, Layout, fits, put, take
from colocate.problem.rules import ALIKE
from colocate.problem.tolerance import TIE
from colocate.solver.latency.engines import EngineTable, Rating
from colocate.solver.latency.exchange import keep_noted
from colocate.solver.latency.joined import forget_noted, note_joined, rate_noted

WORST_FIRST = 0.7
"""How often the GPU that costs most is among those regrouped; else all are drawn at random."""
FOUND, NONE, OPEN = 1, 0, 2
"""How a search ended: with a way to fill the GPUs, with none left, or before its end."""


class Branches(NamedTuple):
    """The branches of a search, by its depth, for n items on up to g GPUs."""

    gpus: Ints
    """gpus[g]: the GPUs that are filled."""
    item: Ints
    """item[n]: the items in the order in which they come back."""
    home: Ints
    """home[n]: where they were."""
    option: Ints
    """option[n, g]: where an item may go, the cheapest first."""
    cost: Floats
    """cost[n, g]: what its GPU costs then."""
    options: Ints
    """options[n]: how many ways there are."""
    taken: Ints
    """taken[n]: how many of them were tried."""


def empty_branches(items: int, gpus: int, most_gpus: int) -> Branches:
    """Return room for a search.

    Parameters
    ----------
    items, gpus
        How many there are.
    most_gpus
        How many of them are emptied at most.
    """
    return Branches(
        np.zeros(gpus, np.int64),
        np.zeros(items, np.int64),
        np.zeros(items, np.int64),
        np.zeros((items, most_gpus), np.int64),
        np.zeros((items, most_gpus)),
        np.zeros(items, np.int64),
        np.zeros(items, np.int64),
    )


@leaf_kernel
def empty_gpus(
    instance: Instance, layout: Layout, branches: Branches, count: int, key: Floats
) -> int:
    """Take all items off the chosen GPUs and sort them, the highest key first; return how many.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every item is now
    branches : the chosen GPUs, and room for their items
    count : how many GPUs
    key : what the items are sorted by
    """
    items = 0
    for place in range(count):
        gpu = branches.gpus[place]
        while layout.first[gpu] != NOWHERE:
            item = layout.first[gpu]
            take(instance, layout, item)
            rank = items
            while rank > 0 and key[branches.item[rank - 1]] < key[item]:
                branches.item[rank] = branches.item[rank - 1]
                branches.home[rank] = branches.home[rank - 1]
                rank -= 1
            branches.item[rank] = item
            branches.home[rank] = gpu
            items += 1
    return items


@leaf_kernel
def list_options(
    table: EngineTable,
    instance: Instance,
    layout: Layout,
    rating: Rating,
    branches: Branches,
    count: int,
    depth: int,
    limit: float,
) -> None:
    """List the GPUs that can take the item at some depth below a limit, the cheapest first.

    Parameters
    ----------
    table : the engines of all items
    instance, layout : the problem as arrays, and where every item is now
    rating : room to work in
    branches : the search
    count : how many GPUs are filled
    depth : how many items are placed
    limit : the cost that no GPU may exceed
    """
    item = branches.item[depth]
    options = 0
    for place in range(count):
        gpu = branches.gpus[place]
        if _like_an_earlier(instance, layout, branches, place):
            continue
        if not fits(instance, layout, gpu, NOWHERE, item):
            continue
        put(instance, layout, item, gpu)
        note_joined(table, layout, rating, gpu)
        within = rate_noted(table, instance, layout, rating, limit)
        forget_noted(rating)
        take(instance, layout, item)
        if not within:
            continue
        cost = rating.trial[gpu]
        rank = options
        while rank > 0 and branches.cost[depth, rank - 1] > cost:
            branches.cost[depth, rank] = branches.cost[depth, rank - 1]
            branches.option[depth, rank] = branches.option[depth, rank - 1]
            rank -= 1
        branches.cost[depth, rank] = cost
        branches.option[depth, rank] = gpu
        options += 1
    branches.options[depth] = options
    branches.taken[depth] = 0


@leaf_kernel
def _like_an_earlier(instance: Instance, layout: Layout, branches: Branches, place: int) -> bool:
    """Return whether a GPU is empty and so is an identical one before it.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every item is now
    branches : the GPUs that are filled
    place : of the GPU among them
    """
    gpu = branches.gpus[place]
    if layout.first[gpu] != NOWHERE:
        return False
    for earlier in range(place):
        other = branches.gpus[earlier]
        alike = instance.rules.gpu[other, ALIKE] == instance.rules.gpu[gpu, ALIKE]
        if alike and layout.first[other] == NOWHERE:
            return True
    return False


@leaf_kernel
def refilled(
    table: EngineTable,
    instance: Instance,
    layout: Layout,
    rating: Rating,
    branches: Branches,
    count: int,
    limit: float,
    nodes: int,
    key: Floats,
) -> int:
    """Empty the chosen GPUs and fill them with no cost above a limit; else leave all as it was.

    Parameters
    ----------
    table : the engines of all items
    instance, layout : the problem as arrays, and where every item is now
    rating : the cost of every GPU
    branches : the chosen GPUs, and room for the search
    count : how many GPUs
    limit : the cost that no GPU may exceed
    nodes : how many items the search may place
    key : what the items are sorted by
    """
    items = empty_gpus(instance, layout, branches, count, key)
    depth = 0
    visited = 0
    outcome = NONE
    if items > 0:
        list_options(table, instance, layout, rating, branches, count, 0, limit)
    while items > 0:
        if branches.taken[depth] == branches.options[depth]:
            if depth == 0:
                break
            depth -= 1
            take(instance, layout, branches.item[depth])
            continue
        if visited == nodes or layout.go[0] == 0:
            outcome = OPEN
            break
        visited += 1
        put(
            instance,
            layout,
            branches.item[depth],
            branches.option[depth, branches.taken[depth]],
        )
        branches.taken[depth] += 1
        depth += 1
        if depth == items:
            outcome = FOUND
            break
        list_options(table, instance, layout, rating, branches, count, depth, limit)
    if outcome != FOUND:
        for place in range(depth):
            take(instance, layout, branches.item[place])
        for place in range(items):
            put(instance, layout, branches.item[place], branches.home[place])
        return outcome
    for place in range(count):
        note_joined(table, layout, rating, branches.gpus[place])
    rate_noted(table, instance, layout, rating, np.inf)
    keep_noted(layout, rating)
    forget_noted(rating)
    return outcome


@entry_kernel
def regroup_all(
    table: EngineTable,
    instance: Instance,
    layout: Layout,
    rating: Rating,
    branches: Branches,
    limit: float,
    nodes: int,
    key: Floats,
) -> int:
    """Fill all GPUs anew with no cost above a limit; parameters as `refilled` takes them.

    Parameters
    ----------
    table : the engines of all items
    instance, layout : the problem as arrays, and where every item is now
    rating : the cost of every GPU
    branches : room for the search
    limit : the cost that no GPU may exceed
    nodes : how many items the search may place
    key : what the items are sorted by
    """
    gpus = rating.cost.shape[0]
    for gpu in range(gpus):
        branches.gpus[gpu] = gpu
    return refilled(table, instance, layout, rating, branches, gpus, limit, nodes, key)


@kernel
def choose_gpus(rating: Rating, branches: Branches, count: int, rng: np.random.Generator) -> None:
    """Choose a GPU that costs much and some others, at random.

    Parameters
    ----------
    rating : the cost of every GPU
    branches : where the choice goes
    count : how many GPUs
    rng : the source of all random draws
    """
    gpus = rating.cost.shape[0]
    chosen = 0
    if rng.random() < WORST_FIRST:
        branches.gpus[0] = np.argmax(rating.cost)
        chosen = 1
    while chosen < count:
        gpu = int(rng.random() * gpus)
        known = False
        for place in range(chosen):
            known = known or branches.gpus[place] == gpu
        if not known:
            branches.gpus[chosen] = gpu
            chosen += 1


@entry_kernel
def regroup_some(
    table: EngineTable,
    instance: Instance,
    layout: Layout,
    rating: Rating,
    branches: Branches,
    tries: int,
    nodes: int,
    rng: np.random.Generator,
) -> int:
    """Regroup two to four GPUs at a time, again and again; return how often that helped.

    Parameters
    ----------
    table : the engines of all items
    instance, layout : the problem as arrays, and where every item is now
    rating : the cost of every GPU
    branches : room for the search
    tries : how many groups of GPUs
    nodes : how many items each search may place
    rng : the source of all random draws
    """
    helped = 0
    gpus = rating.cost.shape[0]
    key = np.empty(layout.gpu_of.shape[0])
    for _ in range(tries):
        if layout.go[0] == 0 or gpus < 2:
            break
        count = min(2 + int(rng.random() * 3.0), gpus, branches.option.shape[1])
        choose_gpus(rating, branches, count, rng)
        highest = 0.0
        for place in range(count):
            highest = max(highest, rating.cost[branches.gpus[place]])
        for item in range(key.shape[0]):
            key[item] = table.harm[table.engine[table.first[item]]] * (0.5 + rng.random())
        limit = highest * (1.0 - 2.0 * TIE)
        if (
            highest > 0.0
            and refilled(table, instance, layout, rating, branches, count, limit, nodes, key)
            == FOUND
        ):
            helped += 1
    return helped
