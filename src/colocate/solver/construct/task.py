"""What an exact search is asked: models and GPUs, in virtual sizes at a target, sorted.

Virtual sizes turn a limit on the pressure into packing; see `docs/concepts.md`.
"""

from typing import NamedTuple

import numpy as np

from colocate.problem.instance import FIT, Floats, Instance, Ints
from colocate.problem.kernel import kernel, kernel_section
from colocate.problem.layout import NOWHERE
from colocate.problem.pressure import peak_load
from colocate.solver.construct.orders import descending

GENEROUS = 1.0 + 2.0 * FIT
"""What is searched is a little more than what fits, so that rounding loses no placement."""
STRICT = 1.0 + 1e-13
"""The same where there is load: free memory must then be left, however little."""


class Task(NamedTuple):
    """Models, largest first, to be placed on GPUs, in virtual sizes."""

    models: Ints
    """models[n]: indices into the instance."""
    gpus: Ints
    """gpus[g]: indices into the instance."""
    need: Floats
    """need[n, T]: virtual sizes."""
    room: Floats
    """room[g]: virtual capacities, a little generous."""
    loaded: Ints
    """loaded[n]: 1 if a model has load that counts."""
    reserve: Floats
    """reserve[g]: the part of the virtual capacity that is for models without load only."""
    unlike: Ints
    """unlike[n]: the next model that is not interchangeable with this one."""
    twin: Ints
    """twin[g]: the last GPU before this one that is like it, or NOWHERE."""
    least: float
    """The smallest need in window 0."""


@kernel
def virtual_size(instance: Instance, model: int, window: int, target: float) -> float:
    """Return `load + target size`, or the size itself if the target is infinite."""
    size = float(instance.size[model])
    return size if np.isinf(target) else target * size + float(instance.load[model, window])


@kernel
def make_task(instance: Instance, models: Ints, gpus: Ints, target: float) -> Task:
    """State a search in virtual sizes; an infinite target counts memory alone."""
    windows = instance.load.shape[1]
    largest = np.empty(models.shape[0])
    for place in range(models.shape[0]):
        largest[place] = virtual_size(instance, models[place], 0, target)
        for window in range(1, windows):
            largest[place] = max(
                largest[place], virtual_size(instance, models[place], window, target)
            )
    order = descending(largest, largest)
    need = np.empty((models.shape[0], windows))
    least = np.inf
    for place in range(models.shape[0]):
        order[place] = models[order[place]]
        for window in range(windows):
            need[place, window] = virtual_size(instance, order[place], window, target)
        least = min(least, need[place, 0])
    scale = 1.0 if np.isinf(target) else target
    room = np.empty(gpus.shape[0])
    reserve = np.empty(gpus.shape[0])
    for place in range(gpus.shape[0]):
        room[place] = scale * instance.capacity[gpus[place]] * GENEROUS
        reserve[place] = scale * instance.capacity[gpus[place]] * (GENEROUS - STRICT)
    loaded = np.zeros(models.shape[0], np.int64)
    for place in range(models.shape[0]):
        if not np.isinf(target) and peak_load(instance.load, order[place]) > 0.0:
            loaded[place] = 1
    unlike = np.empty(models.shape[0], np.int64)
    for place in range(models.shape[0] - 1, -1, -1):
        unlike[place] = place + 1
        if (
            place + 1 < models.shape[0]
            and loaded[place] == loaded[place + 1]
            and alike(instance, order, need, place, place + 1)
        ):
            unlike[place] = unlike[place + 1]
    twin = twins(instance, gpus)
    return Task(order, gpus, need, room, loaded, reserve, unlike, twin, least)


@kernel_section
def alike(instance: Instance, models: Ints, need: Floats, one: int, other: int) -> bool:
    """Say whether two models are interchangeable."""
    for window in range(need.shape[1]):
        if need[one, window] != need[other, window]:
            return False
    for resource in range(instance.limit.shape[1]):
        for kind in range(instance.use.shape[0]):
            if (
                instance.use[kind, models[one], resource]
                != instance.use[kind, models[other], resource]
            ):
                return False
    return True


@kernel_section
def twins(instance: Instance, gpus: Ints) -> Ints:
    """Return for each GPU the last one before it that is like it, or NOWHERE."""
    twin = np.full(gpus.shape[0], NOWHERE)
    for place in range(gpus.shape[0]):
        one = gpus[place]
        for before in range(place - 1, -1, -1):
            other = gpus[before]
            same = (
                instance.capacity[other] == instance.capacity[one]
                and instance.kind[other] == instance.kind[one]
            )
            for resource in range(instance.limit.shape[1]):
                same = same and instance.limit[other, resource] == instance.limit[one, resource]
            if same:
                twin[place] = before
                break
    return twin
