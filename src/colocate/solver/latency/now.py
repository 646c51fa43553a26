"""What kernels of a search by latency share: the problem, where its items are, what GPUs cost."""

from typing import NamedTuple

import numpy as np

from colocate.latency.law import ENGINE_COLUMNS, STATE_COLUMNS
from colocate.problem.instance import Floats, Instance, Ints, frozen
from colocate.problem.layout import Layout, empty_layout
from colocate.problem.reduction import Reduction
from colocate.problem.tolerance import FIT
from colocate.solver.latency.engines import EngineTable, engine_table

NOTED, RATED, PARTIAL = 0, 1, 2
"""Places in `GpuCosts.number`: how many GPUs are noted, how many changes were rated, and whether
items are still missing, so that costs are the least that they can become."""


class GpuCosts(NamedTuple):
    """The cost of every GPU, and room to work in for kernels that rate others."""

    cost: Floats
    """cost[g]: as the layout is now."""
    pressure: Floats
    """pressure[g]: the same for pressures, which decide between equal costs."""
    trial: Floats
    """trial[g]: after a change that may be undone."""
    changed: Ints
    """changed[g]: the GPUs that a change concerns: they are noted here."""
    mark: Ints
    """mark[g]: whether a GPU is noted."""
    number: Ints
    """number[3]: see `NOTED` and the others."""
    rows: Floats
    """rows[e, ENGINE_COLUMNS]: of engines whose GPUs are joined."""
    state: Floats
    """state[e, STATE_COLUMNS]: by the place of an engine in `members`."""
    members: Ints
    """members[e]: the engines that are rated."""
    place: Ints
    """place[e]: the place of an engine in `members`, or -1."""
    share: Floats
    """share[e]: the cache of a part, by the place of its engine in `members`."""
    worst: Floats
    """worst[e]: the ratio of an engine in its worst window, by its number."""
    passed: Ints
    """passed[T]: whether a window is done with, while engines are rated."""


class SearchState(NamedTuple):
    """What a search knows now."""

    table: EngineTable
    """The engines of all items."""
    instance: Instance
    """The problem as arrays."""
    layout: Layout
    """Where every item is."""
    costs: GpuCosts
    """What every GPU costs."""


def no_costs(table: EngineTable) -> GpuCosts:
    """Return room for costs, with every GPU empty."""
    gpus, engines = len(table.memory), len(table.items)
    cost, pressure, trial = np.zeros((3, gpus))
    changed, mark = np.zeros((2, gpus), np.int64)
    share, worst = np.zeros((2, engines))
    return GpuCosts(
        cost,
        pressure,
        trial,
        changed,
        mark,
        np.zeros(3, np.int64),
        np.zeros((engines, ENGINE_COLUMNS)),
        np.zeros((engines, STATE_COLUMNS)),
        np.zeros(engines, np.int64),
        np.full(engines, -1),
        share,
        worst,
        np.zeros(len(table.rows), np.int64),
    )


def empty_state(reduction: Reduction, go: Ints | None = None) -> SearchState:
    """Return a state with every item nowhere; what fits in it fits in the original.

    Parameters
    ----------
    reduction
        The problem as items.
    go
        What tells kernels to stop; None if nobody stops them.
    """
    table, shrunk = engine_table(reduction), 1.0 - FIT / 2
    instance = reduction.instance
    instance = frozen(
        instance._replace(capacity=instance.capacity * shrunk, limit=instance.limit * shrunk)
    )
    layout = empty_layout(instance) if go is None else empty_layout(instance, go)
    return SearchState(table, instance, layout, no_costs(table))
