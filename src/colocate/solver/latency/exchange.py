"""Exchanges: some items go to other GPUs, and back if that does not lower the costs.

Costs are compared from the highest down: the highest of all GPUs that change first, then the second
highest, and so on. Where all are equal, the lower pressure wins.
"""

from typing import NamedTuple

import numpy as np

from colocate.problem.instance import Floats, Instance, Ints
from colocate.problem.kernel import entry_kernel, leaf_kernel
from colocate.problem.layout import NOWHERE, Layout, fits, put, take
from colocate.problem.pressure import lower
from colocate.problem.tolerance import TIE
from colocate.solver.latency.engines import EngineTable, Rating
from colocate.solver.latency.joined import forget_noted, note_joined, rate_noted


class Exchange(NamedTuple):
    """Which items go where."""

    item: Ints
    """item[n]: the items that go, as many as `number[0]` says."""
    goal: Ints
    """goal[n]: where they go."""
    home: Ints
    """home[n]: where they come from; written as they go."""
    number: Ints


def empty_exchange(items: int) -> Exchange:
    """Return an exchange of no items, with room for all."""
    item, goal, home = np.zeros((3, items), np.int64)
    return Exchange(item, goal, home, np.zeros(1, np.int64))


@leaf_kernel
def add(exchange: Exchange, item: int, goal: int) -> None:
    """Let one more item go.

    Parameters
    ----------
    exchange : the exchange
    item, goal : the item, and where it goes
    """
    exchange.item[exchange.number[0]] = item
    exchange.goal[exchange.number[0]] = goal
    exchange.number[0] += 1


@entry_kernel
def rate_all(table: EngineTable, instance: Instance, layout: Layout, rating: Rating) -> None:
    """Write the cost of all GPUs.

    Parameters
    ----------
    table : the engines of all items
    instance, layout : the problem as arrays, and where every item is now
    rating : where the costs go
    """
    for gpu in range(rating.cost.shape[0]):
        if rating.mark[gpu]:
            continue
        note_joined(table, layout, rating, gpu)
        rate_noted(table, instance, layout, rating, np.inf)
        keep_noted(layout, rating)
        forget_noted(rating)


@leaf_kernel
def keep_noted(layout: Layout, rating: Rating) -> None:
    """Take over the new costs of the noted GPUs."""
    for place in range(rating.number[0]):
        gpu = rating.changed[place]
        rating.cost[gpu] = rating.trial[gpu]
        rating.pressure[gpu] = layout.pressure[gpu]


@leaf_kernel
def tried(
    table: EngineTable, instance: Instance, layout: Layout, rating: Rating, exchange: Exchange
) -> bool:
    """Make an exchange; undo it unless it fits and lowers the costs.

    Parameters
    ----------
    table : the engines of all items
    instance, layout : the problem as arrays, and where every item is now
    rating : the cost of every GPU
    exchange : which items go where; empty afterwards
    """
    for place in range(exchange.number[0]):
        item = exchange.item[place]
        exchange.home[place] = layout.gpu_of[item]
        note_joined(table, layout, rating, layout.gpu_of[item])
        note_joined(table, layout, rating, exchange.goal[place])
    done = _made(instance, layout, exchange)
    kept = False
    if done == exchange.number[0]:
        for place in range(done):
            note_joined(table, layout, rating, exchange.goal[place])
        limit = _highest(rating) * (1.0 + TIE)
        kept = rate_noted(table, instance, layout, rating, limit) and _lower(layout, rating)
    if kept:
        keep_noted(layout, rating)
    else:
        unmake(instance, layout, exchange, done)
    forget_noted(rating)
    exchange.number[0] = 0
    return kept


@leaf_kernel
def _made(instance: Instance, layout: Layout, exchange: Exchange) -> int:
    """Let the items go, as long as they fit; return how many have arrived."""
    for place in range(exchange.number[0]):
        take(instance, layout, exchange.item[place])
    for place in range(exchange.number[0]):
        if not fits(instance, layout, exchange.goal[place], NOWHERE, exchange.item[place]):
            return place
        put(instance, layout, exchange.item[place], exchange.goal[place])
    return int(exchange.number[0])


@leaf_kernel
def unmake(instance: Instance, layout: Layout, exchange: Exchange, done: int) -> None:
    """Bring all items back home.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every item is now
    exchange : the items that went
    done : how many of them have arrived
    """
    for place in range(done):
        take(instance, layout, exchange.item[place])
    for place in range(exchange.number[0]):
        put(instance, layout, exchange.item[place], exchange.home[place])


@leaf_kernel
def _highest(rating: Rating) -> float:
    """Return the highest cost of the noted GPUs before the change."""
    highest = 0.0
    for place in range(rating.number[0]):
        highest = max(highest, rating.cost[rating.changed[place]])
    return highest


@leaf_kernel
def _lower(layout: Layout, rating: Rating) -> bool:
    """Return whether the costs of the noted GPUs are lower than before, the highest first."""
    before, after = np.inf, np.inf
    old, new = 0, 0
    for _ in range(rating.number[0]):
        before, old = _next_highest(rating, rating.cost, before, old)
        after, new = _next_highest(rating, rating.trial, after, new)
        if lower(after, before):
            return True
        if lower(before, after):
            return False
    pressed, was_pressed = 0.0, 0.0
    for place in range(rating.number[0]):
        pressed = max(pressed, layout.pressure[rating.changed[place]])
        was_pressed = max(was_pressed, rating.pressure[rating.changed[place]])
    return lower(pressed, was_pressed)


@leaf_kernel
def _next_highest(rating: Rating, cost: Floats, below: float, at: int) -> tuple[float, int]:
    """Return the highest cost of the noted GPUs after another, and how often it came by now.

    Parameters
    ----------
    rating : the noted GPUs
    cost : the costs
    below, at : the last cost, and how often it came
    """
    highest = -1.0
    same = 0
    for place in range(rating.number[0]):
        value = cost[rating.changed[place]]
        if value == below:
            same += 1
        elif value < below:
            highest = max(highest, value)
    if same > at:
        return below, at + 1
    return highest, 1
