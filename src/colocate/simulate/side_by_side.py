"""MPS: the engines on a GPU work at once, and slow each other down.

The law says how many turns some work takes, and that each waits for one turn of every neighbour. So
work has a pace, which changes whenever a neighbour begins or ends something. The shards of a
replica work at the pace of the slowest. Where engines do not share (`alone`), all work at full
pace.
"""

from math import inf

from colocate.latency.law import seen_turn, turn_of, turns
from colocate.problem.kernel import leaf_kernel
from colocate.problem.sharing import OF_LAYERS
from colocate.simulate.state import (
    ENDS,
    FIRST_PART,
    GROUP,
    IDLE,
    LAYERS,
    LEFT,
    LENGTH,
    MEMBERS,
    NEED,
    NEXT,
    NOBODY,
    PACE,
    PART_ENGINE,
    PART_GPU,
    PARTS,
    RUNNING_PART,
    SINCE,
    TURN,
    TURNS,
    WORK,
    SimulationState,
)


@leaf_kernel
def set_out(state: SimulationState, engine: int, now: float) -> None:
    """Let an engine begin its work; its pace is found later.

    Parameters
    ----------
    state, engine, now : the simulation, the engine and the moment
    """
    speeds = state.speeds
    if state.engines[engine, WORK] == IDLE:
        speeds[engine, TURN] = 0.0
        return
    speeds[engine, LEFT] = speeds[engine, LENGTH]
    speeds[engine, SINCE] = now
    speeds[engine, PACE] = 0.0
    layers, work = speeds[engine, LAYERS], speeds[engine, NEED]
    speeds[engine, TURNS] = turns(work, layers, state.sharing)
    shares = state.sharing[OF_LAYERS] > 0.0
    speeds[engine, TURN] = turn_of(work, layers, state.sharing) if shares else 0.0


@leaf_kernel
def pace_group(state: SimulationState, engine: int, now: float) -> None:
    """Find the paces of all engines that an engine's change may concern.

    Parameters
    ----------
    state, engine, now : the simulation, the engine and the moment
    """
    group = state.engines[engine, GROUP]
    first, end = state.first_of_group[group], state.first_of_group[group + 1]
    for place in range(first, end):
        _pace_gpu(state, state.groups[place], now)


@leaf_kernel
def _pace_gpu(state: SimulationState, gpu: int, now: float) -> None:
    """Find the paces of the engines on a GPU, and which of them ends first.

    Parameters
    ----------
    state, gpu, now : the simulation, the GPU and the moment
    """
    speeds = state.speeds
    soonest, who = inf, NOBODY
    for member in range(state.gpus[gpu, MEMBERS]):
        engine = state.parts[state.members[gpu, member], PART_ENGINE]
        if state.engines[engine, WORK] != IDLE:
            pace = _pace(state, engine)
            if pace != speeds[engine, PACE]:
                spent = now - speeds[engine, SINCE]
                left = max(speeds[engine, LEFT] - speeds[engine, PACE] * spent, 0.0)
                speeds[engine, LEFT] = left
                speeds[engine, SINCE] = now
                speeds[engine, PACE] = pace
                speeds[engine, ENDS] = now + left / pace
            if speeds[engine, ENDS] < soonest:
                soonest, who = speeds[engine, ENDS], engine
    state.moments[gpu, NEXT] = soonest
    state.gpus[gpu, RUNNING_PART] = who


@leaf_kernel
def _pace(state: SimulationState, engine: int) -> float:
    """Return how fast an engine works, as a share of its pace alone."""
    speeds = state.speeds
    length, count = speeds[engine, LENGTH], speeds[engine, TURNS]
    if length <= 0.0 or count <= 0.0:
        return 1.0
    first = state.engines[engine, FIRST_PART]
    longest = 0.0
    for part in range(first, first + state.engines[engine, PARTS]):
        wait = _wait_of_turn(state, state.parts[part, PART_GPU], engine)
        longest = max(longest, wait)
    pace: float = length / (length + count * longest)
    return pace


@leaf_kernel
def _wait_of_turn(state: SimulationState, gpu: int, engine: int) -> float:
    """Return how long a turn of an engine waits for the others on a GPU."""
    speeds = state.speeds
    own = speeds[engine, NEED] / speeds[engine, TURNS]
    wait = 0.0
    for member in range(state.gpus[gpu, MEMBERS]):
        other = state.parts[state.members[gpu, member], PART_ENGINE]
        if other != engine and speeds[other, TURN] > 0.0:
            wait += seen_turn(speeds[other, TURN], own, state.sharing)
    return wait
