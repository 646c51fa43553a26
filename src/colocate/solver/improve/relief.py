"""Narrow, cheap ways to relieve the highest GPU, each for one kind of trouble."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from colocate.problem.instance import Instance, Ints
from colocate.problem.kernel import entry_kernel, kernel
from colocate.problem.layout import NOWHERE, Layout
from colocate.problem.pressure import lower, peak_load
from colocate.problem.tolerance import ROUNDING
from colocate.solver.improve.bottleneck import highest_gpu, second_highest_gpu
from colocate.solver.improve.descent import Move, beats, make_move, no_move, rated_move


class PeakRelief(NamedTuple):
    """Move a few heavy models of the highest GPU to the lowest ones."""

    passes: int = 2
    targets: int = 2
    pool: int = 12
    """How many models are looked at: half by load, the rest by size, without repeats."""

    def improve(self, instance: Instance, layout: Layout, rng: Generator) -> None:
        """Lower the peak of the layout in place."""
        relieve_peak(instance, layout, self)


class WorstPairSwaps(NamedTuple):
    """Swap one for one between the highest and the second-highest GPU."""

    rounds: int = 12

    def improve(self, instance: Instance, layout: Layout, rng: Generator) -> None:
        """Lower the peak of the layout in place."""
        swap_worst_pair(instance, layout, self.rounds)


class IdleRelief(NamedTuple):
    """Move models without load off the highest GPU, where they only take memory."""

    rounds: int = 400

    def improve(self, instance: Instance, layout: Layout, rng: Generator) -> None:
        """Lower the peak of the layout in place."""
        send_idle_away(instance, layout, self.rounds)


@kernel
def stricter(option: Move, best: Move, peak: float) -> Move:
    """Return the option if it lowers the peak and beats the best so far, else the best.

    Parameters
    ----------
    option, best : a move, and the best one so far
    peak : the peak now
    """
    if option.peak < peak * (1.0 - ROUNDING) and beats(option, best, ROUNDING):
        return option
    return best


@kernel
def lowest_gpus(layout: Layout, source: int, count: int) -> Ints:
    """Return the GPUs with the lowest pressures other than `source`, at most `count`.

    Parameters
    ----------
    layout : where every model is now
    source : a GPU that does not count
    count : how many GPUs are wanted
    """
    gpus = layout.pressure.shape[0]
    chosen = np.empty(min(count, gpus - 1), np.int64)
    taken = np.zeros(gpus, np.bool_)
    taken[source] = True
    # Repeated minimum instead of a sort: a handful of GPUs is wanted, and ties go to the first.
    for rank in range(chosen.shape[0]):
        best = NOWHERE
        for gpu in range(gpus):
            if not taken[gpu] and (
                best == NOWHERE or lower(layout.pressure[gpu], layout.pressure[best])
            ):
                best = gpu
        chosen[rank] = best
        taken[best] = True
    return chosen


@kernel
def is_heavy(instance: Instance, layout: Layout, model: int, pool: int) -> bool:
    """Return whether a model is in the pool of its GPU: half of it by load, the rest by size.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    model : the model
    pool : how many models of a GPU are looked at
    """
    heavier = 0
    larger = 0
    load = peak_load(instance.load, model)
    other = layout.first[layout.gpu_of[model]]
    while other != NOWHERE:
        # Ties go to the lower index, so that no two models have the same rank.
        first = other < model
        other_load = peak_load(instance.load, other)
        if other_load > load or (first and other_load == load):
            heavier += 1
        if instance.size[other] > instance.size[model] or (
            first and instance.size[other] == instance.size[model]
        ):
            larger += 1
        other = layout.after[other]
    # At least one of each, so that a pool of one still looks at load and at size.
    return heavier < max(1, pool // 2) or larger < max(1, pool - pool // 2)


@entry_kernel
def relieve_peak(instance: Instance, layout: Layout, rule: PeakRelief) -> None:
    """Make the best donation off the highest GPU, once a pass.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    rule : how many passes, targets and models are tried
    """
    for _ in range(rule.passes):
        if layout.go[0] == 0:
            break
        source = highest_gpu(layout)
        # Only the lowest GPUs are tried: they can take a heavy model without becoming the peak.
        targets = lowest_gpus(layout, source, rule.targets)
        best = no_move()
        model = layout.first[source]
        while model != NOWHERE:
            if is_heavy(instance, layout, model, rule.pool):
                for gpu in targets:
                    option = rated_move(instance, layout, model, gpu, NOWHERE)
                    best = stricter(option, best, layout.pressure[source])
            model = layout.after[model]
        if best.model == NOWHERE:
            return
        make_move(instance, layout, best)


@entry_kernel
def swap_worst_pair(instance: Instance, layout: Layout, rounds: int) -> None:
    """Make the best swap between the two highest GPUs while one lowers the peak.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    rounds : the most swaps
    """
    for _ in range(rounds):
        if layout.go[0] == 0:
            break
        source = highest_gpu(layout)
        # Where the two highest are nearly equal, relieving one alone leaves the peak to the other.
        second = second_highest_gpu(layout, source)
        if second == NOWHERE:
            return
        best = no_move()
        model = layout.first[source]
        while model != NOWHERE:
            other = layout.first[second]
            while other != NOWHERE:
                option = rated_move(instance, layout, model, second, other)
                best = stricter(option, best, layout.pressure[source])
                other = layout.after[other]
            model = layout.after[model]
        if best.model == NOWHERE:
            return
        make_move(instance, layout, best)


@entry_kernel
def send_idle_away(instance: Instance, layout: Layout, rounds: int) -> None:
    """Relocate an idle model off the highest GPU while one lowers the peak.

    At an equal peak the larger model wins: it leaves the lower sum of squares.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    rounds : the most moves
    """
    for _ in range(rounds):
        if layout.go[0] == 0:
            break
        source = highest_gpu(layout)
        best = no_move()
        model = layout.first[source]
        while model != NOWHERE:
            if peak_load(instance.load, model) == 0.0:
                for gpu in range(instance.capacity.shape[0]):
                    if gpu != source:
                        option = rated_move(instance, layout, model, gpu, NOWHERE)
                        best = stricter(option, best, layout.pressure[source])
            model = layout.after[model]
        # Another round would find nothing either.
        if best.model == NOWHERE:
            return
        make_move(instance, layout, best)
