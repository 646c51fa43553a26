"""Rows of engines that come later, and the lists that tell where everybody is.

Rows are only ever added, so an engine keeps its number. One that has gone keeps its row, with what
was counted of it.
"""

from collections.abc import Sequence, Set

import numpy as np

from colocate.problem.instance import Floats, Ints
from colocate.problem.parts import Part
from colocate.problem.problem import Problem
from colocate.simulate.gpu_groups import joined_gpus
from colocate.simulate.kernel import state as columns
from colocate.simulate.kernel.slots import NEVER
from colocate.simulate.kernel.state import NOBODY, SimulationState
from colocate.simulate.layout import state_of
from colocate.simulate.options import SimulateOptions


def with_engine(
    state: SimulationState,
    problem: Problem,
    parts: Sequence[Part],
    cache_gb: float,
    options: SimulateOptions,
) -> SimulationState:
    """Return the state with one more engine, idle; its memory is not taken from its GPUs yet.

    Parameters
    ----------
    state, problem, options
        The simulation.
    parts, cache_gb
        The parts of the engine, and its cache on each of its GPUs.
    """
    new = state_of(problem, [parts], [cache_gb], [], options, 0)
    row, first = len(state.engines), len(state.parts)
    new.engines[0, columns.FIRST_PART] = first
    new.parts[:, columns.PART_ENGINE] = row
    pools = state.pools
    if not state.settings[columns.ELASTIC]:
        new.parts[:, columns.PART_POOL] += len(pools)
        pools = np.concatenate([pools, new.pools])
    state = _with_row(state, new.engines, new.speeds)._replace(
        parts=np.concatenate([state.parts, new.parts]),
        progress=np.concatenate([state.progress, new.progress]),
        pools=pools,
    )
    return _with_members(state, range(first, first + len(parts)))


def with_waiting_room(state: SimulationState, model: int) -> SimulationState:
    """Return the state with a row in which requests to a model without engines wait.

    It is an engine on no GPU that is never up.
    """
    engine = np.zeros((1, columns.ENGINE_INTS), np.int64)
    engine[0, columns.MODEL] = model
    engine[0, columns.DOWN] = engine[0, columns.SLOTS] = 1
    engine[0, [columns.HEAD, columns.TAIL, columns.CURRENT]] = NOBODY
    engine[0, columns.NEXT_FINISH] = NEVER
    return _with_row(state, engine, np.zeros((1, columns.ENGINE_FLOATS)))


def _with_row(state: SimulationState, engine: Ints, speeds: Floats) -> SimulationState:
    """Return the state with one more row of engines.

    Parameters
    ----------
    state, engine, speeds
        The simulation, and the row.
    """
    width = max(state.slots.shape[1], int(engine[0, columns.SLOTS]))
    slots = np.zeros((len(state.slots) + 1, width), np.int32)
    slots[:-1, : state.slots.shape[1]] = state.slots
    return state._replace(
        engines=np.concatenate([state.engines, engine]),
        speeds=np.concatenate([state.speeds, speeds]),
        slots=slots,
        growing=np.concatenate([state.growing, np.zeros((1, state.growing.shape[1]), np.int32)]),
        elsewhere=np.zeros((len(state.elsewhere) + 1, *state.elsewhere.shape[1:])),
    )


def _with_members(state: SimulationState, parts: range) -> SimulationState:
    """Return the state with more parts on their GPUs."""
    for part in parts:
        gpu = int(state.parts[part, columns.PART_GPU])
        count = int(state.gpus[gpu, columns.MEMBERS])
        if count + 1 >= state.members.shape[1]:
            state = _wider(state)
        state.members[gpu, count] = part
        state.gpus[gpu, columns.MEMBERS] += 1
    return state


def _wider(state: SimulationState) -> SimulationState:
    """Return the state with room for twice as many parts on a GPU."""
    gpus, width = state.members.shape
    members = np.full((gpus, 2 * width), NOBODY, np.int64)
    members[:, :width] = state.members
    ready = np.zeros_like(members)
    for gpu in range(gpus):
        ready[gpu, :width] = np.roll(state.ready[gpu], -int(state.gpus[gpu, columns.READY_FIRST]))
    state.gpus[:, columns.READY_FIRST] = 0
    return state._replace(members=members, ready=ready)


def without_members(state: SimulationState, engine: int) -> Ints:
    """Take the parts of an engine off their GPUs, and return these."""
    first, count = state.engines[engine, [columns.FIRST_PART, columns.PARTS]]
    parts = range(first, first + count)
    for part in parts:
        gpu = int(state.parts[part, columns.PART_GPU])
        others = [other for other in members_of(state, gpu) if other != part]
        state.members[gpu, : len(others)] = others
        state.gpus[gpu, columns.MEMBERS] = len(others)
        if state.gpus[gpu, columns.LAST_PART] == part:
            state.gpus[gpu, columns.LAST_PART] = NOBODY
    state.engines[engine, columns.PARTS] = 0
    gpus: Ints = state.parts[parts.start : parts.stop, columns.PART_GPU]
    return gpus


def members_of(state: SimulationState, gpu: int) -> list[int]:
    """Return the parts on a GPU."""
    found: list[int] = state.members[gpu, : state.gpus[gpu, columns.MEMBERS]].tolist()
    return found


def regrouped(state: SimulationState) -> SimulationState:
    """Return the state with the groups of GPUs that shards join now."""
    firsts, counts = state.engines[:, columns.FIRST_PART], state.engines[:, columns.PARTS]
    gpus_of = [
        state.parts[first : first + count, columns.PART_GPU]
        for first, count in zip(firsts, counts, strict=True)
    ]
    groups = joined_gpus(gpus_of, len(state.gpus))
    group_of = {gpu: number for number, group in enumerate(groups) for gpu in group}
    for engine, gpus in enumerate(gpus_of):
        state.engines[engine, columns.GROUP] = group_of[int(gpus[0])] if len(gpus) else 0
    return state._replace(
        groups=np.array([gpu for group in groups for gpu in group], np.int64),
        first_of_group=np.cumsum([0, *map(len, groups)]).astype(np.int64),
    )


def list_engines(state: SimulationState, engines_of: Sequence[Sequence[int]]) -> None:
    """Tell the router the engines of every model, by number."""
    counts = np.array([len(engines) for engines in engines_of], np.int64)
    state.models[:, columns.ENGINES] = counts
    state.models[:, columns.FIRST_ENGINE] = np.cumsum(counts) - counts
    listed = [engine for engines in engines_of for engine in engines]
    state.engines[: len(listed), columns.LISTED] = listed


def slowed(state: SimulationState, alone: Floats, loading: Set[int], slowdown: float) -> None:
    """Let engines take longer on GPUs that load weights.

    Parameters
    ----------
    state
        The simulation.
    alone
        The times of engines where nothing is loaded.
    loading
        Engines that load.
    slowdown
        By what share they take longer.
    """
    rows = len(alone)
    state.speeds[:rows, : columns.LAYERS] = alone
    for gpu in range(len(state.gpus)):
        on_it = state.parts[members_of(state, gpu), columns.PART_ENGINE]
        if not loading.isdisjoint(on_it.tolist()):
            state.speeds[on_it, : columns.LAYERS] = alone[on_it] * (1.0 + slowdown)
