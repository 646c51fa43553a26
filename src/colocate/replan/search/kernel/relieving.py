"""Relieving GPUs above a target by the best exchange, with a memory against going in circles.

At a target, an item takes its load plus the target times its size, and a GPU holds the target times
its memory: what is beyond that is its excess. Excesses add up, so the best exchange can be read off
them, where pressures would tell little about a GPU that is nearly full.

Every step takes a GPU above the target and makes the best of all its exchanges: an item goes
elsewhere, alone or for another one. Moved weights have a price, which rises while more is moved
than the budget and falls while less is. Once no GPU is above the target, items go home. An item
does not return for a while to where it came from, so that the search leaves each dead end
(tabu search: Glover 1989; the price: strategic oscillation).
"""

from typing import NamedTuple

import numpy as np

from colocate.problem.exchange import can_exchange, exchange
from colocate.problem.instance import Floats, Instance, Ints
from colocate.problem.kernel import entry_kernel, kernel, leaf_kernel
from colocate.problem.layout import NOWHERE, Layout
from colocate.problem.tolerance import ROUNDING
from colocate.replan.search.kernel.moving import (
    MovingItems,
    SoughtLimits,
    gb_after,
    moved_gb,
    over,
)

FIRST_PRICE = 0.2
"""What a usual item that is moved counts at first: as a GPU that is a fifth too full."""
ADAPTING = 1.01
"""By what the price changes with every step."""
AWAY = 12
"""Steps for which an item does not return, at least; at most twice as many."""
LOOK = 63
"""Steps between two looks at the clock, as bits."""


class Exchange(NamedTuple):
    """An item, one that it changes places with or `NOWHERE`, and the GPU that it goes to."""

    item: int
    other: int
    goal: int
    harm: float
    """What it makes worse, less what it makes better."""


class ExchangePrice(NamedTuple):
    """What exchanges are judged by, at one step."""

    target: float
    """The pressure to reach."""
    price: float
    """What a GB that is moved counts."""
    step: int
    """The number of the step."""


@leaf_kernel
def first_price(moving: MovingItems, limits: SoughtLimits) -> float:
    """Return what a GB that is moved counts at first: nothing if everything may be moved.

    Parameters
    ----------
    moving, limits : what moving means, and what is sought
    """
    whole = 0.0
    for item in range(moving.gb.shape[0]):
        most = 0.0
        for gpu in range(moving.gb.shape[1]):
            most = max(most, moving.gb[item, gpu])
        whole += most
    return 0.0 if whole <= limits.budget_gb else FIRST_PRICE / moving.usual_gb


@leaf_kernel
def _excess(
    instance: Instance, layout: Layout, gpu: int, gone: int, come: int, target: float
) -> float:
    """Return the load of a GPU beyond what its free memory carries at a target.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every item is
    gpu, gone, come : the GPU, and the items that leave and come; either may be `NOWHERE`
    target : the pressure that may not be exceeded
    """
    free = instance.capacity[gpu] - layout.used[gpu]
    if gone != NOWHERE:
        free += instance.size[gone]
    if come != NOWHERE:
        free -= instance.size[come]
    excess = 0.0
    for window in range(instance.load.shape[1]):
        beyond = layout.load[gpu, window] - target * free
        if gone != NOWHERE:
            beyond -= instance.load[gone, window]
        if come != NOWHERE:
            beyond += instance.load[come, window]
        excess = max(excess, beyond)
    return excess


@kernel
def hot_gpu(values: Floats, target: float, rng: np.random.Generator) -> int:
    """Return a random one of the GPUs whose values are above a target; `NOWHERE` if none is."""
    found, chosen = 0, NOWHERE
    for gpu in range(values.shape[0]):
        if over(values[gpu], target) > ROUNDING:
            found += 1
            if rng.random() * found < 1.0:
                chosen = gpu
    return chosen


@kernel
def keep_away(away: Ints, found: Exchange, here: int, step: int, rng: np.random.Generator) -> None:
    """Note how long the items of an exchange do not return.

    Parameters
    ----------
    away : until which step each item stays away from each GPU
    found, here : the exchange, and the GPU that its first item left
    step : the number of the step
    rng : the source of all random draws
    """
    away[found.item, here] = step + 1 + int(AWAY * (1.0 + rng.random()))
    if found.other != NOWHERE:
        away[found.other, found.goal] = step + 1 + int(AWAY * (1.0 + rng.random()))


