"""Descent: relieve the bottleneck by moving one model or swapping two, until nothing helps."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from colocate.problem.instance import Instance
from colocate.problem.kernel import entry_kernel, kernel, kernel_section
from colocate.problem.layout import NOWHERE, Layout, fits, move, pressure_after
from colocate.problem.pressure import lower
from colocate.problem.tolerance import TIE
from colocate.solver.improve.bottleneck import highest_gpu


class Descent(NamedTuple):
    """Moves models off the highest GPU until no move helps.

    A move helps if both pressures that it changes end up below the peak.
    """

    relocate: bool = True
    swap: bool = True
    best: bool = False
    """Rate all moves and take the best, instead of the first that helps."""
    smooth: bool = False
    """Also accept moves that keep the peak and lower the sum of squared pressures."""
    guard: float = 1.0
    """Swap only with GPUs below this share of the peak."""
    steps: int = 500
    tolerance: float = 1e-7
    """Share of the peak by which a move must lower it."""

    def improve(self, instance: Instance, layout: Layout, rng: Generator) -> None:
        """Lower the peak of the layout in place."""
        descend(instance, layout, self)


class Move(NamedTuple):
    """One change: `model` to `gpu`, in exchange for `other` unless that is NOWHERE."""

    model: int
    gpu: int
    other: int
    peak: float
    """The higher pressure of the two GPUs afterwards."""
    squares: float
    """Change of the sum of squared pressures."""


@kernel
def no_move() -> Move:
    """Return the value that stands for no move."""
    return Move(NOWHERE, NOWHERE, NOWHERE, np.inf, np.inf)


@kernel
def rated_move(instance: Instance, layout: Layout, model: int, gpu: int, other: int) -> Move:
    """Return the move with its effect, or no move if it does not fit.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    model : the model that moves
    gpu : where it goes
    other : the model that comes back for it, or `NOWHERE`
    """
    source = layout.gpu_of[model]
    # Many options fail here, so pressures are computed only for those that fit.
    if not fits(instance, layout, gpu, other, model):
        return no_move()
    if other != NOWHERE and not fits(instance, layout, source, model, other):
        return no_move()
    at_source = pressure_after(instance, layout, source, model, other)
    at_gpu = pressure_after(instance, layout, gpu, other, model)
    before = layout.pressure[source] ** 2 + layout.pressure[gpu] ** 2
    squares = at_source**2 + at_gpu**2 - before
    return Move(model, gpu, other, max(at_source, at_gpu), squares)


@kernel
def helps(option: Move, peak: float, smooth: bool, tolerance: float) -> bool:
    """Return whether a move lowers the peak or, if asked for, smooths at an equal one.

    Parameters
    ----------
    option : the move
    peak : the peak now
    smooth : whether smoothing at an equal peak helps too
    tolerance : the share of the peak below which two peaks are equal
    """
    if option.model == NOWHERE:
        return False
    if option.peak < peak * (1.0 - tolerance):
        return True
    # Without a strict fall of the squares, moves at an equal peak could go round in circles.
    equal = option.peak <= peak * (1.0 + tolerance)
    return smooth and equal and option.squares < -tolerance * peak * peak


@kernel
def beats(option: Move, best: Move, tolerance: float) -> bool:
    """Return whether a move is the better choice: lower peak, then lower sum of squares.

    Parameters
    ----------
    option, best : the move, and the best one so far
    tolerance : the share of the peak below which two peaks are equal
    """
    if best.model == NOWHERE or option.peak < best.peak * (1.0 - tolerance):
        return True
    # Squares that differ by less are equal up to rounding.
    margin = TIE * option.peak * option.peak
    return option.peak <= best.peak * (1.0 + tolerance) and option.squares < best.squares - margin


@kernel_section
def relocation(instance: Instance, layout: Layout, source: int, rule: Descent) -> Move:
    """Return the first or best helpful relocation off `source`.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    source : the GPU to relieve
    rule : which moves help, and whether the first or the best is wanted
    """
    peak = layout.pressure[source]
    # Stays empty where the first helpful move is wanted.
    best = no_move()
    model = layout.first[source]
    while model != NOWHERE:
        for gpu in range(instance.capacity.shape[0]):
            if gpu == source:
                continue
            option = rated_move(instance, layout, model, gpu, NOWHERE)
            if helps(option, peak, rule.smooth, rule.tolerance):
                if not rule.best:
                    return option
                if beats(option, best, rule.tolerance):
                    best = option
        model = layout.after[model]
    return best


@kernel_section
def exchange(instance: Instance, layout: Layout, source: int, rule: Descent) -> Move:
    """Return the first or best helpful swap between `source` and another GPU.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    source, rule : the GPU to relieve, and which moves help
    """
    peak = layout.pressure[source]
    best = no_move()
    model = layout.first[source]
    while model != NOWHERE:
        for gpu in range(instance.capacity.shape[0]):
            # A GPU close to the peak itself can hardly take more: the guard saves rating its swaps.
            if gpu == source or lower(peak * rule.guard, layout.pressure[gpu]):
                continue
            other = layout.first[gpu]
            while other != NOWHERE:
                option = rated_move(instance, layout, model, gpu, other)
                if helps(option, peak, rule.smooth, rule.tolerance):
                    if not rule.best:
                        return option
                    if beats(option, best, rule.tolerance):
                        best = option
                other = layout.after[other]
        model = layout.after[model]
    return best


@kernel
def find_move(instance: Instance, layout: Layout, source: int, rule: Descent) -> Move:
    """Return a helpful move off `source`: relocations first, then swaps.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    source : the GPU to relieve
    rule : which moves are tried
    """
    best = no_move()
    if rule.relocate:
        best = relocation(instance, layout, source, rule)
        if best.model != NOWHERE and not rule.best:
            return best
    # Swaps come second: there are as many as pairs of models, and far fewer relocations.
    if rule.swap:
        option = exchange(instance, layout, source, rule)
        if option.model != NOWHERE and beats(option, best, rule.tolerance):
            best = option
    return best


@kernel
def make_move(instance: Instance, layout: Layout, chosen: Move) -> None:
    """Carry out a move.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    chosen : the move
    """
    home = layout.gpu_of[chosen.model]
    move(instance, layout, chosen.model, chosen.gpu)
    if chosen.other != NOWHERE:
        move(instance, layout, chosen.other, home)


@entry_kernel
def descend(instance: Instance, layout: Layout, rule: Descent) -> None:
    """Make helpful moves off the highest GPU until there is none.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    rule : which moves are tried, and how many are made
    """
    for _ in range(rule.steps):
        if layout.go[0] == 0:
            break
        # Looked up anew each time: a move may have made another GPU the highest.
        chosen = find_move(instance, layout, highest_gpu(layout), rule)
        if chosen.model == NOWHERE:
            return
        make_move(instance, layout, chosen)
