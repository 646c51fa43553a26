"""Models that sleep until somebody asks for them, and the room that others make for them.

A request wakes its model on a GPU where it may be and has room for its weights and its least cache.
If there are several, it is the one with the most room. If there is none, idle engines that may
sleep make room, those first that have been idle longest, on the GPU where the fewest have to. If
that is not enough, nobody is woken, and the request is refused.

Where every engine has a cache of its own, the room on a GPU is what no engine has, and the woken
one takes all of it. Where engines share one, weights come out of the shared pool. Models with
several shards are not woken.
"""

from math import inf

from colocate.problem.instance import Ints
from colocate.problem.kernel import leaf_kernel
from colocate.simulate.kernel.cache import most_blocks
from colocate.simulate.kernel.state import (
    ALARM,
    ASLEEP,
    BACK,
    BLOCK_BYTES,
    CAPACITY,
    COUNTED,
    DOWN,
    ELASTIC,
    FIRST_PART,
    FREE,
    GROUP,
    IDLE,
    IDLE_SECONDS,
    IDLE_SINCE,
    LARGEST,
    LAST_PART,
    LAYERS,
    LEAST,
    LEAST_FREE,
    MAY_SLEEP,
    MEAN_PROMPT,
    MEMBERS,
    NOBODY,
    PART_ENGINE,
    PART_GPU,
    PART_POOL,
    PARTS,
    ROOM,
    WAITING,
    WAKE_SECONDS,
    WARM_UP,
    WEIGHTS,
    WOKEN,
    WORK,
    SimulationState,
)


@leaf_kernel
def wake(state: SimulationState, engine: int, prompt: int, output: int, now: float) -> bool:
    """Wake an engine on a GPU with room for it; return whether there is one.

    Parameters
    ----------
    state, engine, now : the simulation, all up to date, the engine that sleeps, and the moment
    prompt, output : tokens of the request that wakes it
    """
    asked = most_blocks(state, prompt, output) * state.engines[engine, BLOCK_BYTES]
    best, fewest, most_room = NOBODY, len(state.engines) + 1, -1
    for gpu in range(len(state.gpus)):
        if state.elsewhere[engine, gpu, LAYERS] > 0.0:
            evicted, freed = _make_room(state, engine, gpu, now, False)
            room = _room(state, gpu)
            better = evicted < fewest or (evicted == fewest and evicted == 0 and room > most_room)
            if better and asked <= _cache_on(state, engine, gpu) + freed:
                best, fewest, most_room = gpu, evicted, room
    if best == NOBODY:
        return False
    _make_room(state, engine, best, now, True)
    _settle(state, engine, best, now)
    return True


@leaf_kernel
def _room(state: SimulationState, gpu: int) -> int:
    """Return the bytes of a GPU that a woken model may have."""
    if state.settings[ELASTIC]:
        found: int = state.pools[gpu, FREE]
        return found
    room: int = state.gpus[gpu, ROOM]
    return room


@leaf_kernel
def _cache_on(state: SimulationState, engine: int, gpu: int) -> int:
    """Return the bytes of cache that a woken engine would have on a GPU that nobody leaves.

    Parameters
    ----------
    state, engine, gpu : the simulation, the engine and the GPU
    """
    whole = state.pools[gpu, CAPACITY] if state.settings[ELASTIC] else state.gpus[gpu, ROOM]
    found: int = whole - state.engines[engine, WEIGHTS]
    return found


@leaf_kernel
def _make_room(
    state: SimulationState, engine: int, gpu: int, now: float, really: bool
) -> tuple[int, int]:
    """Return how many engines have to leave a GPU so that another one fits, and the bytes they had.

    There are too many where even all that may leave are not enough.

    Parameters
    ----------
    state, engine, gpu, now : the simulation, the engine that needs room, the GPU and the moment
    really : whether they leave
    """
    needed = state.engines[engine, WEIGHTS] + state.engines[engine, LEAST] - _room(state, gpu)
    evicted, freed, since, last = 0, 0, -1.0, NOBODY
    while needed > 0:
        best, first = NOBODY, inf
        for member in range(state.gpus[gpu, MEMBERS]):
            other = state.parts[state.members[gpu, member], PART_ENGINE]
            idle = state.speeds[other, IDLE_SINCE]
            later = idle > since or (idle == since and other > last)
            sooner = idle < first or (idle == first and other < best)
            if _may_leave(state, other, now) and later and sooner:
                best, first = other, idle
        if best == NOBODY:
            return len(state.engines) + 1, freed
        evicted, since, last = evicted + 1, first, best
        freed += _held_for(state, best)
        needed -= _held_for(state, best)
        if really:
            evict(state, best)
    return evicted, freed


