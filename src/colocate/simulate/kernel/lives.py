"""Engines that come and go: what happens to requests, on GPUs that are all at the same moment."""

from colocate.problem.kernel import entry_kernel, leaf_kernel
from colocate.simulate.kernel.accounts import count_engine, show_engine
from colocate.simulate.kernel.cache import may_ever_fit
from colocate.simulate.kernel.events import enqueue, start, start_neighbours
from colocate.simulate.kernel.queue import forget_request, take_first
from colocate.simulate.kernel.router import chosen_engine
from colocate.simulate.kernel.side_by_side import pace_group, set_out
from colocate.simulate.kernel.slots import lose_all
from colocate.simulate.kernel.state import (
    ARRIVAL,
    ELASTIC,
    IDLE,
    MEMBERS,
    MODEL,
    OUTPUT,
    PART_ENGINE,
    PREEMPTIONS,
    PROMPT,
    REFUSED,
    SHARING,
    SLICES,
    WAITING,
    WARM_UP,
    WORK,
    SimulationState,
)
from colocate.simulate.kernel.turns import leave_row


@entry_kernel
def hand_back(state: SimulationState, engine: int, now: float) -> int:
    """Let an engine give all its requests back to the router; return how many it had.

    Others do them anew. The engine is not in the router's list any more, and the list has another
    one of its model.

    Parameters
    ----------
    state, engine, now : the simulation, all up to date, the engine and the moment
    """
    count_engine(state, engine, now)
    show_engine(state, engine, -1.0)
    lose_all(state, engine)
    if state.settings[SHARING] == SLICES:
        leave_row(state, engine, now)
    else:
        set_out(state, engine, now)
        pace_group(state, engine, now)
    count = 0
    while state.engines[engine, WAITING] > 0:
        request = take_first(state, engine)
        count += 1
        state.engines[engine, PREEMPTIONS] += state.times[request, ARRIVAL] >= state.spans[WARM_UP]
        _take_over(state, state.engines[engine, MODEL], request, now)
    if state.settings[ELASTIC]:
        start_neighbours(state, engine, now)
    return count


@leaf_kernel
def _take_over(state: SimulationState, model: int, request: int, now: float) -> None:
    """Give a request that was handed back to an engine.

    Parameters
    ----------
    state, model, request, now : the simulation, the model, its request and the moment
    """
    engine = chosen_engine(state, model)
    prompt, output = state.requests[request, PROMPT], state.requests[request, OUTPUT]
    if not may_ever_fit(state, engine, prompt, output):
        state.models[model, REFUSED] += state.times[request, ARRIVAL] >= state.spans[WARM_UP]
        forget_request(state, request)
        return
    enqueue(state, engine, request, now)


@entry_kernel
def look_again(state: SimulationState, gpu: int, now: float) -> None:
    """Start idle engines of a GPU that may have waited for cache that is there now.

    Parameters
    ----------
    state, gpu, now : the simulation, all up to date, the GPU and the moment
    """
    for member in range(state.gpus[gpu, MEMBERS]):
        engine = state.parts[state.members[gpu, member], PART_ENGINE]
        if state.engines[engine, WORK] == IDLE and state.engines[engine, WAITING] > 0:
            start(state, engine, now)
