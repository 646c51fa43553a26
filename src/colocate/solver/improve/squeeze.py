"""Squeezing in: empty a few GPUs and refill them with one item more, by exact search."""

import numpy as np

from colocate.problem.instance import Instance, Ints
from colocate.problem.kernel import entry_kernel, kernel_section
from colocate.problem.layout import NOWHERE, Layout, put, take
from colocate.problem.rules import BY_NODE, FIRST, HOME, PIN
from colocate.solver.construct.completion import Outcome, complete
from colocate.solver.improve.regroup import any_gpu, join

NODES = 2000
"""The most nodes of the exact search in one group."""
MOST_GPUS, MOST_MODELS = 8, 512
"""The most GPUs and models of a group."""
RIVALS = 4
"""A GPU that joins a group has the most free memory of four times so many draws."""
NEAR = 0.7
"""How often a GPU is drawn from the node of the first one."""


@kernel_section
def roomy_gpu(
    instance: Instance, layout: Layout, item: int, near: int, rng: np.random.Generator
) -> int:
    """Draw a GPU with rather much free memory.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    item : an item that it must be open to, or `NOWHERE`
    near : a GPU of the node to draw from, or `NOWHERE`
    rng : the source of all random draws
    """
    rules = instance.rules
    best = NOWHERE
    for _ in range(4 * RIVALS):
        gpu = any_gpu(instance, near, rng)
        if item != NOWHERE and not rules.open[rules.item[item, PIN], gpu]:
            continue
        free = instance.capacity[gpu] - layout.used[gpu]
        if best == NOWHERE or free > instance.capacity[best] - layout.used[best]:
            best = gpu
    return best


@kernel_section
def home_gpu(instance: Instance, layout: Layout, item: int, rng: np.random.Generator) -> int:
    """Draw a GPU that is open to an item; `NOWHERE` if there is none.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    item : the item
    rng : the source of all random draws
    """
    rules = instance.rules
    if rules.item[item, HOME] != NOWHERE:
        return roomy_gpu(
            instance,
            layout,
            item,
            rules.gpu[rules.gpu[rules.item[item, HOME], FIRST], BY_NODE],
            rng,
        )
    gpu = roomy_gpu(instance, layout, item, NOWHERE, rng)
    if gpu != NOWHERE:
        return gpu
    # Chance missed the few GPUs that are open to the item: look at all, from a random one on.
    gpus = instance.capacity.shape[0]
    start = int(rng.random() * gpus)
    for number in range(gpus):
        if rules.open[rules.item[item, PIN], (start + number) % gpus]:
            return int((start + number) % gpus)
    return NOWHERE


@kernel_section
def draw_around(
    instance: Instance, layout: Layout, first: int, models: Ints, rng: np.random.Generator
) -> tuple[Ints, int]:
    """Draw GPUs to go with a first one; return them and the number of models to place.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    first : the first GPU, which is open to the new item
    models : the new item; the models of the GPUs are written behind it
    rng : the source of all random draws
    """
    wanted = 1 + int(rng.random() * MOST_GPUS)
    group = np.empty(MOST_GPUS, np.int64)
    size, count = 0, 1
    for number in range(2 * MOST_GPUS):
        near = first if rng.random() < NEAR else NOWHERE
        gpu = first if number == 0 else roomy_gpu(instance, layout, NOWHERE, near, rng)
        together = join(layout, gpu, group, size, models, count)
        if together == NOWHERE:
            continue
        count = together
        size += 1
        if size == wanted:
            break
    return group[:size], count


@entry_kernel
def squeeze_in(
    instance: Instance,
    layout: Layout,
    item: int,
    target: float,
    rng: np.random.Generator,
    tries: int,
) -> bool:
    """Place an item that is nowhere; False if there was no room for it.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    item : the item
    target : the highest pressure allowed; infinite counts memory alone
    rng : the source of all random draws
    tries : how many groups of GPUs are tried
    """
    tape = np.empty(0, np.uint16)
    models = np.full(MOST_MODELS, item)
    for _ in range(tries):
        first = home_gpu(instance, layout, item, rng)
        if first == NOWHERE or layout.go[0] == 0:
            return False
        group, count = draw_around(instance, layout, first, models, rng)
        if group.shape[0] == 0:
            continue
        outcome, order, homes, _, _ = complete(
            instance, models[:count], group, target, NODES, layout.go, tape
        )
        # Nothing was taken off before the search succeeded, so a failure leaves the layout as it
        # is.
        if outcome == Outcome.FOUND:
            for model in order:
                if model != item:
                    take(instance, layout, model)
            for place in range(count):
                put(instance, layout, order[place], homes[place])
            return True
    return False
