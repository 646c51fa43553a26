"""Relieving GPUs above a target by the best exchange, where the law of sharing says what they cost.

The search is that of `relieving`. The cost of a GPU takes microseconds here, so what was rated is
kept, and exchanges that cannot be the best are not rated at all: a GPU never costs less for an item
more.
"""

from typing import NamedTuple

import numpy as np

from colocate.problem.exchange import can_exchange, exchange
from colocate.problem.instance import Bools, Floats, Ints
from colocate.problem.kernel import entry_kernel, leaf_kernel
from colocate.problem.layout import NOWHERE, put, take
from colocate.problem.rules import ALIKE
from colocate.replan.search.kernel.moving import (
    MOST_OVER,
    MovingItems,
    SoughtLimits,
    gb_after,
    moved_gb,
    over,
)
from colocate.replan.search.kernel.relieving import (
    ADAPTING,
    Exchange,
    ExchangePrice,
    first_price,
    hot_gpu,
    keep_away,
)
from colocate.solver.latency.cost import cost_alone
from colocate.solver.latency.now import SearchState

KEPT = 1 << 18
"""Costs that are kept: a few seconds of them."""


class KeptCosts(NamedTuple):
    """Costs of groups of items on GPUs, wherever and whenever they were rated.

    A group goes by the sum of random numbers of its items and of the sort of its GPU. Two groups
    with the same sum would mislead the search, as one in 10^13 may, but nobody else: answers are
    rated anew (Zobrist 1970).
    """

    number: Ints
    """number[n]: that of each item, then that of each sort of GPUs."""
    key: Ints
    """key[k]: the sum of a group."""
    cost: Floats
    """cost[k]: what it costs, or a limit that it is above."""
    exact: Bools
    """exact[k]: whether it is the cost."""


@leaf_kernel
def _key(now: SearchState, kept: KeptCosts, gpu: int, gone: int, come: int) -> int:
    """Return the sum of the group on a GPU once an item is gone and another has come.

    Parameters
    ----------
    now, kept, gpu, gone, come : as `_cost` takes them
    """
    layout = now.layout
    key = kept.number[layout.gpu_of.shape[0] + now.instance.rules.gpu[gpu, ALIKE]]
    item = layout.first[gpu]
    while item != NOWHERE:
        if item != gone:
            key += kept.number[item]
        item = layout.after[item]
    if come != NOWHERE:
        key += kept.number[come]
    return int(key)


@leaf_kernel
def _cost(now: SearchState, kept: KeptCosts, gpu: int, gone: int, come: int, limit: float) -> float:
    """Return what a GPU costs once an item is gone and another has come; infinite above a limit.

    Parameters
    ----------
    now, kept : the state of the search, and the costs that are known
    gpu, gone, come : the GPU, and the items that leave and come; either may be `NOWHERE`
    limit : the cost above which the exact one does not matter
    """
    key = _key(now, kept, gpu, gone, come)
    slot = key & (KEPT - 1)
    if kept.key[slot] == key:
        if kept.exact[slot]:
            return float(kept.cost[slot])
        if kept.cost[slot] >= limit:
            return float(np.inf)
    home = NOWHERE
    if gone != NOWHERE:
        take(now.instance, now.layout, gone)
    if come != NOWHERE:
        home = now.layout.gpu_of[come]
        take(now.instance, now.layout, come)
        put(now.instance, now.layout, come, gpu)
    cost: float = cost_alone(now, gpu, limit)
    if come != NOWHERE:
        take(now.instance, now.layout, come)
        put(now.instance, now.layout, come, home)
    if gone != NOWHERE:
        put(now.instance, now.layout, gone, gpu)
    kept.key[slot] = key
    kept.exact[slot] = cost < np.inf
    kept.cost[slot] = cost if cost < np.inf else limit
    return cost


@leaf_kernel
def _over_within(
    now: SearchState, kept: KeptCosts, gpu: int, gone: int, come: int, target: float, most: float
) -> float:
    """Return by which share a GPU exceeds a target after a change; `MOST_OVER` if it is over most.

    Parameters
    ----------
    now, kept, gpu, gone, come : as `_cost` takes them
    target, most : the target, and the share above which the exact one does not matter
    """
    limit = target * (1.0 + most) if most < MOST_OVER else np.inf
    return over(_cost(now, kept, gpu, gone, come, limit), target)


