"""Sums over time, and what is counted of each request."""

from colocate.problem.kernel import leaf_kernel
from colocate.simulate.histogram import bin_of
from colocate.simulate.kernel.state import (
    ARRIVAL,
    ATTAINED,
    BLOCK_BYTES,
    BUSY_ENGINES,
    BUSY_TIME,
    CACHE_BYTES,
    COUNTED,
    CURRENT,
    END_TO_END,
    FINISHED,
    FIRST_PART,
    FIRST_TOKEN,
    GPU_BUSY,
    GPU_COUNTED,
    HELD,
    HELD_TIME,
    IDLE,
    IN_FLIGHT,
    IN_FLIGHT_TIME,
    INTERVALS,
    JOINING,
    MOST_HELD,
    NOBODY,
    OUTPUT,
    PART_GPU,
    PARTS,
    PROMPT,
    QUEUED,
    RUNNING,
    TIMELINES,
    TOKENS_IN,
    TOKENS_OUT,
    TPOT,
    TPOT_SLO,
    TTFT,
    TTFT_SLO,
    WAITING,
    WAITING_TIME,
    WARM_UP,
    WIDTH,
    WORK,
    SimulationState,
)


@leaf_kernel
def in_work(state: SimulationState, engine: int) -> int:
    """Return how many requests have a slot of an engine."""
    found: int = state.engines[engine, RUNNING] + state.engines[engine, JOINING]
    if state.engines[engine, CURRENT] != NOBODY:
        found += 1
    return found


@leaf_kernel
def count_engine(state: SimulationState, engine: int, now: float) -> None:
    """Add the time since the last change of an engine to its sums, and to those of its GPUs.

    Parameters
    ----------
    state, engine, now : the simulation, the engine that is about to change, and the moment
    """
    if state.speeds[engine, COUNTED] < state.spans[WARM_UP] <= now:
        state.engines[engine, MOST_HELD] = state.engines[engine, HELD]
    since = max(state.speeds[engine, COUNTED], state.spans[WARM_UP])
    state.speeds[engine, COUNTED] = now
    spent = now - since
    if spent > 0.0:
        if state.engines[engine, WORK] != IDLE:
            state.speeds[engine, BUSY_TIME] += spent
        state.speeds[engine, IN_FLIGHT_TIME] += spent * in_work(state, engine)
        state.speeds[engine, WAITING_TIME] += spent * state.engines[engine, WAITING]
        state.speeds[engine, HELD_TIME] += spent * state.engines[engine, HELD]
    first = state.engines[engine, FIRST_PART]
    for part in range(first, first + state.engines[engine, PARTS]):
        count_gpu(state, state.parts[part, PART_GPU], now)


@leaf_kernel
def count_gpu(state: SimulationState, gpu: int, now: float) -> None:
    """Add the time since the last change on a GPU to its timelines.

    Parameters
    ----------
    state, gpu, now : the simulation, the GPU, and the moment
    """
    moment = state.moments[gpu, GPU_COUNTED]
    if now <= moment:
        return
    state.moments[gpu, GPU_COUNTED] = now
    if state.now[gpu, BUSY_ENGINES] > 0.0:
        counted = now - max(moment, state.spans[WARM_UP])
        state.moments[gpu, GPU_BUSY] += max(counted, 0.0)
    while now >= state.moments[gpu, WIDTH] * INTERVALS:
        _widen(state, gpu)
    width = state.moments[gpu, WIDTH]
    place = int(moment / width)
    while moment < now:
        end = min(now, (place + 1) * width)
        for each in range(TIMELINES):
            state.timelines[gpu, place, each] += state.now[gpu, each] * (end - moment)
        moment = end
        place += 1


@leaf_kernel
def _widen(state: SimulationState, gpu: int) -> None:
    """Make one interval of every two of a GPU's timelines."""
    state.moments[gpu, WIDTH] *= 2.0
    for place in range(INTERVALS):
        for each in range(TIMELINES):
            both = 0.0
            if 2 * place < INTERVALS:
                both += state.timelines[gpu, 2 * place, each]
                both += state.timelines[gpu, 2 * place + 1, each]
            state.timelines[gpu, place, each] = both


@leaf_kernel
def show_engine(state: SimulationState, engine: int, sign: float) -> None:
    """Add what an engine has at the moment to what its GPUs show, or take it away.

    Parameters
    ----------
    state, engine : the simulation and the engine
    sign : 1 to add, -1 to take away
    """
    first = state.engines[engine, FIRST_PART]
    for part in range(first, first + state.engines[engine, PARTS]):
        gpu = state.parts[part, PART_GPU]
        if state.engines[engine, WORK] != IDLE:
            state.now[gpu, BUSY_ENGINES] += sign
        state.now[gpu, IN_FLIGHT] += sign * in_work(state, engine)
        state.now[gpu, QUEUED] += sign * state.engines[engine, WAITING]
        held = state.engines[engine, HELD] * state.engines[engine, BLOCK_BYTES]
        state.now[gpu, CACHE_BYTES] += sign * held


@leaf_kernel
def count_request(state: SimulationState, model: int, request: int, now: float) -> None:
    """Count a request that is done.

    Parameters
    ----------
    state, model, request, now : the simulation, the model, its request, and the moment
    """
    arrival, first = state.times[request, ARRIVAL], state.times[request, FIRST_TOKEN]
    if arrival < state.spans[WARM_UP]:
        return
    output = state.requests[request, OUTPUT]
    state.models[model, FINISHED] += 1
    state.models[model, TOKENS_IN] += state.requests[request, PROMPT]
    state.models[model, TOKENS_OUT] += output
    _measure(state, model, TTFT, first - arrival)
    _measure(state, model, END_TO_END, now - arrival)
    kept = first - arrival <= state.targets[model, TTFT_SLO]
    if output > 1:
        tpot = (now - first) / (output - 1)
        _measure(state, model, TPOT, tpot)
        kept = kept and tpot <= state.targets[model, TPOT_SLO]
    if kept:
        state.models[model, ATTAINED] += 1


@leaf_kernel
def _measure(state: SimulationState, model: int, what: int, seconds: float) -> None:
    state.counts[model, what, bin_of(seconds)] += 1
    state.sums[model, what, 0] += seconds
    state.sums[model, what, 1] = max(state.sums[model, what, 1], seconds)
