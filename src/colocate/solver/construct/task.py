"""The question for an exact search: models and GPUs in virtual sizes at a target, sorted.

Virtual sizes turn a limit on the pressure into packing; see `docs/concepts.md`.
"""

from typing import NamedTuple

import numpy as np

from colocate.problem.instance import Floats, Instance, Ints
from colocate.problem.kernel import kernel, kernel_section, leaf_kernel
from colocate.problem.layout import NOWHERE
from colocate.problem.pressure import peak_load
from colocate.problem.rules import ALIKE, COLOURS, HOME, PIN, SHARD_GROUP
from colocate.problem.tolerance import FULL_BUT_FINITE, FULL_UNDER_LOAD, GENEROUS
from colocate.solver.construct.orders import descending

FINITE = float(np.finfo(np.float64).max)
"""The target that stands for any finite pressure: only memory counts, but under load some stays
free."""
BITS = 62
"""How many colours one word holds."""


class PackingTask(NamedTuple):
    """Models, largest first, to be placed on GPUs, in virtual sizes."""

    models: Ints
    """models[n]: indices into the instance."""
    gpus: Ints
    """gpus[g]: indices into the instance."""
    need: Floats
    """need[n, T]: virtual sizes, the busiest window first; sizes alone in one window."""
    room: Floats
    """room[g]: virtual capacities, a little generous."""
    loaded: Ints
    """loaded[n]: 1 if a model has load that counts."""
    reserve: Floats
    """reserve[g]: the part of the virtual capacity that GPUs with load may not use."""
    unlike: Ints
    """unlike[n]: the next model that is not interchangeable with this one."""
    twin: Ints
    """twin[g]: the last GPU before this one that equals it, or NOWHERE."""
    least: float
    """The smallest need in the first window."""
    colours: Ints
    """colours[n, w]: the colours that a model shares with others here, as bits."""
    shard_group: Ints
    """shard_group[n]: the number of its shard group; NOWHERE if it has none, or a fixed node."""
    shard_groups: int
    """How many shard groups there are."""
    ruled: bool
    """Whether any rule says where models may be, or with whom."""


@leaf_kernel
def virtual_size(instance: Instance, model: int, window: int, target: float) -> float:
    """Return `load + target size`, or the size itself if the target counts memory alone.

    Parameters
    ----------
    instance : the problem as arrays
    model, window : the model and the time window
    target : the highest pressure allowed; infinite counts memory alone
    """
    size = float(instance.size[model])
    return size if target >= FINITE else target * size + float(instance.load[model, window])


@kernel
def busiest_windows(instance: Instance, models: Ints) -> Ints:
    """Return the windows, most load first, because a search fails soonest there."""
    total = np.zeros(instance.load.shape[1])
    for model in models:
        for window in range(total.shape[0]):
            total[window] += instance.load[model, window]
    return descending(total, total)


@kernel
def make_task(instance: Instance, models: Ints, gpus: Ints, target: float) -> PackingTask:
    """State a search in virtual sizes.

    Parameters
    ----------
    instance : the problem as arrays
    models, gpus : what is to be placed, and where, as indices into the instance
    target : the highest pressure allowed; infinite counts memory alone
    """
    windows = 1 if target >= FINITE else instance.load.shape[1]
    largest = np.empty(models.shape[0])
    for place in range(models.shape[0]):
        largest[place] = virtual_size(instance, models[place], 0, target)
        for window in range(1, windows):
            largest[place] = max(
                largest[place], virtual_size(instance, models[place], window, target)
            )
    # Large models first: they have the fewest places, so a dead end shows early.
    order = descending(largest, largest)
    busiest = busiest_windows(instance, models)
    need = np.empty((models.shape[0], windows))
    least = np.inf
    for place in range(models.shape[0]):
        order[place] = models[order[place]]
        for window in range(windows):
            need[place, window] = virtual_size(instance, order[place], busiest[window], target)
        least = min(least, need[place, 0])
    scale = 1.0 if target >= FINITE else target
    strict = FULL_BUT_FINITE if target == FINITE else FULL_UNDER_LOAD
    room = np.empty(gpus.shape[0])
    reserve = np.empty(gpus.shape[0])
    for place in range(gpus.shape[0]):
        room[place] = scale * instance.capacity[gpus[place]] * GENEROUS
        # Being generous is safe for memory alone. Under load some memory must stay free, so GPUs
        # with load may not use this part of their room.
        reserve[place] = scale * instance.capacity[gpus[place]] * (GENEROUS - strict)
    loaded = np.zeros(models.shape[0], np.int64)
    for place in range(models.shape[0]):
        if not np.isinf(target) and peak_load(instance.load, order[place]) > 0.0:
            loaded[place] = 1
    colours = colours_of(instance, order)
    shard_group, shard_groups = shard_groups_of(instance, order)
    unlike = np.empty(models.shape[0], np.int64)
    # Backwards, so that each model knows the end of its run of equals in one step.
    for place in range(models.shape[0] - 1, -1, -1):
        unlike[place] = place + 1
        if (
            place + 1 < models.shape[0]
            and shard_group[place] == shard_group[place + 1]
            and alike(instance, order[place], order[place + 1])
        ):
            unlike[place] = unlike[place + 1]
    twin = twins(instance, gpus)
    ruled = shard_groups > 0 or colours.shape[1] > 0
    for item in order:
        rules = instance.rules.item
        ruled = ruled or rules[item, PIN] != 0 or rules[item, HOME] != NOWHERE
    return PackingTask(
        order,
        gpus,
        need,
        room,
        loaded,
        reserve,
        unlike,
        twin,
        least,
        colours,
        shard_group,
        shard_groups,
        ruled,
    )


