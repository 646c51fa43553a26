"""A placement while kernels change it: the models of every GPU, and their sums.

The models of a GPU form a linked list in index order, and its sums are added up anew, in that
order, at each change. So sums never drift, and they do not depend on the way that led here.
"""

from typing import NamedTuple, cast

import numpy as np

from colocate.problem.instance import Floats, Instance, Ints
from colocate.problem.kernel import entry_kernel, kernel, leaf_kernel
from colocate.problem.pressure import peak_load, pressure, within
from colocate.problem.rules import COLOURS, HOME, NODE, PIN

NOWHERE = cast(int, np.int64(-1))
"""No GPU, no model. Not a plain int: kernels would be compiled once more for the literal."""
SIDE_BY_SIDE = 8
"""Time windows from which loads are added up in vector instructions: fewer take longer so."""

ALWAYS = np.ones(1, np.int64)
"""The `go` of a layout that nobody stops."""


class Layout(NamedTuple):
    """Where every model is now, and the resulting sums of every GPU."""

    gpu_of: Ints
    """gpu_of[n]: the GPU of a model, or `NOWHERE`."""
    first: Ints
    """first[g]: the first model on a GPU, or `NOWHERE`."""
    after: Ints
    """after[n]: the next model on the same GPU, or `NOWHERE`."""
    used: Floats
    """used[g]: GB held by the models."""
    load: Floats
    """load[g, T]: their loads."""
    use: Floats
    """use[g, R]: their use of further resources."""
    pressure: Floats
    """pressure[g]: the pressure of a GPU."""
    go: Ints
    """go[0]: 0 if whoever changes the layout should stop; another thread may set it."""


def empty_layout(instance: Instance, go: Ints = ALWAYS) -> Layout:
    """Return a layout with every model nowhere."""
    models = instance.size.shape[0]
    gpus = instance.capacity.shape[0]
    return Layout(
        np.full(models, NOWHERE),
        np.full(gpus, NOWHERE),
        np.full(models, NOWHERE),
        np.zeros(gpus),
        np.zeros((gpus, instance.load.shape[1])),
        np.zeros((gpus, instance.limit.shape[1])),
        np.zeros(gpus),
        go,
    )


@leaf_kernel
def clear(layout: Layout) -> None:
    """Take every model off its GPU."""
    layout.gpu_of.fill(NOWHERE)
    layout.first.fill(NOWHERE)
    layout.after.fill(NOWHERE)
    layout.used.fill(0.0)
    layout.load.fill(0.0)
    layout.use.fill(0.0)
    layout.pressure.fill(0.0)


@entry_kernel
def empty(layout: Layout) -> None:
    """Take every model off its GPU, for Python."""
    clear(layout)


@leaf_kernel
def add_up_windows(instance: Instance, layout: Layout, gpu: int) -> None:
    """Recompute the load of one GPU in many time windows.

    Model after model, all windows at once, becomes vector instructions. The sum of each window is
    the same to the last bit as in a walk of its own.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    gpu : the GPU whose models changed
    """
    for window in range(instance.load.shape[1]):
        layout.load[gpu, window] = 0.0
    model = layout.first[gpu]
    while model != NOWHERE:
        for window in range(instance.load.shape[1]):
            layout.load[gpu, window] += instance.load[model, window]
        model = layout.after[model]


@leaf_kernel
def add_up(instance: Instance, layout: Layout, gpu: int) -> None:
    """Recompute the sums and the pressure of one GPU from its models.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    gpu : the GPU whose models changed
    """
    used = 0.0
    model = layout.first[gpu]
    while model != NOWHERE:
        used += instance.size[model]
        model = layout.after[model]
    layout.used[gpu] = used
    # One walk for each sum: a GPU has few models, and no scratch array is needed.
    if instance.load.shape[1] < SIDE_BY_SIDE:
        for window in range(instance.load.shape[1]):
            total = 0.0
            model = layout.first[gpu]
            while model != NOWHERE:
                total += instance.load[model, window]
                model = layout.after[model]
            layout.load[gpu, window] = total
    else:
        add_up_windows(instance, layout, gpu)
    for resource in range(instance.limit.shape[1]):
        total = 0.0
        model = layout.first[gpu]
        while model != NOWHERE:
            total += instance.use[instance.kind[gpu], model, resource]
            model = layout.after[model]
        layout.use[gpu, resource] = total
    layout.pressure[gpu] = pressure(peak_load(layout.load, gpu), used, instance.capacity[gpu])


@leaf_kernel
def put(instance: Instance, layout: Layout, model: int, gpu: int) -> None:
    """Place a model that is nowhere on a GPU.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    model : a model that is nowhere
    gpu : where it goes; whether it fits is not checked
    """
    layout.gpu_of[model] = gpu
    # Lists stay in index order. Sums of floats depend on the order of addition, so two layouts with
    # the same models on a GPU have the same sums to the last bit.
    before = NOWHERE
    following = layout.first[gpu]
    while following != NOWHERE and following < model:
        before = following
        following = layout.after[following]
    layout.after[model] = following
    if before == NOWHERE:
        layout.first[gpu] = model
    else:
        layout.after[before] = model
    add_up(instance, layout, gpu)


@leaf_kernel
def take(instance: Instance, layout: Layout, model: int) -> None:
    """Take a placed model off its GPU.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    model : a model that is on some GPU
    """
    gpu = layout.gpu_of[model]
    layout.gpu_of[model] = NOWHERE
    if layout.first[gpu] == model:
        layout.first[gpu] = layout.after[model]
    else:
        # Lists are short, so a walk to the predecessor is cheaper than links back.
        before = layout.first[gpu]
        while layout.after[before] != model:
            before = layout.after[before]
        layout.after[before] = layout.after[model]
    layout.after[model] = NOWHERE
    add_up(instance, layout, gpu)


