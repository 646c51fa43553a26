"""Simulated annealing with moves, swaps and small ruins."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from colocate.problem.instance import Instance
from colocate.problem.kernel import entry_kernel, kernel, kernel_section
from colocate.problem.layout import NOWHERE, Layout, arrange, fits, models_on, move
from colocate.problem.pressure import lower
from colocate.solver.improve.bottleneck import highest_gpu
from colocate.solver.improve.kicks import random_gpu_but, swappable
from colocate.solver.improve.ruin import Ruin, rearrange, restore, ruined_gpus


class Annealing(NamedTuple):
    """Accept worse placements with a probability that falls as the temperature falls.

    The energy is the peak, plus `penalty` times the mean squared pressure divided by the first
    peak.
    """

    penalty: float = 0.01
    """How much the variance counts: a small penalty breaks ties, a large one smooths."""
    bias: float = 0.0
    """Probability that a move starts at the highest GPU rather than anywhere."""
    ruins: float = 0.0
    """Probability of a ruin and recreate instead of a move."""
    ruin: Ruin = Ruin(others=1)
    steps: int = 2000
    hot: float = 0.05
    cold: float = 0.0005
    """First and last temperature as shares of the first peak."""

    def improve(self, instance: Instance, layout: Layout, rng: Generator) -> None:
        """Lower the peak of the layout in place."""
        anneal(instance, layout, self, rng)


@kernel
def energy(layout: Layout, penalty: float, scale: float) -> float:
    """Return the energy that annealing lowers.

    Parameters
    ----------
    layout : where every model is now
    penalty : how much the variance counts
    scale : the first peak
    """
    squares = 0.0
    for value in layout.pressure:
        squares += value * value
    return float(layout.pressure.max() + penalty * squares / layout.pressure.shape[0] / scale)


@kernel
def random_model(layout: Layout, bias: float, rng: Generator) -> int:
    """Return a random model, with probability `bias` one of the highest GPU.

    Parameters
    ----------
    layout : where every model is now
    bias : the probability of drawing from the highest GPU
    rng : the source of all random draws
    """
    if rng.random() < bias:
        models = models_on(layout, highest_gpu(layout))
        return int(models[int(rng.random() * models.shape[0])])
    return int(rng.random() * layout.gpu_of.shape[0])


@kernel_section
def random_change(
    instance: Instance, layout: Layout, bias: float, rng: Generator
) -> tuple[int, int, int]:
    """Relocate or swap at random; return the model, its old GPU and its partner (or `NOWHERE`).

    The model is `NOWHERE` if the change did not fit, so nothing happened.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    bias : the probability of starting at the highest GPU
    rng : the source of all random draws
    """
    model = random_model(layout, bias, rng)
    home = layout.gpu_of[model]
    if rng.random() < 0.5:
        gpu = random_gpu_but(layout, home, rng)
        if fits(instance, layout, gpu, NOWHERE, model):
            move(instance, layout, model, gpu)
            return model, home, NOWHERE
        return NOWHERE, home, NOWHERE
    other = int(rng.random() * layout.gpu_of.shape[0])
    if swappable(instance, layout, model, other):
        move(instance, layout, model, layout.gpu_of[other])
        move(instance, layout, other, home)
        return model, home, other
    return NOWHERE, home, NOWHERE


@kernel
def cooler_accepts(new: float, old: float, temperature: float, rng: Generator) -> bool:
    """Apply the rule of Metropolis: worse is accepted with probability exp(-loss / temperature).

    Parameters
    ----------
    new, old : the energies after and before the change
    temperature : how much of a loss is likely to be accepted
    rng : the source of all random draws
    """
    if not lower(old, new):
        return True
    return new < np.inf and rng.random() < np.exp((old - new) / temperature)


@kernel_section
def anneal_step(
    instance: Instance,
    layout: Layout,
    rule: Annealing,
    scale: float,
    temperature: float,
    rng: Generator,
) -> None:
    """Make one random change and undo it unless it is accepted.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    rule : how hot it begins, and how it cools
    scale : the first peak
    temperature : the temperature of this step
    rng : the source of all random draws
    """
    before = energy(layout, rule.penalty, scale)
    if rng.random() < rule.ruins:
        # A ruin changes several GPUs at once; single moves get there only through worse placements.
        gpus = ruined_gpus(layout, rule.ruin, rule.ruin.others, rng)
        worked, models, homes = rearrange(instance, layout, gpus, rule.ruin.recreate, rng)
        after = energy(layout, rule.penalty, scale)
        if worked and not cooler_accepts(after, before, temperature, rng):
            restore(instance, layout, models, homes)
        return
    model, home, other = random_change(instance, layout, rule.bias, rng)
    if model == NOWHERE:
        return
    if not cooler_accepts(energy(layout, rule.penalty, scale), before, temperature, rng):
        # Undone in reverse order: the partner first, so that its old GPU is known from the model.
        if other != NOWHERE:
            move(instance, layout, other, layout.gpu_of[model])
        move(instance, layout, model, home)


@entry_kernel
def anneal(instance: Instance, layout: Layout, rule: Annealing, rng: Generator) -> None:
    """Cool down and leave the best placement seen in the layout.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    rule : how hot it begins, and how it cools
    rng : the source of all random draws
    """
    scale = layout.pressure.max()
    if layout.first.shape[0] < 2 or scale == 0.0:
        return
    # Any scale will do: until the first finite peak, all energies are infinite anyway.
    if np.isinf(scale):
        scale = 1.0
    best = layout.gpu_of.copy()
    lowest = layout.pressure.max()
    for step in range(rule.steps):
        if layout.go[0] == 0:
            break
        share = step / rule.steps
        # It falls geometrically, so losses of every order of magnitude get as many steps.
        temperature = scale * rule.hot * (rule.cold / rule.hot) ** share
        anneal_step(instance, layout, rule, scale, temperature, rng)
        if lower(layout.pressure.max(), lowest):
            best[:] = layout.gpu_of
            lowest = layout.pressure.max()
    # Annealing may end anywhere: what counts is the best placement on the way.
    arrange(instance, layout, best)