@leaf_kernel
def _best_with(
    now: SearchState, kept: KeptCosts, moving: MovingItems, away: Ints, by: ExchangePrice,
    item: int, goal: int, best: Exchange,
) -> Exchange:  # fmt: skip
    """Return the best exchange of an item with a GPU, or a better one that is known.

    Parameters
    ----------
    now, kept, moving : the state of the search, the costs that are known, and what moving means
    away : until which step each item stays away from each GPU
    by : what exchanges are judged by
    item, goal : the item and the GPU
    best : the best exchange so far
    """
    layout, cost, target = now.layout, now.costs.cost, by.target
    here = layout.gpu_of[item]
    if goal == here or away[item, goal] > by.step:
        return best
    before = over(cost[here], target) + over(cost[goal], target)
    left = _over_within(now, kept, here, item, NOWHERE, target, MOST_OVER)
    other = NOWHERE
    while True:
        if other == NOWHERE or (moving.movable[other] and away[other, here] <= by.step):
            moved = by.price * gb_after(moving, layout.gpu_of, 0.0, item, other, goal) - before
            if left + moved < best.harm and can_exchange(now.instance, layout, item, other, goal):
                harm = left + moved
                most = best.harm - harm
                harm += _over_within(now, kept, goal, other, item, target, most)
                if harm < best.harm and other != NOWHERE:
                    most = best.harm - harm + left
                    harm += _over_within(now, kept, here, item, other, target, most) - left
                if harm < best.harm:
                    best = Exchange(item, other, goal, harm)
        other = layout.first[goal] if other == NOWHERE else layout.after[other]
        if other == NOWHERE:
            return best


@leaf_kernel
def _best_return(
    now: SearchState, kept: KeptCosts, moving: MovingItems, away: Ints, by: ExchangePrice
) -> Exchange:
    """Return the best exchange that brings an item home.

    Parameters
    ----------
    now, kept, moving, away, by : as `_best_with` takes them
    """
    best = Exchange(NOWHERE, NOWHERE, NOWHERE, np.inf)
    for place in range(moving.free.shape[0]):
        item = moving.free[place]
        goal = moving.home[item]
        if goal != NOWHERE and moving.gb[item, now.layout.gpu_of[item]] > moving.gb[item, goal]:
            best = _best_with(now, kept, moving, away, by, item, goal, best)
    return best


@leaf_kernel
def _best_relief(
    now: SearchState, kept: KeptCosts, moving: MovingItems, away: Ints, by: ExchangePrice,
    gpu: int, first: int,
) -> Exchange:  # fmt: skip
    """Return the best exchange for a GPU above the target.

    Parameters
    ----------
    now, kept, moving, away, by : as `_best_with` takes them
    gpu : the GPU
    first : the GPU that is tried first; it wins where others are as good
    """
    best = Exchange(NOWHERE, NOWHERE, NOWHERE, np.inf)
    gpus = now.costs.cost.shape[0]
    item = now.layout.first[gpu]
    while item != NOWHERE:
        following = now.layout.after[item]
        if moving.movable[item]:
            for place in range(first, first + gpus):
                best = _best_with(now, kept, moving, away, by, item, place % gpus, best)
        item = following
    return best


def no_kept_costs(items: int, sorts: int, rng: np.random.Generator) -> KeptCosts:
    """Return room for costs, with none known.

    Parameters
    ----------
    items, sorts
        How many items, and sorts of GPUs, there are.
    rng
        The source of the numbers that groups go by.
    """
    most = np.iinfo(np.int64).max
    number = rng.integers(-most, most, items + sorts)
    return KeptCosts(number, np.zeros(KEPT, np.int64), np.zeros(KEPT), np.zeros(KEPT, np.bool_))


@entry_kernel
def relieve_by_latency(
    now: SearchState,
    kept: KeptCosts,
    moving: MovingItems,
    limits: SoughtLimits,
    rng: np.random.Generator,
) -> bool:
    """Do as `relieve_by_pressure` with costs of GPUs, none of which is joined to others by shards.

    Parameters
    ----------
    now, kept : the state of the search, in which all GPUs have been rated, and the costs known
    moving, limits, rng : as `relieve_by_pressure` takes them
    """
    layout, target, gpus = now.layout, limits.target, now.costs.cost.shape[0]
    gb, price = moved_gb(moving, layout.gpu_of), first_price(moving, limits)
    away = np.zeros((layout.gpu_of.shape[0], gpus), np.int64)
    for step in range(limits.steps):
        if layout.go[0] == 0:
            return False
        gpu = hot_gpu(now.costs.cost, target, rng)
        if gpu == NOWHERE and gb <= limits.budget_gb:
            return True
        price = price * ADAPTING if gb > limits.budget_gb else price / ADAPTING
        by = ExchangePrice(target, price, step)
        if gpu == NOWHERE:
            best = _best_return(now, kept, moving, away, by)
        else:
            best = _best_relief(now, kept, moving, away, by, gpu, int(rng.random() * gpus))
        if best.item == NOWHERE:
            continue
        here = layout.gpu_of[best.item]
        exchange(now.instance, layout, best.item, best.other, best.goal)
        for changed in (here, best.goal):
            now.costs.cost[changed] = _cost(now, kept, changed, NOWHERE, NOWHERE, np.inf)
        gb = moved_gb(moving, layout.gpu_of)
        keep_away(away, best, here, step, rng)
    return hot_gpu(now.costs.cost, target, rng) == NOWHERE and gb <= limits.budget_gb
