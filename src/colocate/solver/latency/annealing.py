"""Annealing by latency: changes by chance, of which ever fewer may make a placement worse.

Every GPU counts, the more the closer it is to the one that costs most: it counts a high power of
its cost over the highest, and that power rises. So GPUs that are well below the peak are arranged
for less in all before the peak alone matters. Most exchanges drawn are far too dear, and a guess
tells that without rating them. Shard groups move as a whole, and may change nodes.
"""

from math import log
from typing import NamedTuple

import numpy as np

from colocate.problem.exchange import can_exchange
from colocate.problem.instance import Floats, Ints
from colocate.problem.kernel import entry_kernel, leaf_kernel
from colocate.problem.layout import NOWHERE
from colocate.problem.tolerance import TIE
from colocate.solver.improve.shard_moves import ShardGroups
from colocate.solver.latency.group_moves import draw_group_move
from colocate.solver.latency.guess import guessed
from colocate.solver.latency.item_moves import ItemMoves, add_move, bring_back, done_with, sent
from colocate.solver.latency.joined import rate_noted
from colocate.solver.latency.now import NOTED, SearchState

GROUPS = 0.05
"""How often a shard group moves, where there are any."""
SWAPS = 0.9
"""Of all other draws, the share in which two items change places; in the rest, one goes to any
GPU."""
SAME_STAGE = 1000
"""Draws in one stage."""
SURE = 0.99
"""The share of a guess that a GPU costs at least, nearly always."""


class Stage(NamedTuple):
    """What holds for some draws."""

    heat: float
    """By how much a change may be worse, on average, where a GPU at the peak counts 1."""
    power: float
    """Of the cost of a GPU over the peak, which is what it counts."""
    peak: float
    """The highest cost of late."""


class AnnealingRoom(NamedTuple):
    """What annealing needs beside the state of a search."""

    lines: Floats
    """What guesses are made from: see `guess`."""
    free: Ints
    """The items that move one by one."""
    groups: ShardGroups
    moves: ItemMoves
    """Room to work in."""


@leaf_kernel
def _counted(cost: float, stage: Stage) -> float:
    """Return what a GPU with this cost counts."""
    return float((cost / stage.peak) ** stage.power)


@leaf_kernel
def _sum_noted(now: SearchState, cost: Floats, stage: Stage) -> float:
    """Return what the noted GPUs count.

    Parameters
    ----------
    now : the state of the search
    cost : what each GPU costs
    stage : what holds now
    """
    total = 0.0
    for place in range(now.costs.number[NOTED]):
        total += _counted(cost[now.costs.changed[place]], stage)
    return total


@leaf_kernel
def _made(now: SearchState, moves: ItemMoves, stage: Stage, harm: float) -> bool:
    """Move items if what that adds is no more than allowed; return whether they moved.

    Parameters
    ----------
    now : the state of the search
    moves : which items go where; empty afterwards
    stage : what holds now
    harm : the most that may be added
    """
    made = sent(now, moves)
    if made:
        most = _sum_noted(now, now.costs.cost, stage) + harm
        made = rate_noted(now, stage.peak * most ** (1.0 / stage.power))
        made = made and _sum_noted(now, now.costs.trial, stage) <= most
        if not made:
            bring_back(now, moves)
    done_with(now, moves, made)
    return made


@leaf_kernel
def _draw_exchange(
    now: SearchState, room: AnnealingRoom, stage: Stage, harm: float, rng: np.random.Generator
) -> bool:
    """Draw an exchange, and note its moves; False if it cannot be, or seems too dear.

    Parameters
    ----------
    now, room : the state of the search, and what annealing needs
    stage : what holds now
    harm : the most that may be added
    rng : the source of all random draws
    """
    gpu_of, cost, free = now.layout.gpu_of, now.costs.cost, room.free
    item, other = free[int(rng.random() * free.shape[0])], NOWHERE
    if rng.random() < SWAPS:
        other = free[int(rng.random() * free.shape[0])]
        goal = gpu_of[other]
    else:
        goal = int(rng.random() * cost.shape[0])
    if not can_exchange(now.instance, now.layout, item, other, goal):
        return False
    here = gpu_of[item]
    most = _counted(cost[here], stage) + _counted(cost[goal], stage) + harm
    there = SURE * guessed(now, room.lines, goal, other, item)
    if _counted(there, stage) > most:
        return False
    left = SURE * guessed(now, room.lines, here, item, other)
    if _counted(there, stage) + _counted(left, stage) > most:
        return False
    # The GPU that is likelier to be too dear is rated first: often that is enough.
    if other != NOWHERE and left > there:
        add_move(room.moves, other, here)
    add_move(room.moves, item, goal)
    if other != NOWHERE and left <= there:
        add_move(room.moves, other, here)
    return True


@leaf_kernel
def between(first: Stage, last: Stage, share: float, peak: float) -> Stage:
    """Return the stage that is so far on the way from one to another.

    Parameters
    ----------
    first, last : where the way begins and ends
    share : how far it is
    peak : the highest cost now
    """
    heat = first.heat * (last.heat / first.heat) ** share
    return Stage(heat, first.power * (last.power / first.power) ** share, peak)


@entry_kernel
def anneal(
    now: SearchState, room: AnnealingRoom, draws: int, stages: tuple[Stage, Stage],
    lowest: float, best: Ints, rng: np.random.Generator,
) -> float:  # fmt: skip
    """Anneal a placement for a while; return the lowest peak so far.

    Parameters
    ----------
    now : the state of the search; all items are placed, and all GPUs rated
    room : what annealing needs beside it
    draws, stages : how many changes are drawn, and what holds for the first and for the last one
    lowest, best : the lowest peak so far, and its placement, which is overwritten by better ones
    rng : the source of all random draws
    """
    cost, stage = now.costs.cost, stages[0]
    groups = GROUPS if room.groups.first.shape[0] > 0 else 0.0
    for draw in range(draws):
        if draw % SAME_STAGE == 0:
            if now.layout.go[0] == 0:
                break
            stage = between(stages[0], stages[1], draw / draws, cost.max())
        harm = -stage.heat * log(1.0 - rng.random())
        if groups > 0.0 and (rng.random() < groups or room.free.shape[0] == 0):
            drawn = draw_group_move(now, room.moves, room.groups, rng)
        else:
            drawn = _draw_exchange(now, room, stage, harm, rng)
        if drawn and _made(now, room.moves, stage, harm) and cost.max() < lowest * (1.0 - TIE):
            lowest = cost.max()
            best[:] = now.layout.gpu_of
    return float(lowest)
