"""Kicks: blind changes that lead out of a local optimum."""

from enum import IntEnum

from numpy.random import Generator

from colocate.problem.instance import Instance
from colocate.problem.kernel import kernel, kernel_section
from colocate.problem.layout import NOWHERE, Layout, fits, models_on, move, swap
from colocate.solver.improve.bottleneck import highest_gpu

TRIES = 8
"""How often a random change that does not fit is drawn again."""


class Kick(IntEnum):
    """What to do when descent has stalled."""

    RANDOM_MOVE = 0
    """Any model to any other GPU."""
    FORCED_MOVE = 1
    """A model of the highest GPU to any other GPU."""
    BURST = 2
    """Three to five random moves or swaps."""
    GROWING = 3
    """One random move, then two, up to five, as long as kicks bring nothing."""
    RUIN = 4
    """Ruin and recreate."""


@kernel
def random_gpu_but(layout: Layout, gpu: int, rng: Generator) -> int:
    """Return a random GPU other than `gpu`; there must be one.

    Parameters
    ----------
    layout : where every model is now
    gpu : the GPU that is not drawn
    rng : the source of all random draws
    """
    other = int(rng.random() * (layout.first.shape[0] - 1))
    # Drawn from one GPU fewer and shifted past the one left out: no draw is wasted.
    return other + 1 if other >= gpu else other


@kernel
def random_move(instance: Instance, layout: Layout, rng: Generator) -> None:
    """Move a random model to a random other GPU with room.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    rng : the source of all random draws
    """
    # A full fleet may have no move at all, so this gives up after some tries.
    for _ in range(TRIES):
        model = int(rng.random() * layout.gpu_of.shape[0])
        gpu = random_gpu_but(layout, layout.gpu_of[model], rng)
        if fits(instance, layout, gpu, NOWHERE, model):
            move(instance, layout, model, gpu)
            return


@kernel_section
def random_swap(instance: Instance, layout: Layout, rng: Generator) -> None:
    """Swap two random models on different GPUs if both then fit.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    rng : the source of all random draws
    """
    for _ in range(TRIES):
        one = int(rng.random() * layout.gpu_of.shape[0])
        other = int(rng.random() * layout.gpu_of.shape[0])
        if swappable(instance, layout, one, other):
            swap(instance, layout, one, other)
            return


@kernel
def swappable(instance: Instance, layout: Layout, one: int, other: int) -> bool:
    """Return whether two models are on different GPUs and fit in each other's place.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    one, other : two models
    """
    first = layout.gpu_of[one]
    second = layout.gpu_of[other]
    return (
        first != second
        and fits(instance, layout, first, one, other)
        and fits(instance, layout, second, other, one)
    )


@kernel_section
def forced_move(instance: Instance, layout: Layout, rng: Generator) -> None:
    """Move a random model off the highest GPU, whatever that does to the other GPU.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    rng : the source of all random draws
    """
    source = highest_gpu(layout)
    models = models_on(layout, source)
    if models.shape[0] == 0:
        return
    for _ in range(TRIES):
        model = models[int(rng.random() * models.shape[0])]
        gpu = random_gpu_but(layout, source, rng)
        if fits(instance, layout, gpu, NOWHERE, model):
            move(instance, layout, model, gpu)
            return


@kernel_section
def kick(instance: Instance, layout: Layout, kind: int, moves: int, rng: Generator) -> None:
    """Change the layout blindly.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    kind : how, one of `Kick`
    moves : how many moves a growing kick makes, five at most
    rng : the source of all random draws
    """
    # With a single GPU there is nowhere to go.
    if layout.first.shape[0] < 2:
        return
    if kind == Kick.FORCED_MOVE:
        forced_move(instance, layout, rng)
        return
    count = 1
    if kind == Kick.GROWING:
        count = min(moves, 5)
    elif kind == Kick.BURST:
        count = 3 + int(rng.random() * 3)
    for _ in range(count):
        if kind == Kick.BURST and rng.random() < 0.5:
            random_swap(instance, layout, rng)
        else:
            random_move(instance, layout, rng)