@leaf_kernel
def _best_with(
    instance: Instance, layout: Layout, moving: MovingItems, away: Ints, now: ExchangePrice,
    item: int, goal: int, best: Exchange,
) -> Exchange:  # fmt: skip
    """Return the best exchange of an item with a GPU, or a better one that is known.

    Parameters
    ----------
    instance, layout, moving : the problem as arrays, where every item is, and what moving means
    away : until which step each item stays away from each GPU
    now : what exchanges are judged by
    item, goal : the item and the GPU
    best : the best exchange so far
    """
    here = layout.gpu_of[item]
    if goal == here or away[item, goal] > now.step:
        return best
    before = _excess(instance, layout, here, NOWHERE, NOWHERE, now.target)
    before += _excess(instance, layout, goal, NOWHERE, NOWHERE, now.target)
    unit = (now.target or 1.0) * instance.capacity[here]
    other = NOWHERE
    while True:
        if other == NOWHERE or (moving.movable[other] and away[other, here] <= now.step):
            after = _excess(instance, layout, here, item, other, now.target)
            after += _excess(instance, layout, goal, other, item, now.target)
            gb = gb_after(moving, layout.gpu_of, 0.0, item, other, goal)
            harm = (after - before) / unit + now.price * gb
            if harm < best.harm and can_exchange(instance, layout, item, other, goal):
                best = Exchange(item, other, goal, harm)
        other = layout.first[goal] if other == NOWHERE else layout.after[other]
        if other == NOWHERE:
            return best


@leaf_kernel
def _best_relief(
    instance: Instance, layout: Layout, moving: MovingItems, away: Ints, now: ExchangePrice,
    gpu: int, first: int,
) -> Exchange:  # fmt: skip
    """Return the best exchange for a GPU above the target.

    Parameters
    ----------
    instance, layout, moving, away, now : as `_best_with` takes them
    gpu : the GPU
    first : the GPU that is tried first; it wins where others are as good
    """
    best = Exchange(NOWHERE, NOWHERE, NOWHERE, np.inf)
    gpus = layout.pressure.shape[0]
    item = layout.first[gpu]
    while item != NOWHERE:
        if moving.movable[item]:
            for place in range(first, first + gpus):
                goal = place % gpus
                best = _best_with(instance, layout, moving, away, now, item, goal, best)
        item = layout.after[item]
    return best


@leaf_kernel
def _best_return(
    instance: Instance, layout: Layout, moving: MovingItems, away: Ints, now: ExchangePrice
) -> Exchange:
    """Return the best exchange that brings an item home.

    Parameters
    ----------
    instance, layout, moving, away, now : as `_best_with` takes them
    """
    best = Exchange(NOWHERE, NOWHERE, NOWHERE, np.inf)
    for place in range(moving.free.shape[0]):
        item = moving.free[place]
        goal = moving.home[item]
        if goal != NOWHERE and moving.gb[item, layout.gpu_of[item]] > moving.gb[item, goal]:
            best = _best_with(instance, layout, moving, away, now, item, goal, best)
    return best


@entry_kernel
def relieve_by_pressure(
    instance: Instance, layout: Layout, moving: MovingItems, limits: SoughtLimits,
    rng: np.random.Generator,
) -> bool:  # fmt: skip
    """Exchange items until no pressure is above the target and no more is moved than the budget.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every item is
    moving : what moving means
    limits : what is sought
    rng : the source of all random draws
    """
    target, gb = limits.target, moved_gb(moving, layout.gpu_of)
    gpus, price = layout.pressure.shape[0], first_price(moving, limits)
    away = np.zeros((layout.gpu_of.shape[0], gpus), np.int64)
    for step in range(limits.steps):
        if step & LOOK == 0 and layout.go[0] == 0:
            return False
        gpu = hot_gpu(layout.pressure, target, rng)
        if gpu == NOWHERE and gb <= limits.budget_gb:
            return True
        price = price * ADAPTING if gb > limits.budget_gb else price / ADAPTING
        now = ExchangePrice(target, price, step)
        if gpu == NOWHERE:
            best = _best_return(instance, layout, moving, away, now)
        else:
            first = int(rng.random() * gpus)
            best = _best_relief(instance, layout, moving, away, now, gpu, first)
        if best.item == NOWHERE:
            continue
        here = layout.gpu_of[best.item]
        exchange(instance, layout, best.item, best.other, best.goal)
        gb = moved_gb(moving, layout.gpu_of)
        keep_away(away, best, here, step, rng)
    return hot_gpu(layout.pressure, target, rng) == NOWHERE and gb <= limits.budget_gb
