"""Regrouping: empty the bottleneck and a few other GPUs, and refill them by exact search.

The search asks for a peak a little lower than now. Its success decides how much lower the next one
asks for, and how large groups are. A step touches a handful of GPUs and finds the bottleneck in a
tournament, so its cost does not grow with the fleet.
"""

from typing import NamedTuple

import numpy as np

from colocate.problem.instance import Floats, Instance, Ints
from colocate.problem.kernel import entry_kernel, kernel, kernel_section, leaf_kernel
from colocate.problem.layout import NOWHERE, Layout, fits, gather, node_count, put, take
from colocate.problem.rules import BY_NODE, FIRST, NODE
from colocate.problem.tolerance import TIE
from colocate.solver.construct.completion import Outcome, Tape, complete
from colocate.solver.construct.tournament import replay, tournament

NODES = 2000
"""The most nodes of the exact search in one group."""
FEWEST_MODELS = 6
"""The lowest limit on the models of a group; with fewer there is little to rearrange."""
SMALL_GROUP, LARGE_GROUP = 14.0, 64.0
"""The reach, the most models of a group, moves between these two."""
MOST_MODELS = 1024
"""Models that a group can hold at all; two GPUs with many models are a group all the same."""
MOST_GPUS = 64
"""GPUs that a group can hold."""
BOLDER, MEEKER, LEAST_SHARE, MOST_SHARE = 1.1, 0.98, 1e-5, 0.5
"""How success and failure change the share of the distance to the bound that a search asks for."""
WIDER, NARROWER, MUCH_NARROWER = 0.005, 0.02, 0.5
"""How the reach changes when a group had no solution, took too long, or was solved."""
GATHERING = 0.3
"""How often a step gathers room instead. It fills any GPUs anew, one after the other, to the
pressure of the bottleneck, which leaves their room on the last one. A search that asks for the
bound itself fills them to the bound."""
RIVALS = 64.0
"""A GPU that joins a group is the least pressed of a random number of GPUs, up to this one."""
NEAR = 0.5
"""How often a GPU is drawn from the node of the first one, where rules tie items to nodes."""
SHARE, REACH, MOST = 0, 1, 2
"""Where these figures stand in a `Pace`."""
FAR = 1e6
"""The first target, in bounds, where the pressure is infinite."""


class Pace(NamedTuple):
    """What a search has learned about itself; kept between runs."""

    figures: Floats
    """figures[SHARE]: the share of the distance to the bound to ask for, at most figures[MOST];
    figures[REACH]: the most models of a group."""


def fresh_pace() -> Pace:
    """Return the pace of a search that knows nothing yet."""
    return Pace(np.array([0.3, SMALL_GROUP, MOST_SHARE]))


def bold_pace() -> Pace:
    """Return the pace of a search that asks for the bound itself, as if it were reachable."""
    return Pace(np.array([1.0, SMALL_GROUP, 1.0]))


@kernel
def any_gpu(instance: Instance, near: int, rng: np.random.Generator) -> int:
    """Draw any GPU, from one node if asked for.

    Parameters
    ----------
    instance : the problem as arrays
    near : a GPU of that node, or `NOWHERE`
    rng : the source of all random draws
    """
    rules = instance.rules
    first, end = 0, instance.capacity.shape[0]
    if near != NOWHERE:
        node = rules.gpu[near, NODE]
        first, end = rules.gpu[node, FIRST], rules.gpu[node + 1, FIRST]
    return int(rules.gpu[first + int(rng.random() * (end - first)), BY_NODE])


@kernel
def draw_gpu(
    instance: Instance, layout: Layout, near: int, idle: bool, rng: np.random.Generator
) -> int:
    """Draw any GPU, or the least pressed of a few.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    near : a GPU of the node to draw from, or `NOWHERE`
    idle : whether to take the least pressed of a few
    rng : the source of all random draws
    """
    gpu = any_gpu(instance, near, rng)
    if idle:
        # The number of rivals is itself random, few more often than many: always taking the idlest
        # GPU would draw the same groups again and again.
        for _ in range(int(RIVALS ** rng.random())):
            rival = any_gpu(instance, near, rng)
            if layout.pressure[rival] < layout.pressure[gpu]:
                gpu = rival
    return gpu


@leaf_kernel
def join(layout: Layout, gpu: int, group: Ints, size: int, models: Ints, count: int) -> int:
    """Let a GPU join a group; return how many models the group then has.

    Returns `NOWHERE` if the GPU is in the group already, or has more models than there is room for.

    Parameters
    ----------
    layout : where every model is now
    gpu : the GPU
    group, size : the GPUs of the group, and how many there are
    models, count : the models of the group, and how many there are
    """
    for place in range(size):
        if group[place] == gpu:
            return NOWHERE
    together = gather(layout, gpu, models, count)
    if together != NOWHERE:
        group[size] = gpu
    return together


