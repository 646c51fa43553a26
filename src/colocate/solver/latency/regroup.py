"""Regrouping: some GPUs are emptied, and a search fills them anew below a limit.

A group that is above a limit stays above it with any item added, so the search gives up a branch as
soon as one GPU is above. If all GPUs are emptied and the search ends, nothing is below the limit.
"""

from typing import NamedTuple

import numpy as np

from colocate.problem.instance import Floats, Ints
from colocate.problem.kernel import entry_kernel, kernel, leaf_kernel
from colocate.problem.layout import NOWHERE, put, take
from colocate.problem.rules import ALIKE
from colocate.problem.tolerance import TIE
from colocate.solver.latency.item_moves import keep_noted
from colocate.solver.latency.joined import cost_with, forget_noted, note_joined, rate_noted
from colocate.solver.latency.now import PARTIAL, SearchState

FOUND, NONE, OPEN = 1, 0, 2
"""How a search ended: with a way to fill the GPUs, with none left, or before its end."""
WORST_FIRST = 0.7
"""How often the GPU that costs most is among those regrouped; else all are drawn at random."""
FEWEST_GPUS, MORE_GPUS = 2, 3.0
"""How many GPUs are regrouped at least, and how many sizes of such groups there are."""


class SearchOptions(NamedTuple):
    """The options of a search, by its depth, for n items on up to g GPUs."""

    gpus: Ints
    """gpus[g]: the GPUs that are filled."""
    item: Ints
    """item[n]: the items in the order in which they come back."""
    home: Ints
    """home[n]: where they were."""
    goal: Ints
    """goal[n, g]: where an item may go, the cheapest first."""
    cost: Floats
    """cost[n, g]: what its GPU costs then."""
    number: Ints
    """number[n]: how many ways there are."""
    tried: Ints
    """tried[n]: how many of them were tried."""


def no_options(items: int, gpus: int, most_gpus: int) -> SearchOptions:
    """Return room for a search.

    Parameters
    ----------
    items, gpus
        How many there are.
    most_gpus
        How many of them are emptied at most.
    """
    item, home, number, tried = np.zeros((4, items), np.int64)
    goal, cost = np.zeros((items, most_gpus), np.int64), np.zeros((items, most_gpus))
    return SearchOptions(np.zeros(gpus, np.int64), item, home, goal, cost, number, tried)


@leaf_kernel
def empty_gpus(now: SearchState, options: SearchOptions, count: int, key: Floats) -> int:
    """Take all items off the chosen GPUs and sort them, the highest key first; return how many.

    Parameters
    ----------
    now : the state of the search
    options : the chosen GPUs, and room for their items
    count : how many GPUs
    key : what the items are sorted by
    """
    items = 0
    for place in range(count):
        gpu = options.gpus[place]
        while now.layout.first[gpu] != NOWHERE:
            item = now.layout.first[gpu]
            take(now.instance, now.layout, item)
            rank = items
            while rank > 0 and key[options.item[rank - 1]] < key[item]:
                options.item[rank] = options.item[rank - 1]
                options.home[rank] = options.home[rank - 1]
                rank -= 1
            options.item[rank] = item
            options.home[rank] = gpu
            items += 1
    return items


@leaf_kernel
def list_options(
    now: SearchState, options: SearchOptions, count: int, depth: int, limit: float
) -> None:
    """List the GPUs that can take the item at some depth below a limit, the cheapest first.

    Parameters
    ----------
    now : the state of the search
    options : where they go
    count : how many GPUs are filled
    depth : how many items are placed
    limit : the cost that no GPU may exceed
    """
    found = 0
    for place in range(count):
        if _like_an_earlier(now, options, place):
            continue
        gpu = options.gpus[place]
        cost = cost_with(now, options.item[depth], gpu, limit)
        if cost == np.inf:
            continue
        rank = found
        while rank > 0 and options.cost[depth, rank - 1] > cost:
            options.cost[depth, rank] = options.cost[depth, rank - 1]
            options.goal[depth, rank] = options.goal[depth, rank - 1]
            rank -= 1
        options.cost[depth, rank] = cost
        options.goal[depth, rank] = gpu
        found += 1
    options.number[depth] = found
    options.tried[depth] = 0


@leaf_kernel
def _like_an_earlier(now: SearchState, options: SearchOptions, place: int) -> bool:
    """Return whether a GPU is empty and so is an identical one before it.

    Parameters
    ----------
    now : the state of the search
    options : the GPUs that are filled
    place : of the GPU among them
    """
    gpu = options.gpus[place]
    if now.layout.first[gpu] != NOWHERE:
        return False
    gpus = now.instance.rules.gpu
    for earlier in range(place):
        other = options.gpus[earlier]
        if gpus[other, ALIKE] == gpus[gpu, ALIKE] and now.layout.first[other] == NOWHERE:
            return True
    return False


