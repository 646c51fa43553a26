"""What an engine does next: continuous batching, with a cache that may run full.

With `prefill first`, the prompt of a waiting request is read as soon as a slot and its cache are
free, one prompt at a time, before further steps. With chunks, every step has a budget of tokens:
one for each request that decodes, and the rest for prompts, in order of arrival.

A step needs one more block of cache for every request whose last one is full. If they are not
there, the youngest requests go back to the head of the queue. Their prompt, and what they had made,
is read again later.
"""

from colocate.problem.kernel import leaf_kernel
from colocate.problem.sharing import HOST_GAP, PREFILL_AHEAD
from colocate.simulate.kernel.accounts import count_engine, show_engine
from colocate.simulate.kernel.cache import blocks_of, fits, may_ever_fit, take
from colocate.simulate.kernel.queue import forget_request, take_first
from colocate.simulate.kernel.slots import finish_some, join, send_back
from colocate.simulate.kernel.state import (
    ARRIVAL,
    BLOCK,
    BUDGET,
    CHUNK,
    CHUNKED,
    CURRENT,
    DOWN,
    FREE,
    HEAD,
    IDLE,
    IDLE_SINCE,
    JOINING,
    LENGTH,
    MADE,
    MEAN_PROMPT,
    MIXED,
    NEED,
    NEXT_FINISH,
    NOBODY,
    OF_MODEL,
    OUTPUT,
    PER_REQUEST,
    PREFILL,
    PREFILL_TIME,
    PREFILL_WORK,
    PROMPT,
    READ,
    REFUSED,
    RUNNING,
    SHARING,
    SLICES,
    SLOTS,
    STEP,
    STEP_TIME,
    STEPS,
    WAITING,
    WARM_UP,
    WORK,
    SimulationState,
)

LEAST_WORK = 1e-4
"""The GPU has so much of a prefill to do at least, as a share: what it does shows how far the
prefill is, and without any there would be no telling."""


@leaf_kernel
def padded(batch: int) -> int:
    """Return the batch of the CUDA graph that a step runs in: 1, 2, 4, 8 and every eighth."""
    if batch <= 2:
        return batch
    if batch <= 4:
        return 4
    return (batch + 7) // 8 * 8


@leaf_kernel
def prefill_seconds(state: SimulationState, engine: int, tokens: int) -> tuple[float, float]:
    """Return how long a prompt takes alone, and what the GPU has to do of that.

    The GPU's work grows with the tokens. What the host adds is the same for all prompts. Under time
    slices, kernels that wait for a turn run without gaps.

    Parameters
    ----------
    state, engine, tokens : the simulation, the engine, and tokens of the prompt
    """
    whole, work = state.speeds[engine, PREFILL_TIME], state.speeds[engine, PREFILL_WORK]
    mean = state.speeds[engine, MEAN_PROMPT]
    if mean > 0.0:
        host = whole - work
        work *= tokens / mean
        whole = work + host
    if state.settings[SHARING] == SLICES:
        work = min(max(work, whole * LEAST_WORK), whole / PREFILL_AHEAD)
    return whole, work


@leaf_kernel
def host_gap(state: SimulationState, length: float) -> float:
    """Return for how long of a step the GPU is free for others, before it begins.

    Parameters
    ----------
    state, length : the simulation, and the seconds of the step
    """
    return min(HOST_GAP, length) if state.settings[SHARING] == SLICES else 0.0


@leaf_kernel
def next_work(state: SimulationState, engine: int, now: float) -> None:
    """Decide what an engine does from now on; it has just done something, or was idle.

    Parameters
    ----------
    state, engine, now : the simulation, the engine and the moment
    """
    engines = state.engines
    count_engine(state, engine, now)
    show_engine(state, engine, -1.0)
    was_idle = engines[engine, WORK] == IDLE
    engines[engine, WORK] = IDLE
    if engines[engine, DOWN] == 0:
        if state.settings[CHUNKED]:
            _mix(state, engine)
        elif not _read_prompt(state, engine):
            _step(state, engine)
    if engines[engine, WORK] == IDLE and not was_idle:
        state.speeds[engine, IDLE_SINCE] = now
    show_engine(state, engine, 1.0)


@leaf_kernel
def _admit(state: SimulationState, engine: int) -> int:
    """Give the first request in the queue a slot and cache; NOBODY where there is not enough."""
    engines = state.engines
    _refuse_longest(state, engine)
    used = engines[engine, RUNNING] + engines[engine, JOINING]
    if engines[engine, WAITING] == 0 or used >= engines[engine, SLOTS]:
        return NOBODY
    request = engines[engine, HEAD]
    tokens = state.requests[request, PROMPT] + state.requests[request, MADE]
    blocks = blocks_of(state, tokens)
    if not fits(state, engine, blocks, FREE):
        return NOBODY
    take(state, engine, blocks)
    state.requests[request, READ] = 0
    return take_first(state, engine)


@leaf_kernel
def _refuse_longest(state: SimulationState, engine: int) -> None:
    """Refuse requests at the head of the queue that do not fit any more.

    They did when they came, but a model that was woken has taken of a shared cache since.
    """
    while state.engines[engine, WAITING] > 0:
        request = state.engines[engine, HEAD]
        prompt, output = state.requests[request, PROMPT], state.requests[request, OUTPUT]
        if may_ever_fit(state, engine, prompt, output):
            return
        take_first(state, engine)
        counts = state.times[request, ARRIVAL] >= state.spans[WARM_UP]
        state.models[state.requests[request, OF_MODEL], REFUSED] += counts
        forget_request(state, request)


