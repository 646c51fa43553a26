"""Moves of some items at once, which go back if they do not lower the costs.

Costs are compared from the highest down: the highest of all GPUs that change first, then the second
highest, and so on. Where all are equal, the lower pressure wins.
"""

from typing import NamedTuple

import numpy as np

from colocate.problem.instance import Floats, Ints
from colocate.problem.kernel import entry_kernel, leaf_kernel
from colocate.problem.layout import NOWHERE, Layout, fits, put, take
from colocate.problem.pressure import lower
from colocate.problem.tolerance import TIE
from colocate.solver.latency.joined import forget_noted, note_joined, rate_noted
from colocate.solver.latency.now import NOTED, GpuCosts, SearchState


class ItemMoves(NamedTuple):
    """Which items go where."""

    item: Ints
    """item[n]: the items that go, as many as `number[0]` says."""
    goal: Ints
    """goal[n]: where they go."""
    home: Ints
    """home[n]: where they come from; written as they go."""
    number: Ints


def no_moves(items: int) -> ItemMoves:
    """Return moves of no items, with room for all."""
    item, goal, home = np.zeros((3, items), np.int64)
    return ItemMoves(item, goal, home, np.zeros(1, np.int64))


@leaf_kernel
def add_move(moves: ItemMoves, item: int, goal: int) -> None:
    """Let one more item go.

    Parameters
    ----------
    moves : the moves
    item, goal : the item, and where it goes
    """
    moves.item[moves.number[0]] = item
    moves.goal[moves.number[0]] = goal
    moves.number[0] += 1


@entry_kernel
def rate_all(now: SearchState) -> None:
    """Write the cost of all GPUs."""
    for gpu in range(now.costs.cost.shape[0]):
        note_joined(now.table, now.layout, now.costs, gpu)
        rate_noted(now, np.inf)
        keep_noted(now.layout, now.costs)
        forget_noted(now.costs)


@leaf_kernel
def keep_noted(layout: Layout, costs: GpuCosts) -> None:
    """Take over the new costs of the noted GPUs."""
    for place in range(costs.number[NOTED]):
        gpu = costs.changed[place]
        costs.cost[gpu] = costs.trial[gpu]
        costs.pressure[gpu] = layout.pressure[gpu]


@leaf_kernel
def moved(now: SearchState, moves: ItemMoves) -> bool:
    """Move items; bring them back unless they fit and lower the costs.

    Parameters
    ----------
    now : the state of the search
    moves : which items go where; empty afterwards
    """
    layout, costs = now.layout, now.costs
    kept = sent(now, moves)
    if kept:
        kept = rate_noted(now, _highest(costs) * (1.0 + TIE)) and _are_lower(layout, costs)
        if not kept:
            bring_back(now, moves)
    done_with(now, moves, kept)
    return kept


@leaf_kernel
def sent(now: SearchState, moves: ItemMoves) -> bool:
    """Let items go if they fit, and note all GPUs that this concerns; return whether they went.

    Parameters
    ----------
    now : the state of the search
    moves : which items go where
    """
    layout, costs, count = now.layout, now.costs, moves.number[0]
    for place in range(count):
        moves.home[place] = layout.gpu_of[moves.item[place]]
        note_joined(now.table, layout, costs, moves.goal[place])
        note_joined(now.table, layout, costs, moves.home[place])
    for place in range(count):
        take(now.instance, layout, moves.item[place])
    for place in range(count):
        if not fits(now.instance, layout, moves.goal[place], NOWHERE, moves.item[place]):
            for arrived in range(place):
                take(now.instance, layout, moves.item[arrived])
            _put_home(now, moves)
            return False
        put(now.instance, layout, moves.item[place], moves.goal[place])
    for place in range(count):
        note_joined(now.table, layout, costs, moves.goal[place])
    return True


@leaf_kernel
def bring_back(now: SearchState, moves: ItemMoves) -> None:
    """Bring all items back home that were sent.

    Parameters
    ----------
    now : the state of the search
    moves : the items that went
    """
    for place in range(moves.number[0]):
        take(now.instance, now.layout, moves.item[place])
    _put_home(now, moves)


@leaf_kernel
def _put_home(now: SearchState, moves: ItemMoves) -> None:
    """Put all items that are nowhere where they were."""
    for place in range(moves.number[0]):
        put(now.instance, now.layout, moves.item[place], moves.home[place])


@leaf_kernel
def done_with(now: SearchState, moves: ItemMoves, kept: bool) -> None:
    """Forget the moves and the noted GPUs, whose costs are taken over if the moves are kept.

    Parameters
    ----------
    now : the state of the search
    moves : empty afterwards
    kept : whether the moves are kept
    """
    if kept:
        keep_noted(now.layout, now.costs)
    forget_noted(now.costs)
    moves.number[0] = 0


@leaf_kernel
def _highest(costs: GpuCosts) -> float:
    """Return the highest cost of the noted GPUs before the change."""
    highest = 0.0
    for place in range(costs.number[NOTED]):
        highest = max(highest, costs.cost[costs.changed[place]])
    return highest


@leaf_kernel
def _are_lower(layout: Layout, costs: GpuCosts) -> bool:
    """Return whether the costs of the noted GPUs are lower than before, the highest first."""
    before, after = np.inf, np.inf
    old, new = 0, 0
    for _ in range(costs.number[NOTED]):
        before, old = _next_highest(costs, costs.cost, before, old)
        after, new = _next_highest(costs, costs.trial, after, new)
        if lower(after, before):
            return True
        if lower(before, after):
            return False
    pressed, was_pressed = 0.0, 0.0
    for place in range(costs.number[NOTED]):
        pressed = max(pressed, layout.pressure[costs.changed[place]])
        was_pressed = max(was_pressed, costs.pressure[costs.changed[place]])
    return lower(pressed, was_pressed)


@leaf_kernel
def _next_highest(costs: GpuCosts, cost: Floats, below: float, at: int) -> tuple[float, int]:
    """Return the highest cost of the noted GPUs after another, and how often it came by now.

    Parameters
    ----------
    costs : the noted GPUs
    cost : what each of them costs
    below, at : the last cost, and how often it came
    """
    highest = -1.0
    same = 0
    for place in range(costs.number[NOTED]):
        value = cost[costs.changed[place]]
        if value == below:
            same += 1
        elif value < below:
            highest = max(highest, value)
    if same > at:
        return below, at + 1
    return highest, 1