@leaf_kernel
def refilled(
    now: SearchState, options: SearchOptions, count: int, limit: float, nodes: int, key: Floats
) -> int:
    """Empty the chosen GPUs and fill them with no cost above a limit; else leave all as it was.

    Parameters
    ----------
    now : the state of the search
    options : the chosen GPUs, and room for the search
    count : how many GPUs
    limit : the cost that no GPU may exceed
    nodes : how many items the search may place
    key : what the items are sorted by
    """
    items = empty_gpus(now, options, count, key)
    now.costs.number[PARTIAL] = 1
    outcome = _filled(now, options, count, items, limit, nodes) if items > 0 else NONE
    now.costs.number[PARTIAL] = 0
    if outcome != FOUND:
        for place in range(items):
            if now.layout.gpu_of[options.item[place]] != NOWHERE:
                take(now.instance, now.layout, options.item[place])
        for place in range(items):
            put(now.instance, now.layout, options.item[place], options.home[place])
        return outcome
    for place in range(count):
        note_joined(now.table, now.layout, now.costs, options.gpus[place])
    rate_noted(now, np.inf)
    keep_noted(now.layout, now.costs)
    forget_noted(now.costs)
    return outcome


@leaf_kernel
def _is_within(now: SearchState, options: SearchOptions, count: int, limit: float) -> bool:
    """Return whether all items are placed within a limit; only where shards join GPUs is that open.

    Parameters
    ----------
    now : the state of the search
    options, count : the GPUs that are filled, and how many
    limit : the highest cost
    """
    if not now.table.joined:
        return True
    for place in range(count):
        note_joined(now.table, now.layout, now.costs, options.gpus[place])
    now.costs.number[PARTIAL] = 0
    within = rate_noted(now, limit)
    now.costs.number[PARTIAL] = 1
    forget_noted(now.costs)
    return within


@leaf_kernel
def _filled(
    now: SearchState, options: SearchOptions, count: int, items: int, limit: float, nodes: int
) -> int:
    """Search a way to fill GPUs with items that are nowhere; parameters as `refilled` takes them.

    Parameters
    ----------
    now : the state of the search
    options : the chosen GPUs and the items
    count, items : how many there are
    limit, nodes : the highest cost, and how many items the search may place
    """
    depth = 0
    list_options(now, options, count, depth, limit)
    while True:
        if options.tried[depth] == options.number[depth]:
            if depth == 0:
                return NONE
            depth -= 1
            take(now.instance, now.layout, options.item[depth])
            continue
        if nodes == 0 or now.layout.go[0] == 0:
            return OPEN
        nodes -= 1
        goal = options.goal[depth, options.tried[depth]]
        put(now.instance, now.layout, options.item[depth], goal)
        options.tried[depth] += 1
        depth += 1
        if depth == items:
            if _is_within(now, options, count, limit):
                return FOUND
            depth -= 1
            take(now.instance, now.layout, options.item[depth])
            continue
        list_options(now, options, count, depth, limit)


@entry_kernel
def regroup_all(
    now: SearchState, options: SearchOptions, limit: float, nodes: int, key: Floats
) -> int:
    """Fill all GPUs anew with no cost above a limit.

    Parameters
    ----------
    now, options, limit, nodes, key : as `refilled` takes them
    """
    gpus = now.costs.cost.shape[0]
    for gpu in range(gpus):
        options.gpus[gpu] = gpu
    return refilled(now, options, gpus, limit, nodes, key)


@kernel
def choose_gpus(
    now: SearchState, options: SearchOptions, count: int, rng: np.random.Generator
) -> float:
    """Choose some GPUs, likely the one that costs most among them; return their highest cost.

    Parameters
    ----------
    now : the state of the search
    options : where the choice goes
    count : how many GPUs
    rng : the source of all random draws
    """
    cost, chosen = now.costs.cost, 0
    if rng.random() < WORST_FIRST:
        options.gpus[0] = np.argmax(cost)
        chosen = 1
    while chosen < count:
        gpu = int(rng.random() * cost.shape[0])
        known = False
        for place in range(chosen):
            known = known or options.gpus[place] == gpu
        if not known:
            options.gpus[chosen] = gpu
            chosen += 1
    highest = 0.0
    for place in range(count):
        highest = max(highest, cost[options.gpus[place]])
    return highest


@entry_kernel
def regroup_some(
    now: SearchState, options: SearchOptions, tries: int, nodes: int, rng: np.random.Generator
) -> int:
    """Regroup a few GPUs at a time, again and again; return how often that helped.

    Parameters
    ----------
    now : the state of the search
    options : room for the search
    tries : how many groups of GPUs
    nodes : how many items each search may place
    rng : the source of all random draws
    """
    helped = 0
    most = min(now.costs.cost.shape[0], options.goal.shape[1])
    key = np.empty(now.layout.gpu_of.shape[0])
    for _ in range(tries):
        if now.layout.go[0] == 0 or most < FEWEST_GPUS:
            break
        count = min(FEWEST_GPUS + int(rng.random() * MORE_GPUS), most)
        highest = choose_gpus(now, options, count, rng)
        for item in range(key.shape[0]):
            harm = now.table.harm[now.table.engine[now.table.first[item]]]
            key[item] = harm * (0.5 + rng.random())
        limit = highest * (1.0 - 2.0 * TIE)
        if highest > 0.0 and refilled(now, options, count, limit, nodes, key) == FOUND:
            helped += 1
    return helped