@leaf_kernel
def _read_prompt(state: SimulationState, engine: int) -> bool:
    """Begin to read the first prompt in the queue, if there is room for it."""
    request = _admit(state, engine)
    if request == NOBODY:
        return False
    tokens = state.requests[request, PROMPT] + state.requests[request, MADE]
    whole, need = prefill_seconds(state, engine, tokens)
    state.engines[engine, CURRENT] = request
    state.engines[engine, WORK] = PREFILL
    state.speeds[engine, LENGTH] = whole
    state.speeds[engine, NEED] = need
    return True


@leaf_kernel
def _grow(state: SimulationState, engine: int) -> None:
    """Take the blocks that the next step needs; requests go back to the queue where they lack."""
    engines = state.engines
    if engines[engine, RUNNING] == 0:
        return
    place = engines[engine, STEPS] % state.settings[BLOCK]
    while not fits(state, engine, state.growing[engine, place], FREE):
        send_back(state, engine)
        if engines[engine, RUNNING] == 0:
            return
    if state.growing[engine, place] > 0:
        take(state, engine, state.growing[engine, place])


@leaf_kernel
def _step(state: SimulationState, engine: int) -> None:
    """Begin a decode step, if a request can go on."""
    _grow(state, engine)
    batch = state.engines[engine, RUNNING]
    if batch > 0:
        state.engines[engine, WORK] = STEP
        length = state.speeds[engine, STEP_TIME]
        length += state.speeds[engine, PER_REQUEST] * padded(batch)
        state.speeds[engine, LENGTH] = length
        state.speeds[engine, NEED] = length - host_gap(state, length)


@leaf_kernel
def _mix(state: SimulationState, engine: int) -> None:
    """Begin a step of a budget of tokens: decoding requests first, then prompts.

    The weights are read once for all of them, while the GPU calculates the prompts.
    """
    engines = state.engines
    _grow(state, engine)
    batch = engines[engine, RUNNING]
    left = max(state.settings[BUDGET] - batch, 1)
    chunk = 0
    while left > 0:
        if engines[engine, CURRENT] == NOBODY:
            engines[engine, CURRENT] = _admit(state, engine)
        request = engines[engine, CURRENT]
        if request == NOBODY:
            break
        tokens = state.requests[request, PROMPT] + state.requests[request, MADE]
        now_read = min(left, tokens - state.requests[request, READ])
        state.requests[request, READ] += now_read
        left -= now_read
        chunk += now_read
        if state.requests[request, READ] >= tokens:
            state.slots[engine, batch + engines[engine, JOINING]] = request
            engines[engine, JOINING] += 1
            engines[engine, CURRENT] = NOBODY
    if batch == 0 and chunk == 0:
        return
    length = state.speeds[engine, STEP_TIME] if batch > 0 else 0.0
    need = length
    if chunk > 0:
        whole, work = prefill_seconds(state, engine, chunk)
        length = max(length, whole)
        need = max(need, work)
    more = state.speeds[engine, PER_REQUEST] * padded(batch)
    engines[engine, CHUNK] = chunk
    engines[engine, WORK] = MIXED if chunk > 0 else STEP
    state.speeds[engine, LENGTH] = length + more
    gap = host_gap(state, length + more) if chunk == 0 else 0.0
    state.speeds[engine, NEED] = need + more - gap


@leaf_kernel
def goes_on(state: SimulationState, engine: int) -> bool:
    """Return whether an engine that ends a step has but to begin the next one, and count it.

    Most steps are like that: nobody is done, nobody waits, and no cache is needed.
    """
    engines = state.engines
    steps = engines[engine, STEPS] + 1
    if engines[engine, WORK] != STEP or steps == engines[engine, NEXT_FINISH]:
        return False
    if engines[engine, WAITING] > 0 and engines[engine, RUNNING] < engines[engine, SLOTS]:
        return False
    if state.growing[engine, steps % state.settings[BLOCK]] > 0:
        return False
    engines[engine, STEPS] = steps
    return True


@leaf_kernel
def end_work(state: SimulationState, engine: int, now: float) -> None:
    """Take note that an engine has done its work.

    Parameters
    ----------
    state, engine, now : the simulation, the engine and the moment
    """
    count_engine(state, engine, now)
    show_engine(state, engine, -1.0)
    engines = state.engines
    if engines[engine, WORK] == PREFILL:
        request = engines[engine, CURRENT]
        engines[engine, CURRENT] = NOBODY
        join(state, engine, request, now)
    else:
        if engines[engine, RUNNING] > 0:
            engines[engine, STEPS] += 1
        joining, engines[engine, JOINING] = engines[engine, JOINING], 0
        before = engines[engine, RUNNING]
        if engines[engine, STEPS] >= engines[engine, NEXT_FINISH]:
            finish_some(state, engine, now)
        for place in range(before, before + joining):
            join(state, engine, state.slots[engine, place], now)
    show_engine(state, engine, 1.0)
