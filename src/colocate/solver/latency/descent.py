"""Descent: moves that lower the costs, from the GPU that costs most down."""

import numpy as np

from colocate.problem.instance import Ints
from colocate.problem.kernel import entry_kernel, kernel, leaf_kernel
from colocate.problem.layout import NOWHERE, fits, models_on
from colocate.solver.latency.item_moves import ItemMoves, add_move, moved
from colocate.solver.latency.now import SearchState


@entry_kernel
def descend(now: SearchState, moves: ItemMoves, depth: int) -> bool:
    """Relieve the GPUs that cost most, until nothing helps; return whether anything did.

    Parameters
    ----------
    now : the state of the search
    moves : room to work in
    depth : how many GPUs must be beyond help, those that cost most first
    """
    improved = False
    rank = 0
    while rank < min(depth, now.costs.cost.shape[0]) and now.layout.go[0] != 0:
        order = np.argsort(now.costs.cost)
        if relieved(now, moves, order[order.shape[0] - 1 - rank], order):
            improved = True
            rank = 0
        else:
            rank += 1
    return improved


@kernel
def relieved(now: SearchState, moves: ItemMoves, gpu: int, order: Ints) -> bool:
    """Make the first moves between a GPU and another one that lower the costs.

    Parameters
    ----------
    now : the state of the search
    moves : room to work in
    gpu : the GPU
    order : all GPUs, those that cost least first
    """
    here = models_on(now.layout, gpu)
    for other in order:
        if other != gpu and now.layout.go[0] != 0 and one_moved(now, moves, here, other):
            return True
    for other in order:
        if other == gpu or now.layout.go[0] == 0:
            continue
        there = models_on(now.layout, other)
        if two_moved(now, moves, here, there) or two_moved(now, moves, there, here):
            return True
    return False


@leaf_kernel
def one_moved(now: SearchState, moves: ItemMoves, here: Ints, other: int) -> bool:
    """Let one item go to another GPU, alone or for one that is there.

    Parameters
    ----------
    now : the state of the search
    moves : room to work in
    here : the items of a GPU
    other : another GPU
    """
    instance, layout = now.instance, now.layout
    for item in here:
        home = layout.gpu_of[item]
        if fits(instance, layout, other, NOWHERE, item):
            add_move(moves, item, other)
            if moved(now, moves):
                return True
        rival = layout.first[other]
        while rival != NOWHERE:
            following = layout.after[rival]
            for_another = fits(instance, layout, other, rival, item)
            if for_another and fits(instance, layout, home, item, rival):
                add_move(moves, item, other)
                add_move(moves, rival, home)
                if moved(now, moves):
                    return True
            rival = following
    return False


@leaf_kernel
def two_moved(now: SearchState, moves: ItemMoves, here: Ints, there: Ints) -> bool:
    """Let two items of a GPU go for one of another.

    Parameters
    ----------
    now : the state of the search
    moves : room to work in
    here, there : the items of the two GPUs
    """
    for one in range(here.shape[0]):
        for two in range(one):
            for rival in there:
                home, goal = now.layout.gpu_of[here[one]], now.layout.gpu_of[rival]
                add_move(moves, rival, home)
                add_move(moves, here[one], goal)
                add_move(moves, here[two], goal)
                if moved(now, moves):
                    return True
    return False
