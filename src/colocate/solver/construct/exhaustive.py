"""Depth-first search for any placement under a target: the last resort, and a small proof."""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from colocate.problem.instance import Instance, Ints
from colocate.problem.kernel import kernel
from colocate.problem.layout import NOWHERE, Layout, clear, put, take
from colocate.solver.construct.orders import Order, sorted_models
from colocate.solver.construct.packing import leftover
from colocate.solver.prove.volume import volume_bound


class Outcome(IntEnum):
    """How a search ended."""

    NONE = 0
    FOUND = 1
    UNDECIDED = 2


class Exhaustive(NamedTuple):
    """Search ever higher targets, then memory alone, each with a limit on visited nodes."""

    nodes: int = 20_000
    targets: tuple[float, ...] = (1.5, 2.0, 4.0, 16.0, 256.0)
    """Targets as multiples of the volume bound."""

    def construct(self, instance: Instance, layout: Layout) -> bool:
        """Fill the layout; False if no search found a placement."""
        lowest = volume_bound(instance)
        targets = [factor * lowest for factor in self.targets] if 0.0 < lowest < np.inf else []
        return any(
            search_fit(instance, layout, target, self.nodes) == Outcome.FOUND
            for target in (*targets, np.inf)
        )


@kernel
def same_model(instance: Instance, one: int, other: int) -> bool:
    """Say whether two models are interchangeable."""
    return bool(
        instance.size[one] == instance.size[other]
        and np.all(instance.load[one] == instance.load[other])
        and np.all(instance.use[:, one] == instance.use[:, other])
    )


@kernel
def has_earlier_twin(instance: Instance, layout: Layout, gpu: int) -> bool:
    """Say whether a GPU with a lower index is, with what it holds, just like this one."""
    for other in range(gpu):
        if (
            layout.used[other] == layout.used[gpu]
            and instance.capacity[other] == instance.capacity[gpu]
            and instance.kind[other] == instance.kind[gpu]
            and np.all(layout.load[other] == layout.load[gpu])
            and np.all(layout.use[other] == layout.use[gpu])
            and np.all(instance.limit[other] == instance.limit[gpu])
        ):
            return True
    return False


@kernel
def enough_memory(instance: Instance, layout: Layout, models: Ints, depth: int) -> bool:
    """Say whether the GPUs that can take the smallest model left have memory for all of them."""
    needed = 0.0
    smallest = np.inf
    for model in models[depth:]:
        needed += instance.size[model]
        smallest = min(smallest, instance.size[model])
    free = 0.0
    total = 0.0
    for gpu in range(instance.capacity.shape[0]):
        total += instance.capacity[gpu]
        room = instance.capacity[gpu] - layout.used[gpu]
        if room >= smallest - 1e-9 * instance.capacity[gpu]:
            free += room
    return needed <= free + 1e-9 * total


@kernel
def next_gpu(instance: Instance, layout: Layout, model: int, start: int, target: float) -> int:
    """Return the first GPU from `start` on that is worth trying for the model, or NOWHERE."""
    for gpu in range(start, instance.capacity.shape[0]):
        if leftover(instance, layout, gpu, model, target) >= 0.0 and not has_earlier_twin(
            instance, layout, gpu
        ):
            return gpu
    return NOWHERE


@kernel
def search_fit(instance: Instance, layout: Layout, target: float, nodes: int) -> int:
    """Fill the layout with any placement at the target, or show that there is none.

    Equal models go to GPUs in index order and, of equal GPUs, only the first is tried; both
    remove permutations only, so `Outcome.NONE` is a proof.
    """
    clear(layout)
    models = sorted_models(instance, Order.SIZE_THEN_LOAD, 0.0)
    choice = np.full(models.shape[0] + 1, NOWHERE)
    depth = 0
    visited = 0
    while depth < models.shape[0]:
        model = models[depth]
        start = choice[depth] + 1
        if start == 0 and depth > 0 and same_model(instance, models[depth - 1], model):
            start = choice[depth - 1]
        gpu = NOWHERE
        if choice[depth] != NOWHERE or enough_memory(instance, layout, models, depth):
            gpu = next_gpu(instance, layout, model, start, target)
        if gpu != NOWHERE:
            visited += 1
            if visited > nodes:
                return Outcome.UNDECIDED
            choice[depth] = gpu
            put(instance, layout, model, gpu)
            depth += 1
            continue
        choice[depth] = NOWHERE
        depth -= 1
        if depth < 0:
            return Outcome.NONE
        take(instance, layout, models[depth])
    return Outcome.FOUND
