"""Descent: exchanges that lower the costs, from the GPU that costs most down."""

import numpy as np

from colocate.problem.instance import Instance, Ints
from colocate.problem.kernel import entry_kernel, kernel, leaf_kernel
from colocate.problem.layout import NOWHERE, Layout, fits, models_on
from colocate.solver.latency.engines import EngineTable, Rating
from colocate.solver.latency.exchange import Exchange, add, tried


@entry_kernel
def descend(
    table: EngineTable,
    instance: Instance,
    layout: Layout,
    rating: Rating,
    exchange: Exchange,
    depth: int,
    pairs: bool,
) -> bool:
    """Exchange items of the GPUs that cost most, until nothing helps; return whether any did.

    Parameters
    ----------
    table : the engines of all items
    instance, layout : the problem as arrays, and where every item is now
    rating, exchange : the cost of every GPU, and room to work in
    depth : how many GPUs must be beyond help, those that cost most first
    pairs : whether two items may go for one
    """
    improved = False
    rank = 0
    while rank < min(depth, rating.cost.shape[0]) and layout.go[0] != 0:
        order = np.argsort(-rating.cost)
        gpu = order[rank]
        if relieved(table, instance, layout, rating, exchange, gpu, order, pairs):
            improved = True
            rank = 0
        else:
            rank += 1
    return improved


@kernel
def relieved(
    table: EngineTable,
    instance: Instance,
    layout: Layout,
    rating: Rating,
    exchange: Exchange,
    gpu: int,
    order: Ints,
    pairs: bool,
) -> bool:
    """Make the first exchange between a GPU and another one that lowers the costs.

    Parameters
    ----------
    table : the engines of all items
    instance, layout : the problem as arrays, and where every item is now
    rating, exchange : the cost of every GPU, and room to work in
    gpu : the GPU
    order : all GPUs, those that cost least last
    pairs : whether two items may go for one
    """
    here = models_on(layout, gpu)
    for rank in range(order.shape[0] - 1, -1, -1):
        other = order[rank]
        if other == gpu or layout.go[0] == 0:
            continue
        if single_exchange(table, instance, layout, rating, exchange, here, other):
            return True
    if not pairs:
        return False
    for rank in range(order.shape[0] - 1, -1, -1):
        other = order[rank]
        if other == gpu or layout.go[0] == 0:
            continue
        there = models_on(layout, other)
        if pair_exchange(table, instance, layout, rating, exchange, here, there):
            return True
        if pair_exchange(table, instance, layout, rating, exchange, there, here):
            return True
    return False


@leaf_kernel
def single_exchange(
    table: EngineTable,
    instance: Instance,
    layout: Layout,
    rating: Rating,
    exchange: Exchange,
    here: Ints,
    other: int,
) -> bool:
    """Let one item go to another GPU, alone or for one that is there.

    Parameters
    ----------
    table : the engines of all items
    instance, layout : the problem as arrays, and where every item is now
    rating, exchange : the cost of every GPU, and room to work in
    here : the items of a GPU
    other : another GPU
    """
    for item in here:
        home = layout.gpu_of[item]
        if fits(instance, layout, other, NOWHERE, item):
            add(exchange, item, other)
            if tried(table, instance, layout, rating, exchange):
                return True
        rival = layout.first[other]
        while rival != NOWHERE:
            following = layout.after[rival]
            if fits(instance, layout, other, rival, item) and fits(
                instance, layout, home, item, rival
            ):
                add(exchange, item, other)
                add(exchange, rival, home)
                if tried(table, instance, layout, rating, exchange):
                    return True
            rival = following
    return False


@leaf_kernel
def pair_exchange(
    table: EngineTable,
    instance: Instance,
    layout: Layout,
    rating: Rating,
    exchange: Exchange,
    here: Ints,
    there: Ints,
) -> bool:
    """Let two items of a GPU go for one of another.

    Parameters
    ----------
    table : the engines of all items
    instance, layout : the problem as arrays, and where every item is now
    rating, exchange : the cost of every GPU, and room to work in
    here, there : the items of the two GPUs
    """
    for one in range(here.shape[0]):
        for two in range(one):
            for rival in there:
                home, goal = layout.gpu_of[here[one]], layout.gpu_of[rival]
                add(exchange, rival, home)
                add(exchange, here[one], goal)
                add(exchange, here[two], goal)
                if tried(table, instance, layout, rating, exchange):
                    return True
    return False
