"""Exchange: two GPUs give each other up to two models each, where load has many windows.

Of four models on each of two GPUs, nearly every division is such an exchange. The search walks from
one placement to the next like annealing: a GPU costs a high power of its pressure over a target
just below the peak, and an exchange may raise the cost a little, by chance. So GPUs above the
target count most, but the others make room for them too. Every other pair has a GPU above the
target. Of all exchanges of a pair, the walk takes the cheapest.

Nearly all exchanges fail in a window that is busy for the whole fleet, so these are looked at
first, some at a time. Models that rules bind stay where they are.
"""

from typing import NamedTuple

import numpy as np

from colocate.problem.instance import Bools, Floats, Instance, Ints, frozen
from colocate.problem.kernel import entry_kernel, kernel_section, leaf_kernel, leaf_section
from colocate.problem.layout import NOWHERE, Layout, put, take
from colocate.problem.pressure import lower, within
from colocate.problem.rules import HOME
from colocate.problem.tolerance import FIT

BLOCK = 16
"""Windows that are looked at together."""
MOST_MODELS = 8
"""Models of a GPU that can leave it in one exchange; of more, some are drawn."""
FOCUS = 0.5
"""How often the first GPU of a pair is one above the target."""
WARMTH = 0.3
"""How much an exchange may raise the cost, on average; a GPU at the target costs 1."""
NEARER, AHEAD = 0.3, 0.001
"""A new target is this share of the gap below the peak, but at most this share of the peak."""


class SwapTable(NamedTuple):
    """The models as an exchange looks at them; one more row of zeros stands for no model."""

    size: Floats
    """size[n + 1]: GB a model always holds."""
    load: Floats
    """load[n + 1, T]: its load, the busiest window of the fleet first, in whole blocks."""
    free: Bools
    """free[n]: whether no rule binds a model."""


class SwapPair(NamedTuple):
    """Two GPUs, and what they could give each other."""

    models: Ints
    """models[2, MOST_MODELS + 1]: first no model, then those that could leave each GPU."""
    length: Ints
    """length[2]: how many they are, with no model."""
    first: Ints
    """first[2]: the busiest window of each."""
    chosen: Ints
    """chosen[4]: the best exchange: two models of the first GPU, and two of the other."""