@leaf_kernel
def _may_leave(state: SimulationState, engine: int, now: float) -> bool:
    """Return whether an engine may sleep, and has been idle for long enough.

    Parameters
    ----------
    state, engine, now : the simulation, the engine and the moment
    """
    engines = state.engines
    if engines[engine, MAY_SLEEP] == 0 or engines[engine, DOWN]:
        return False
    if engines[engine, WORK] != IDLE or engines[engine, WAITING] > 0:
        return False
    return bool(now - state.speeds[engine, IDLE_SINCE] >= state.spans[IDLE_SECONDS])


@leaf_kernel
def _held_for(state: SimulationState, engine: int) -> int:
    """Return the bytes that an idle engine gives back when it goes to sleep."""
    found: int = state.engines[engine, WEIGHTS]
    if not state.settings[ELASTIC]:
        pool = state.parts[state.engines[engine, FIRST_PART], PART_POOL]
        found += state.pools[pool, CAPACITY]
    return found


@leaf_kernel
def evict(state: SimulationState, engine: int) -> None:
    """Let an idle engine with one part go to sleep.

    Parameters
    ----------
    state, engine : the simulation and the engine
    """
    part = state.engines[engine, FIRST_PART]
    gpu, pool = state.parts[part, PART_GPU], state.parts[part, PART_POOL]
    if state.settings[ELASTIC]:
        _resize(state.pools, pool, state.engines[engine, WEIGHTS])
    else:
        state.gpus[gpu, ROOM] += _held_for(state, engine)
        _resize(state.pools, pool, -state.pools[pool, CAPACITY])
    count = 0
    for member in range(state.gpus[gpu, MEMBERS]):
        other = state.members[gpu, member]
        if other != part:
            state.members[gpu, count] = other
            count += 1
    state.gpus[gpu, MEMBERS] = count
    if state.gpus[gpu, LAST_PART] == part:
        state.gpus[gpu, LAST_PART] = NOBODY
    state.engines[engine, ASLEEP] = 1
    state.engines[engine, DOWN] = 1
    state.engines[engine, PARTS] = 0


@leaf_kernel
def _resize(pools: Ints, pool: int, more: int) -> None:
    pools[pool, CAPACITY] += more
    pools[pool, FREE] += more
    pools[pool, LEAST_FREE] = min(pools[pool, LEAST_FREE], pools[pool, FREE])
    pools[pool, LARGEST] = max(pools[pool, LARGEST], pools[pool, CAPACITY])


@leaf_kernel
def _settle(state: SimulationState, engine: int, gpu: int, now: float) -> None:
    """Put an engine that sleeps on a GPU with room for it, where it is awake after a while.

    Parameters
    ----------
    state, engine, gpu, now : the simulation, the engine, the GPU and the moment
    """
    part, weights = state.engines[engine, FIRST_PART], state.engines[engine, WEIGHTS]
    state.parts[part, PART_GPU] = gpu
    if state.settings[ELASTIC]:
        state.parts[part, PART_POOL] = gpu
        _resize(state.pools, gpu, -weights)
    else:
        pool = state.parts[part, PART_POOL]
        _resize(state.pools, pool, state.gpus[gpu, ROOM] - weights)
        state.pools[pool, LEAST_FREE] = state.pools[pool, FREE]
        state.gpus[gpu, ROOM] = 0
    state.members[gpu, state.gpus[gpu, MEMBERS]] = part
    state.gpus[gpu, MEMBERS] += 1
    for column in range(MEAN_PROMPT):
        state.speeds[engine, column] = state.elsewhere[engine, gpu, column]
    for group in range(len(state.first_of_group) - 1):
        for place in range(state.first_of_group[group], state.first_of_group[group + 1]):
            if state.groups[place] == gpu:
                state.engines[engine, GROUP] = group
    state.engines[engine, ASLEEP] = 0
    state.engines[engine, PARTS] = 1
    state.engines[engine, WOKEN] += now >= state.spans[WARM_UP]
    state.speeds[engine, COUNTED] = max(state.speeds[engine, COUNTED], now)
    state.speeds[engine, BACK] = now + state.spans[WAKE_SECONDS]
    state.moments[gpu, ALARM] = min(state.moments[gpu, ALARM], state.speeds[engine, BACK])