@kernel_section
def draw_group(
    instance: Instance, layout: Layout, peak: int, reach: float, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Draw GPUs to go with a first one, every other one rather idle; return all with their models.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    peak : the first GPU of the group, mostly the bottleneck
    reach : about how many models the group may have; two GPUs are always a group
    rng : the source of all random draws
    """
    bound_to_nodes = node_count(instance) > 1
    limit = FEWEST_MODELS + rng.random() * (reach - FEWEST_MODELS)
    group = np.full(min(layout.pressure.shape[0], MOST_GPUS), peak)
    models = np.empty(MOST_MODELS, np.int64)
    size = 0
    count = 0
    gpu = peak
    for attempt in range(2 * MOST_GPUS):
        if attempt > 0:
            near = peak if bound_to_nodes and rng.random() < NEAR else NOWHERE
            gpu = draw_gpu(instance, layout, near, size % 2 == 0, rng)
        together = join(layout, gpu, group, size, models, count)
        if together == NOWHERE:
            continue
        count = together
        size += 1
        # A bottleneck alone cannot improve, so a group has two GPUs whatever the limit.
        if size == group.shape[0] or (size > 1 and count >= limit):
            break
    return group[:size], models[:count]


@kernel
def rehouse(instance: Instance, layout: Layout, models: Ints, homes: Ints) -> None:
    """Move models to their new homes.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    models : the models
    homes : where each of them goes
    """
    for model in models:
        take(instance, layout, model)
    for place in range(models.shape[0]):
        put(instance, layout, models[place], homes[place])


@kernel_section
def all_within(instance: Instance, layout: Layout, gpus: Ints, target: float) -> bool:
    """Return whether GPUs hold no more than they may and no pressure is above a target.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    gpus : the GPUs
    target : the highest pressure allowed; infinite counts memory alone
    """
    for gpu in gpus:
        if layout.pressure[gpu] > target or not fits(instance, layout, gpu, NOWHERE, NOWHERE):
            return False
    return True


@kernel_section
def step(
    instance: Instance,
    layout: Layout,
    rng: np.random.Generator,
    bound: float,
    figures: Floats,
    winners: Ints,
    tape: Tape,
) -> int:
    """Regroup once, around the bottleneck or to gather room; return the nodes spent.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    rng : the source of all random draws
    bound : no placement is below it
    figures : what the search has learned, as in `Pace`; updated
    winners : the tournament of pressures; brought up to date
    tape : an empty tape: decisions are not kept
    """
    peak = layout.pressure[winners[1]]
    gathering = False
    if np.isinf(peak):
        around, target = winners[1], FAR * bound
    elif rng.random() < GATHERING:
        gathering = True
        around = int(rng.random() * layout.pressure.shape[0])
        target = bound if figures[MOST] == 1.0 else peak
    else:
        around, target = winners[1], peak - (peak - bound) * figures[SHARE]
    group, models = draw_group(instance, layout, around, figures[REACH], rng)
    outcome, order, homes, visited, _ = complete(
        instance, models, group, target, NODES, layout.go, tape
    )
    solved = False
    if outcome == Outcome.FOUND:
        old_homes = layout.gpu_of[order]
        rehouse(instance, layout, order, homes)
        # The exact search is generous about rounding: the layout, added up anew, decides.
        solved = all_within(instance, layout, group, target * (1.0 + TIE))
        if not solved:
            rehouse(instance, layout, order, old_homes)
        for gpu in group:
            replay(winners, layout.pressure, gpu)
    # Gathering asks for no lower peak, so it says nothing about the pace.
    if not gathering:
        learn(figures, outcome, solved)
    return int(visited + models.shape[0] + 1)


@kernel_section
def learn(figures: Floats, outcome: int, solved: bool) -> None:
    """Ask for more after a success, for less after a failure, in groups that can be searched.

    Parameters
    ----------
    figures : what the search has learned, as in `Pace`; updated
    outcome : how the search of a group ended, an `Outcome`
    solved : whether the group is better now
    """
    if solved:
        figures[SHARE] = min(figures[SHARE] * BOLDER, figures[MOST])
        figures[REACH] = max(figures[REACH] - MUCH_NARROWER, SMALL_GROUP)
        return
    figures[SHARE] = max(figures[SHARE] * MEEKER, LEAST_SHARE)
    # No solution in a small group: a larger one may have one. Too many nodes: a smaller one.
    if outcome == Outcome.NONE:
        figures[REACH] = min(figures[REACH] + WIDER, LARGE_GROUP)
    else:
        figures[REACH] = max(figures[REACH] - NARROWER, SMALL_GROUP)


@entry_kernel
def regroup(
    instance: Instance,
    layout: Layout,
    rng: np.random.Generator,
    bound: float,
    pace: Pace,
    nodes: int,
) -> bool:
    """Take steps until the nodes are used up; return whether the peak went down.

    Several short runs with one pace are the same as one long run.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    rng : the source of all random draws
    bound : no placement is below it; the search ends there
    pace : what the search has learned; kept between runs
    nodes : how many nodes to search
    """
    winners = tournament(layout.pressure)
    tape = np.empty(0, np.uint16)
    before = layout.pressure[winners[1]]
    spent = 0
    while spent < nodes and layout.pressure[winners[1]] > bound * (1.0 + TIE):
        if layout.go[0] == 0:
            break
        spent += step(instance, layout, rng, bound, pace.figures, winners, tape)
    return bool(layout.pressure[winners[1]] < before)
