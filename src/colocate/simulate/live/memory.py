"""The memory of GPUs while engines come and go."""

from collections.abc import Iterator
from typing import NamedTuple

from colocate.errors import InputError
from colocate.fault import Fault, Owner
from colocate.problem.problem import Problem
from colocate.problem.tolerance import FIT
from colocate.simulate.kernel import state as columns
from colocate.simulate.kernel.state import STEP, SimulationState
from colocate.simulate.live.rows import members_of


class PartMemory(NamedTuple):
    """What a part of an engine needs on its GPU, in bytes."""

    gpu: int
    pool: int
    needed: int
    """Its weights, and its cache where it has one of its own."""
    free: int
    """What no engine has; where engines share a cache, all of that."""


def take_memory(state: SimulationState, problem: Problem, engine: int, now: float) -> None:
    """Take the memory of an engine from its GPUs, or say on which it does not fit.

    Where engines share a cache, weights come out of that. If it is in use, requests give way: each
    engine sends its youngest back when it next begins something, until there is enough.

    Parameters
    ----------
    state, problem
        The simulation.
    engine, now
        The engine, and the moment.
    """
    for part in _parts(state, engine):
        gpu = problem.gpus[part.gpu]
        if part.needed > part.free + FIT * gpu.memory_gb * 1e9:
            name = problem.models[int(state.engines[engine, columns.MODEL])].name
            found = (
                f"needs {part.needed / 1e9:.2f} GB on {gpu.name!r} at {now:g} s, where "
                f"{part.free / 1e9:.2f} GB are free"
            )
            advice = "load it later, elsewhere, or with less cache"
            raise InputError(Fault(found, advice=advice, owner=Owner("engine", name)))
    for part in _parts(state, engine):
        _resize(state, part, -part.needed)
        if state.pools[part.pool, columns.FREE] < 0:
            _call_for_room(state, part.gpu)


def give_memory(state: SimulationState, engine: int) -> None:
    """Give the memory of an engine without requests back to its GPUs."""
    for part in _parts(state, engine):
        _resize(state, part, part.needed)


def lacks_memory(state: SimulationState, engine: int) -> bool:
    """Return whether requests still have to give way to an engine."""
    return any(state.pools[part.pool, columns.FREE] < 0 for part in _parts(state, engine))


def _parts(state: SimulationState, engine: int) -> Iterator[PartMemory]:
    first, count = state.engines[engine, [columns.FIRST_PART, columns.PARTS]]
    weights = int(state.engines[engine, columns.WEIGHTS])
    for part in range(first, first + count):
        gpu, pool = (int(state.parts[part, c]) for c in (columns.PART_GPU, columns.PART_POOL))
        size = int(state.pools[pool, columns.CAPACITY])
        if state.settings[columns.ELASTIC]:
            yield PartMemory(gpu, pool, weights, size)
        else:
            yield PartMemory(gpu, pool, weights + size, int(state.gpus[gpu, columns.ROOM]))


def _resize(state: SimulationState, part: PartMemory, more: int) -> None:
    """Give a GPU more free memory, or less.

    Parameters
    ----------
    state, part, more
        The simulation, the part that comes or goes, and the bytes.
    """
    if not state.settings[columns.ELASTIC]:
        room = int(state.gpus[part.gpu, columns.ROOM]) + more
        state.gpus[part.gpu, columns.ROOM] = max(room, 0)
        return
    pool = state.pools[part.pool]
    pool[columns.CAPACITY] = max(int(pool[columns.CAPACITY]) + more, 0)
    pool[columns.FREE] += more
    pool[columns.LEAST_FREE] = min(pool[columns.LEAST_FREE], pool[columns.FREE])
    pool[columns.LARGEST] = max(pool[columns.LARGEST], pool[columns.CAPACITY])


def _call_for_room(state: SimulationState, gpu: int) -> None:
    """Let the engines of a GPU look after their cache when the step under way ends."""
    for part in members_of(state, gpu):
        engine = state.engines[int(state.parts[part, columns.PART_ENGINE])]
        if engine[columns.WORK] == STEP:
            following = engine[columns.STEPS] + 1
            engine[columns.NEXT_FINISH] = min(engine[columns.NEXT_FINISH], following)
