"""Ruin and recreate: empty a few GPUs and place their models anew among them."""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from colocate.problem.instance import Instance, Ints
from colocate.problem.kernel import kernel, kernel_section
from colocate.problem.layout import NOWHERE, Layout, fits, pressure_after, put, take
from colocate.problem.pressure import lower, peak_load
from colocate.solver.construct.orders import descending
from colocate.solver.improve.bottleneck import lowest_other_gpu, random_bottleneck


class Recreate(IntEnum):
    """The order in which the models come back."""

    BY_SIZE = 0
    BY_VIRTUAL_SIZE = 1
    AT_RANDOM = 2


class Ruin(NamedTuple):
    """Which GPUs are emptied and refilled: the bottleneck and some random others."""

    others: int = 2
    more_when_stalled: int = 0
    """How many more others once patience has run out."""
    recreate: Recreate = Recreate.BY_SIZE
    guided: bool = False
    """Whether the lowest GPU is the first of the others."""
    share: float = 1.0
    """The bottleneck is drawn from the GPUs with at least this share of the peak."""


@kernel
def ruined_gpus(layout: Layout, rule: Ruin, others: int, rng: Generator) -> Ints:
    """Choose the GPUs to empty: the bottleneck and that many others.

    Parameters
    ----------
    layout : where every model is now
    rule : how GPUs are chosen
    others : how many GPUs besides the bottleneck
    rng : the source of all random draws
    """
    gpus = layout.first.shape[0]
    chosen = np.empty(min(gpus, 1 + others), np.int64)
    chosen[0] = random_bottleneck(layout, rule.share, rng)
    count = 1
    if rule.guided and chosen.shape[0] > 1:
        chosen[1] = lowest_other_gpu(layout, chosen[0])
        count = 2
    # Drawn again if known already: there are few, so that is cheaper than a shuffle of all GPUs.
    while count < chosen.shape[0]:
        gpu = int(rng.random() * gpus)
        known = False
        for place in range(count):
            known = known or chosen[place] == gpu
        if not known:
            chosen[count] = gpu
            count += 1
    return chosen


@kernel_section
def models_of(layout: Layout, gpus: Ints) -> Ints:
    """Return the models of several GPUs."""
    count = 0
    for gpu in gpus:
        model = layout.first[gpu]
        while model != NOWHERE:
            count += 1
            model = layout.after[model]
    models = np.empty(count, np.int64)
    for gpu in gpus:
        model = layout.first[gpu]
        while model != NOWHERE:
            count -= 1
            models[count] = model
            model = layout.after[model]
    return models


@kernel_section
def queued(instance: Instance, models: Ints, order: int, peak: float, rng: Generator) -> Ints:
    """Return the models in the order in which they come back.

    Parameters
    ----------
    instance : the problem as arrays
    models : the models that come back
    order : what they are sorted by, one of `Recreate`
    peak : the peak before, the K of the virtual sizes
    rng : the source of all random draws
    """
    key = np.empty(models.shape[0])
    for place in range(models.shape[0]):
        size = instance.size[models[place]]
        if order == Recreate.AT_RANDOM:
            key[place] = rng.random()
        # At an infinite peak every virtual size is infinite; sizes alone still tell models apart.
        elif order == Recreate.BY_VIRTUAL_SIZE and peak < np.inf:
            key[place] = peak_load(instance.load, models[place]) + peak * size
        else:
            key[place] = size
    ranks = descending(key, key)
    for place in range(models.shape[0]):
        ranks[place] = models[ranks[place]]
    return ranks


@kernel_section
def refill(instance: Instance, layout: Layout, gpus: Ints, models: Ints) -> bool:
    """Place models among GPUs, each where the resulting pressure is lowest; False if stuck.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    gpus : the emptied GPUs
    models : the models in the order in which they come back
    """
    for model in models:
        best = NOWHERE
        lowest = np.inf
        for gpu in gpus:
            if fits(instance, layout, gpu, NOWHERE, model):
                value = pressure_after(instance, layout, gpu, NOWHERE, model)
                if best == NOWHERE or lower(value, lowest):
                    best = gpu
                    lowest = value
        # The order may leave no room for the last models; the caller then restores all.
        if best == NOWHERE:
            return False
        put(instance, layout, model, best)
    return True


@kernel
def restore(instance: Instance, layout: Layout, models: Ints, homes: Ints) -> None:
    """Bring models back to where they were.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    models : the models
    homes : where each of them was
    """
    for model in models:
        if layout.gpu_of[model] != NOWHERE:
            take(instance, layout, model)
    for place in range(models.shape[0]):
        put(instance, layout, models[place], homes[place])


@kernel
def rearrange(
    instance: Instance, layout: Layout, gpus: Ints, order: int, rng: Generator
) -> tuple[bool, Ints, Ints]:
    """Empty the GPUs and refill them.

    Returns whether it worked (if not, the layout is as before), and what `restore` needs to undo
    it: the models and their old GPUs.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    gpus : the GPUs
    order : in which order the models come back, one of `Recreate`
    rng : the source of all random draws
    """
    # The peak before the ruin: afterwards the emptied GPUs would hide it.
    peak = layout.pressure.max()
    models = models_of(layout, gpus)
    homes = np.empty_like(models)
    for place in range(models.shape[0]):
        homes[place] = layout.gpu_of[models[place]]
        take(instance, layout, models[place])
    worked = refill(instance, layout, gpus, queued(instance, models, order, peak, rng))
    if not worked:
        restore(instance, layout, models, homes)
    return worked, models, homes


@kernel
def sum_of_squares(layout: Layout, gpus: Ints) -> float:
    """Return the sum of the squared pressures of some GPUs."""
    total = 0.0
    for gpu in gpus:
        total += layout.pressure[gpu] ** 2
    return total
