"""Rearrange two GPUs at a time, one of them the bottleneck."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from colocate.problem.instance import Instance
from colocate.problem.kernel import entry_kernel, kernel_section
from colocate.problem.layout import NOWHERE, Layout
from colocate.problem.pressure import lower
from colocate.solver.improve.bottleneck import highest_gpu
from colocate.solver.improve.descent import Descent, find_move, make_move
from colocate.solver.improve.kicks import random_gpu_but
from colocate.solver.improve.ruin import Recreate, rearrange, restore


class PairRebalance(NamedTuple):
    """Redistribute the models of the highest GPU and another one, largest virtual size first."""

    rounds: int = 100

    def improve(self, instance: Instance, layout: Layout, rng: Generator) -> None:
        """Lower the peak of the layout in place."""
        rebalance_pairs(instance, layout, self.rounds, rng)


class VariableNeighbourhood(NamedTuple):
    """Move; if nothing helps, swap; if nothing helps, shuffle pairs; repeat after a success."""

    relocate: Descent = Descent(swap=False, best=True)
    swap: Descent = Descent(relocate=False, best=True)
    shuffles: int = 20
    rounds: int = 300

    def improve(self, instance: Instance, layout: Layout, rng: Generator) -> None:
        """Lower the peak of the layout in place."""
        descend_variably(instance, layout, self, rng)


@kernel_section
def try_pair(
    instance: Instance, layout: Layout, source: int, gpu: int, order: int, rng: Generator
) -> bool:
    """Rearrange two GPUs and keep it if the higher of the two pressures goes down.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    source, gpu : the two GPUs
    order : in which order models come back, one of `Recreate`
    rng : the source of all random draws
    """
    pair = np.empty(2, np.int64)
    pair[0] = source
    pair[1] = gpu
    # Only these two GPUs change, so the higher of the two decides.
    before = max(layout.pressure[source], layout.pressure[gpu])
    worked, models, homes = rearrange(instance, layout, pair, order, rng)
    if not worked:
        return False
    if lower(max(layout.pressure[source], layout.pressure[gpu]), before):
        return True
    restore(instance, layout, models, homes)
    return False


@entry_kernel
def rebalance_pairs(instance: Instance, layout: Layout, rounds: int, rng: Generator) -> None:
    """Rebalance the highest GPU with any other while that lowers the peak.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    rounds : the most pairs to rebalance
    rng : the source of all random draws
    """
    for _ in range(rounds):
        if layout.go[0] == 0:
            break
        source = highest_gpu(layout)
        improved = False
        for gpu in range(layout.first.shape[0]):
            if gpu != source and try_pair(
                instance, layout, source, gpu, Recreate.BY_VIRTUAL_SIZE, rng
            ):
                # The highest GPU may be another one now, so the scan begins again.
                improved = True
                break
        if not improved:
            return


@kernel_section
def shuffle_pairs(instance: Instance, layout: Layout, tries: int, rng: Generator) -> bool:
    """Shuffle the highest GPU with random others; True at the first success.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    tries : the most pairs to shuffle
    rng : the source of all random draws
    """
    if layout.first.shape[0] < 2:
        return False
    source = highest_gpu(layout)
    for _ in range(tries):
        gpu = random_gpu_but(layout, source, rng)
        if try_pair(instance, layout, source, gpu, Recreate.AT_RANDOM, rng):
            return True
    return False


@entry_kernel
def descend_variably(
    instance: Instance, layout: Layout, rule: VariableNeighbourhood, rng: Generator
) -> None:
    """Go through the neighbourhoods until none lowers the peak.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    rule : the neighbourhoods, and how long to go on
    rng : the source of all random draws
    """
    for _ in range(rule.rounds):
        if layout.go[0] == 0:
            break
        source = highest_gpu(layout)
        chosen = find_move(instance, layout, source, rule.relocate)
        # From the cheapest neighbourhood to the dearest; after a success, from the cheapest again.
        if chosen.model == NOWHERE:
            chosen = find_move(instance, layout, source, rule.swap)
        if chosen.model != NOWHERE:
            make_move(instance, layout, chosen)
        elif not shuffle_pairs(instance, layout, rule.shuffles, rng):
            return