@entry_kernel
def arrange(instance: Instance, layout: Layout, gpu_of: Ints) -> None:
    """Place every model where `gpu_of` says.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    gpu_of : the GPU of every model
    """
    clear(layout)
    for model in range(gpu_of.shape[0]):
        put(instance, layout, model, gpu_of[model])


@entry_kernel
def arrange_some(instance: Instance, layout: Layout, gpu_of: Ints) -> None:
    """Place models where `gpu_of` says; those that are NOWHERE there stay off.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    gpu_of : the GPU of every model, or `NOWHERE`
    """
    clear(layout)
    for model in range(gpu_of.shape[0]):
        if gpu_of[model] != NOWHERE:
            put(instance, layout, model, gpu_of[model])


@leaf_kernel
def move(instance: Instance, layout: Layout, model: int, gpu: int) -> None:
    """Move one model to another GPU.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    model : a model that is on some GPU
    gpu : where it goes
    """
    take(instance, layout, model)
    put(instance, layout, model, gpu)


@leaf_kernel
def swap(instance: Instance, layout: Layout, one: int, other: int) -> None:
    """Let two models on different GPUs change places.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    one, other : two models on different GPUs
    """
    home = layout.gpu_of[one]
    move(instance, layout, one, layout.gpu_of[other])
    move(instance, layout, other, home)


@leaf_kernel
def gather(layout: Layout, gpu: int, models: Ints, count: int) -> int:
    """Append a GPU's models to a list; return how many it then has, `NOWHERE` if they do not fit.

    Parameters
    ----------
    layout : where every model is now
    gpu : the GPU to read
    models : the list, with a fixed length
    count : how many models are in the list already
    """
    model = layout.first[gpu]
    while model != NOWHERE:
        if count == models.shape[0]:
            return NOWHERE
        models[count] = model
        count += 1
        model = layout.after[model]
    return count


@kernel
def models_on(layout: Layout, gpu: int) -> Ints:
    """Return the models of a GPU in index order."""
    count = 0
    model = layout.first[gpu]
    while model != NOWHERE:
        count += 1
        model = layout.after[model]
    models = np.empty(count, np.int64)
    model = layout.first[gpu]
    for place in range(count):
        models[place] = model
        model = layout.after[model]
    return models


@leaf_kernel
def admits(instance: Instance, layout: Layout, gpu: int, gone: int, come: int) -> bool:
    """Return whether the rules let a model onto a GPU once another model is gone.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    gpu : the GPU
    gone : the model that leaves, or `NOWHERE`
    come : the model that comes
    """
    rules = instance.rules
    if not rules.open[rules.item[come, PIN], gpu]:
        return False
    if rules.item[come, HOME] != NOWHERE and rules.item[come, HOME] != rules.gpu[gpu, NODE]:
        return False
    # Few models have colours. Without any, the walk over the GPU is saved.
    if rules.item[come, COLOURS] == rules.item[come + 1, COLOURS]:
        return True
    other = layout.first[gpu]
    while other != NOWHERE:
        if other != gone and share_a_colour(instance, come, other):
            return False
        other = layout.after[other]
    return True


@leaf_kernel
def node_count(instance: Instance) -> int:
    """Return how many nodes there are."""
    gpu = instance.rules.gpu
    return int(gpu[gpu.shape[0] - 1, NODE])


@leaf_kernel
def share_a_colour(instance: Instance, one: int, other: int) -> bool:
    """Return whether two models must be on different GPUs.

    Parameters
    ----------
    instance, one, other : the problem as arrays, and two models
    """
    rules = instance.rules
    for mine in range(rules.item[one, COLOURS], rules.item[one + 1, COLOURS]):
        for theirs in range(rules.item[other, COLOURS], rules.item[other + 1, COLOURS]):
            if rules.colour[mine] == rules.colour[theirs]:
                return True
    return False


@leaf_kernel
def fits(instance: Instance, layout: Layout, gpu: int, gone: int, come: int) -> bool:
    """Return whether a GPU can hold its models once one is gone and another has come.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    gpu, gone, come : the GPU, and the models that leave and come; either may be `NOWHERE`
    """
    if come != NOWHERE and not admits(instance, layout, gpu, gone, come):
        return False
    used = layout.used[gpu]
    if gone != NOWHERE:
        used -= instance.size[gone]
    if come != NOWHERE:
        used += instance.size[come]
    # Sums by difference may drift by a rounding, which `within` forgives; `put` adds up anew.
    if not within(used, instance.capacity[gpu]):
        return False
    kind = instance.kind[gpu]
    for resource in range(instance.limit.shape[1]):
        use = layout.use[gpu, resource]
        if gone != NOWHERE:
            use -= instance.use[kind, gone, resource]
        if come != NOWHERE:
            use += instance.use[kind, come, resource]
        if not within(use, instance.limit[gpu, resource]):
            return False
    return True


@leaf_kernel
def pressure_after(instance: Instance, layout: Layout, gpu: int, gone: int, come: int) -> float:
    """Return the pressure of a GPU once one model is gone and another has come.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    gpu, gone, come : the GPU, and the models that leave and come; either may be `NOWHERE`
    """
    # By difference, without touching the layout: most moves that are rated are never made.
    used = layout.used[gpu]
    if gone != NOWHERE:
        used -= instance.size[gone]
    if come != NOWHERE:
        used += instance.size[come]
    highest = 0.0
    for window in range(instance.load.shape[1]):
        load = layout.load[gpu, window]
        if gone != NOWHERE:
            load -= instance.load[gone, window]
        if come != NOWHERE:
            load += instance.load[come, window]
        highest = max(highest, load)
    return pressure(highest, used, instance.capacity[gpu])
