"""Emptying a few GPUs and refilling them, with an eye on the target and on what is moved.

Single moves get stuck where a hot model needs a GPU almost for itself: its neighbours must leave
together. Here they do: some GPUs are emptied, and their items go, one after the other, where they
exceed the target least and load least. Worse placements are kept by chance, as in annealing.
"""

from math import exp

import numpy as np

from colocate.problem.instance import Floats, Instance, Ints
from colocate.problem.kernel import entry_kernel, kernel, leaf_kernel
from colocate.problem.layout import NOWHERE, Layout, fits, pressure_after, put, take
from colocate.problem.tolerance import ROUNDING
from colocate.replan.search.kernel.seeking import (
    MovingItems,
    SoughtLimits,
    beyond,
    cooling,
    moved_gb,
    over,
    sum_over,
)

LEAVING = 0.6
"""The share of the items of a further GPU that leave it."""
MOST_GPUS = 3
"""GPUs that are emptied together at most."""
NOISE = 0.6
"""How far the order in which items are put departs from their sizes."""
CARE = 0.5
"""The most that loading a usual item counts when a GPU is chosen for it."""
BLINKS = 0.02
"""The chance to overlook a GPU, so that the same items find other places."""


@leaf_kernel
def _lift(layout: Layout, instance: Instance, gpu: int, moving: MovingItems, lifted: Ints) -> int:
    """List the items of a GPU that may move; return how many."""
    count = 0
    item = layout.first[gpu]
    while item != NOWHERE:
        if moving.movable[item]:
            lifted[count] = item
            count += 1
        item = layout.after[item]
    return count


@kernel
def _best_gpu(
    instance: Instance,
    layout: Layout,
    moving: MovingItems,
    item: int,
    target: float,
    care: float,
    rng: np.random.Generator,
) -> int:
    """Return the GPU where an item exceeds the target least, and loads least; `NOWHERE` if none."""
    best, chosen = np.inf, NOWHERE
    for gpu in range(layout.pressure.shape[0]):
        if not fits(instance, layout, gpu, NOWHERE, item) or rng.random() < BLINKS:
            continue
        after = pressure_after(instance, layout, gpu, NOWHERE, item)
        rank = over(after, target) - over(layout.pressure[gpu], target)
        rank += care * moving.gb[item, gpu] / moving.usual_gb
        # Of equals, the GPU that is filled up most: large rooms stay for large items.
        rank -= 1e-3 * min(after / target, 1.0) if target > 0.0 else 0.0
        if rank < best:
            best, chosen = rank, gpu
    return chosen


@kernel
def _emptied(
    instance: Instance,
    layout: Layout,
    moving: MovingItems,
    target: float,
    lifted: Ints,
    rng: np.random.Generator,
) -> int:
    """Choose GPUs and list the items that leave them; return how many."""
    gpus = layout.pressure.shape[0]
    gpu = int(rng.random() * gpus)
    for _ in range(gpus):
        if layout.pressure[gpu] > target:
            break
        gpu = (gpu + 1) % gpus
    count = _lift(layout, instance, gpu, moving, lifted)
    for _ in range(int(rng.random() * MOST_GPUS) + (count == 0)):
        other = int(rng.random() * gpus)
        if other == gpu:
            continue
        known = count
        count += _lift(layout, instance, other, moving, lifted[count:])
        place = known
        while place < count:
            twice = False
            for before in range(known):
                twice = twice or lifted[before] == lifted[place]
            if twice or rng.random() > LEAVING:
                count -= 1
                lifted[place] = lifted[count]
            else:
                place += 1
    return count


@kernel
def _sort_by_size(
    instance: Instance,
    lifted: Ints,
    count: int,
    target: float,
    key: Floats,
    rng: np.random.Generator,
) -> None:
    """Sort lifted items by size and load at a target, the largest first, with noise."""
    for place in range(count):
        item = lifted[place]
        load = 0.0
        for window in range(instance.load.shape[1]):
            load = max(load, instance.load[item, window])
        key[item] = (load + target * instance.size[item]) * (1.0 - NOISE * rng.random())
    for place in range(1, count):
        item = lifted[place]
        before = place - 1
        while before >= 0 and key[lifted[before]] < key[item]:
            lifted[before + 1] = lifted[before]
            before -= 1
        lifted[before + 1] = item


@entry_kernel
def refill_by_pressure(
    instance: Instance, layout: Layout, moving: MovingItems, limits: SoughtLimits,
    rng: np.random.Generator,
) -> bool:  # fmt: skip
    """Empty and refill GPUs until no pressure is above the target and the budget is kept.

    Parameters
    ----------
    instance, layout, moving, limits, rng : as `seek_by_pressure` takes them
    """
    pressure, target, items = layout.pressure, limits.target, layout.gpu_of.shape[0]
    lifted, home, key = np.empty(items, np.int64), np.empty(items, np.int64), np.empty(items)
    total, gb = sum_over(pressure, target), moved_gb(moving, layout.gpu_of)
    heat, colder = limits.hot, cooling(limits)
    for _ in range(limits.steps):
        if total <= ROUNDING and gb <= limits.budget_gb:
            return True
        if layout.go[0] == 0:
            return False
        heat *= colder
        care = CARE * rng.random() ** 2
        count = _emptied(instance, layout, moving, target, lifted, rng)
        for place in range(count):
            home[lifted[place]] = layout.gpu_of[lifted[place]]
            take(instance, layout, lifted[place])
        _sort_by_size(instance, lifted, count, target, key, rng)
        done = 0
        while done < count:
            item = lifted[done]
            gpu = _best_gpu(instance, layout, moving, item, target, care, rng)
            if gpu == NOWHERE:
                break
            put(instance, layout, item, gpu)
            done += 1
        sum_after, gb_now = 0.0, 0.0
        if done == count:
            sum_after = sum_over(pressure, target)
            gb_now = moved_gb(moving, layout.gpu_of)
        worse = sum_after - total + beyond(gb_now, limits.budget_gb, moving.usual_gb)
        worse -= beyond(gb, limits.budget_gb, moving.usual_gb)
        if done == count and (worse <= 0.0 or rng.random() < exp(-worse / heat)):
            total, gb = sum_after, gb_now
            continue
        for place in range(done):
            take(instance, layout, lifted[place])
        for place in range(count):
            put(instance, layout, lifted[place], home[lifted[place]])
    return total <= ROUNDING and gb <= limits.budget_gb