@leaf_kernel
def alike(instance: Instance, one: int, other: int) -> bool:
    """Return whether two models, in one shard group or in none, are interchangeable.

    Parameters
    ----------
    instance, one, other : the problem as arrays, and two models
    """
    same = instance.size[one] == instance.size[other]
    for window in range(instance.load.shape[1]):
        same = same and instance.load[one, window] == instance.load[other, window]
    if same:
        for resource in range(instance.limit.shape[1]):
            for kind in range(instance.use.shape[0]):
                mine = instance.use[kind, one, resource]
                same = same and mine == instance.use[kind, other, resource]
    return bool(same and under_same_rules(instance, one, other))


@leaf_kernel
def under_same_rules(instance: Instance, one: int, other: int) -> bool:
    """Return whether two models have the same pin, home and colours.

    Parameters
    ----------
    instance, one, other : the problem as arrays, and two models
    """
    rules = instance.rules
    first, second = rules.item[one, COLOURS], rules.item[other, COLOURS]
    count = rules.item[one + 1, COLOURS] - first
    same = (
        rules.item[one, PIN] == rules.item[other, PIN]
        and rules.item[one, HOME] == rules.item[other, HOME]
        and count == rules.item[other + 1, COLOURS] - second
    )
    if same:
        for place in range(count):
            same = same and rules.colour[first + place] == rules.colour[second + place]
    return bool(same)


@kernel_section
def twins(instance: Instance, gpus: Ints) -> Ints:
    """Return for each GPU the last one before it that is like it, or NOWHERE."""
    twin = np.full(gpus.shape[0], NOWHERE)
    kind = instance.rules.gpu[:, ALIKE]
    for place in range(gpus.shape[0]):
        for before in range(place - 1, -1, -1):
            if kind[gpus[before]] == kind[gpus[place]]:
                twin[place] = before
                break
    return twin


@kernel
def colours_of(instance: Instance, models: Ints) -> Ints:
    """Return the colours that two or more of the models have, as bits in words."""
    rules = instance.rules
    count = 0
    for model in models:
        count += rules.item[model + 1, COLOURS] - rules.item[model, COLOURS]
    found = np.empty(count, np.int64)
    count = 0
    for model in models:
        for place in range(rules.item[model, COLOURS], rules.item[model + 1, COLOURS]):
            found[count] = rules.colour[place]
            count += 1
    # Sorted, equal colours are neighbours: one pass keeps those that at least two models have. A
    # colour of a single model forbids nothing here.
    found.sort()
    shared = 0
    for place in range(1, count):
        if found[place] == found[place - 1] and (shared == 0 or found[shared - 1] != found[place]):
            found[shared] = found[place]
            shared += 1
    words = np.zeros((models.shape[0], (shared + BITS - 1) // BITS), np.int64)
    if shared == 0:
        return words
    for number in range(models.shape[0]):
        model = models[number]
        for place in range(rules.item[model, COLOURS], rules.item[model + 1, COLOURS]):
            bit = int(np.searchsorted(found[:shared], rules.colour[place]))
            if bit < shared and found[bit] == rules.colour[place]:
                words[number, bit // BITS] |= np.int64(1) << np.int64(bit % BITS)
    return words


@kernel
def shard_groups_of(instance: Instance, models: Ints) -> tuple[Ints, int]:
    """Return the numbers of shard groups whose node is not fixed, and how many there are."""
    rules = instance.rules
    shard_group = np.full(models.shape[0], NOWHERE)
    found = np.empty(models.shape[0], np.int64)
    count = 0
    for place in range(models.shape[0]):
        model = models[place]
        if rules.item[model, SHARD_GROUP] != NOWHERE and rules.item[model, HOME] == NOWHERE:
            number = 0
            while number < count and found[number] != rules.item[model, SHARD_GROUP]:
                number += 1
            if number == count:
                found[count] = rules.item[model, SHARD_GROUP]
                count += 1
            shard_group[place] = number
    return shard_group, count