def sorted_for_exchange(instance: Instance) -> tuple[Instance, SwapTable]:
    """Return an instance with its windows in the order of an exchange, and its models."""
    models, windows = instance.load.shape
    order = np.argsort(-instance.load.sum(axis=0), kind="stable")
    load = np.zeros((models + 1, -(-windows // BLOCK) * BLOCK))
    load[:models, :windows] = instance.load[:, order]
    size = np.append(instance.size, 0.0)
    rules = instance.rules
    free = (
        (rules.pin == 0) & (rules.shard_group < 0) & ~rules.coloured & (rules.item[:-1, HOME] < 0)
    )
    for array in (load, size, free):
        array.setflags(write=False)
    return frozen(instance._replace(load=load[:models])), SwapTable(size, load, free)


@leaf_kernel
def draw_models(
    layout: Layout, models: SwapTable, gpu: int, pair: SwapPair, side: int, rng: np.random.Generator
) -> None:
    """Write down the models that could leave a GPU, by chance if they are many.

    Parameters
    ----------
    layout, models : where every model is now, and the models
    gpu : the GPU
    pair, side : filled; the side of the GPU
    rng : the source of all random draws
    """
    pair.models[side, 0] = models.size.shape[0] - 1
    count = 0
    model = layout.first[gpu]
    while model != NOWHERE:
        if models.free[model]:
            count += 1
            place = count
            # Reservoir sampling: of many models, each has the same chance.
            if count > MOST_MODELS:
                place = 1 + int(rng.random() * count)
            if place <= MOST_MODELS:
                pair.models[side, place] = model
        model = layout.after[model]
    pair.length[side] = min(count, MOST_MODELS) + 1


@leaf_kernel
def busiest(layout: Layout, gpu: int) -> int:
    """Return the window in which a GPU has most load."""
    best = 0
    for window in range(layout.load.shape[1]):
        if layout.load[gpu, window] > layout.load[gpu, best]:
            best = window
    return best


@leaf_section
def all_below(
    layout: Layout,
    load: Floats,
    one: int,
    other: int,
    swap: Ints,
    first: Ints,
    here: float,
    there: float,
) -> bool:
    """Return whether the loads of two GPUs would stay below a limit each.

    Parameters
    ----------
    layout, load : where every model is now, and the loads of the models
    one, other : the two GPUs
    swap : two models of the first GPU, and two of the other
    first : the windows to look at first, which rule most exchanges out
    here, there : the limits
    """
    a, b, c, d = swap[0], swap[1], swap[2], swap[3]
    for window in first:
        come = load[c, window] + load[d, window] - load[a, window] - load[b, window]
        if layout.load[one, window] + come >= here or layout.load[other, window] - come >= there:
            return False
    for block in range(load.shape[1] // BLOCK):
        above = 0
        for window in range(block * BLOCK, block * BLOCK + BLOCK):
            come = load[c, window] + load[d, window] - load[a, window] - load[b, window]
            above += layout.load[one, window] + come >= here
            above += layout.load[other, window] - come >= there
        if above > 0:
            return False
    return True


@leaf_section
def peaks_after(
    layout: Layout, load: Floats, one: int, other: int, swap: Ints
) -> tuple[float, float]:
    """Return the highest loads of two GPUs after an exchange.

    Parameters
    ----------
    layout, load : where every model is now, and the loads of the models
    one, other : the two GPUs
    swap : two models of the first GPU, and two of the other
    """
    a, b, c, d = swap[0], swap[1], swap[2], swap[3]
    here = there = 0.0
    for window in range(load.shape[1]):
        come = load[c, window] + load[d, window] - load[a, window] - load[b, window]
        here = max(here, layout.load[one, window] + come)
        there = max(there, layout.load[other, window] - come)
    return here, there


@leaf_kernel
def resources_allow(instance: Instance, layout: Layout, gpu: int, swap: Ints, first: int) -> bool:
    """Return whether a GPU has enough of all resources but memory after an exchange.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    gpu : one of the two GPUs
    swap : the exchange
    first : where the models that leave this GPU stand in it: 0 or 2
    """
    kind = instance.kind[gpu]
    models = instance.size.shape[0]
    for resource in range(instance.limit.shape[1]):
        use = layout.use[gpu, resource]
        for place in range(4):
            if swap[place] < models:
                share = instance.use[kind, swap[place], resource]
                use += -share if place // 2 == first // 2 else share
        if not within(use, instance.limit[gpu, resource]):
            return False
    return True


@leaf_kernel
def best_exchange(
    instance: Instance,
    layout: Layout,
    models: SwapTable,
    one: int,
    other: int,
    pair: SwapPair,
    swap: Ints,
    target: float,
    power: float,
    cost: float,
) -> int:
    """Look for the cheapest exchange of two GPUs; return how many were looked at.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    models : the models, windows in the same order as in the instance
    one, other : the two GPUs
    pair : what they could give each other; `chosen` is filled if an exchange costs less than `cost`
    swap : four numbers to work with
    target, power : a GPU costs its pressure over the target to this power
    cost : what the two GPUs must cost less than
    """
    size, load = models.size, models.load
    limit = target * cost ** (1.0 / power)
    free_here = instance.capacity[one] - layout.used[one]
    free_there = instance.capacity[other] - layout.used[other]
    looked_at = 0
    first = pair.first
    first[0] = busiest(layout, one)
    first[1] = busiest(layout, other)
    for i in range(pair.length[0]):
        for j in range(i if i == 0 else i + 1, pair.length[0]):
            swap[0], swap[1] = pair.models[0, i], pair.models[0, j]
            for k in range(pair.length[1]):
                for m in range(k if k == 0 else k + 1, pair.length[1]):
                    swap[2], swap[3] = pair.models[1, k], pair.models[1, m]
                    grown = size[swap[2]] + size[swap[3]] - size[swap[0]] - size[swap[1]]
                    here, there = free_here - grown, free_there + grown
                    if (
                        here <= instance.capacity[one] * FIT
                        or there <= instance.capacity[other] * FIT
                        or j + m == 0
                        or not all_below(
                            layout, load, one, other, swap, first, here * limit, there * limit
                        )
                    ):
                        continue
                    peak, peak_there = peaks_after(layout, load, one, other, swap)
                    found = (peak / here / target) ** power + (peak_there / there / target) ** power
                    if (
                        found < cost
                        and resources_allow(instance, layout, one, swap, 0)
                        and resources_allow(instance, layout, other, swap, 2)
                    ):
                        cost = found
                        limit = target * cost ** (1.0 / power)
                        for place in range(4):
                            pair.chosen[place] = swap[place]
            looked_at += pair.length[1] * (pair.length[1] + 1) // 2
    return looked_at


@kernel_section
def make_exchange(instance: Instance, layout: Layout, one: int, other: int, swap: Ints) -> None:
    """Let two GPUs exchange models.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    one, other : the two GPUs
    swap : two models of the first GPU, and two of the other
    """
    models = instance.size.shape[0]
    for place in range(4):
        if swap[place] < models:
            take(instance, layout, swap[place])
    for place in range(4):
        if swap[place] < models:
            put(instance, layout, swap[place], other if place < 2 else one)


@kernel_section
def gpus_above(layout: Layout, target: float, found: Ints) -> int:
    """Write down the GPUs above a target; return how many there are.

    Parameters
    ----------
    layout : where every model is now
    target : a pressure
    found : filled with the GPUs
    """
    count = 0
    for gpu in range(layout.pressure.shape[0]):
        if layout.pressure[gpu] > target:
            found[count] = gpu
            count += 1
    return count


@entry_kernel
def walk(
    instance: Instance,
    layout: Layout,
    models: SwapTable,
    rng: np.random.Generator,
    bound: float,
    target: float,
    power: float,
    looks: int,
    best: Ints,
) -> tuple[float, float]:
    """Exchange models between pairs of GPUs; return the lowest peak and the last target.

    Several short walks that pass the target on are the same as one long walk.

    Parameters
    ----------
    instance, layout : the problem as arrays, windows in the order of the models; all are placed
    models : the models
    rng : the source of all random draws
    bound : no placement is below it; the walk ends there
    target : the pressure to come below; infinite at the beginning
    power : a GPU costs its pressure over the target to this power
    looks : how many exchanges to look at
    best : filled with the placement of the lowest peak, if that is below the first one
    """
    gpus = layout.pressure.shape[0]
    swap, above = np.zeros(4, np.int64), np.empty(gpus, np.int64)
    chosen = np.full(4, NOWHERE)
    pair = SwapPair(
        np.zeros((2, MOST_MODELS + 1), np.int64),
        np.zeros(2, np.int64),
        np.zeros(2, np.int64),
        chosen,
    )
    lowest = layout.pressure.max()
    count = gpus_above(layout, target, above)
    done = 0
    while done < looks and lowest > bound and layout.go[0] != 0:
        if count == 0:
            peak = layout.pressure.max()
            target = max(peak * (1.0 - AHEAD), peak - (peak - bound) * NEARER)
            count = gpus_above(layout, target, above)
        one = above[int(rng.random() * count)] if rng.random() < FOCUS else int(rng.random() * gpus)
        other = int(rng.random() * gpus)
        done += 1
        if one == other:
            continue
        draw_models(layout, models, one, pair, 0, rng)
        draw_models(layout, models, other, pair, 1, rng)
        cost = (layout.pressure[one] / target) ** power + (layout.pressure[other] / target) ** power
        cost -= WARMTH * np.log(1.0 - rng.random())
        chosen[0] = NOWHERE
        done += best_exchange(instance, layout, models, one, other, pair, swap, target, power, cost)
        if chosen[0] == NOWHERE:
            continue
        make_exchange(instance, layout, one, other, chosen)
        count = gpus_above(layout, target, above)
        if lower(layout.pressure.max(), lowest):
            lowest = layout.pressure.max()
            best[:] = layout.gpu_of
    return lowest, target
