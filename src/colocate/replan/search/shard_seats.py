"""Other GPUs for engines with shards, which move as a whole."""

from collections.abc import Iterator
from itertools import combinations
from math import comb

import numpy as np

from colocate.problem.instance import Floats, Ints
from colocate.replan.search.item_homes import ItemHomes

MOST_SETS = 60
"""Sets of GPUs of a node up to which all are tried: all pairs of 11, all fours of 8 but a few."""


def seats_elsewhere(homes: ItemHomes, gpu_of: Ints, values: Floats) -> Iterator[Ints]:
    """Yield placements in which one engine with shards is on other GPUs of one node.

    Where a node has many, they are taken in rows, those with the lowest values first. Whether the
    engine fits there is for the caller to see.

    Parameters
    ----------
    homes
        The items, and where they are now.
    gpu_of, values
        A placement, and what each of its GPUs comes to.
    """
    rules = homes.reduction.instance.rules
    for items in homes.shard_groups:
        mine = frozenset(gpu_of[items].tolist())
        free = rules.open[rules.pin[items[0]]].copy()
        free[_gpus_of_replicas(homes, gpu_of, items)] = False
        for node in np.unique(rules.node):
            here = np.flatnonzero(free & (rules.node == node))
            for gpus in _sets(here[np.argsort(values[here], kind="stable")], len(items)):
                if mine != frozenset(gpus):
                    found = gpu_of.copy()
                    found[items] = gpus
                    yield found


def _gpus_of_replicas(homes: ItemHomes, gpu_of: Ints, items: Ints) -> Ints:
    """Return the GPUs of other engines of the same models."""
    every = homes.reduction.items
    models = {model.name for model in every[items[0]].models}
    others = (
        number
        for number, item in enumerate(every)
        if number not in items and not models.isdisjoint(model.name for model in item.models)
    )
    return gpu_of[list(others)]


def _sets(gpus: Ints, size: int) -> Iterator[tuple[int, ...]]:
    """Yield sets of GPUs: all of them if they are few, else those that follow each other."""
    names = gpus.tolist()
    if comb(len(names), size) <= MOST_SETS:
        yield from combinations(names, size)
    else:
        yield from (tuple(names[n : n + size]) for n in range(len(names) - size + 1))
