"""Requests in the slots of an engine: they join, make tokens, and leave when done or sent back."""

from colocate.problem.kernel import leaf_kernel
from colocate.simulate.kernel.accounts import count_request
from colocate.simulate.kernel.cache import blocks_of, take
from colocate.simulate.kernel.queue import forget_request, put_first
from colocate.simulate.kernel.state import (
    ARRIVAL,
    BLOCK,
    CURRENT,
    ENDS_AT,
    FIRST_TOKEN,
    HELD,
    IDLE,
    JOINED,
    JOINING,
    MADE,
    NEXT_FINISH,
    NOBODY,
    OF_MODEL,
    OUTPUT,
    PREEMPTIONS,
    PROMPT,
    RUNNING,
    STEPS,
    WARM_UP,
    WORK,
    SimulationState,
)

NEVER = 2**62
"""A step that no engine comes to."""


@leaf_kernel
def held_by(state: SimulationState, engine: int, request: int) -> int:
    """Return the tokens that the blocks of a decoding request must hold, between two steps.

    Parameters
    ----------
    state, engine, request : the simulation, the engine and the request
    """
    steps = state.engines[engine, STEPS] - state.requests[request, JOINED]
    found: int = state.requests[request, PROMPT] + state.requests[request, MADE] + steps
    return found


@leaf_kernel
def send_back(state: SimulationState, engine: int) -> None:
    """Send the youngest request of an engine back to the queue, with what it has made so far.

    Parameters
    ----------
    state, engine : the simulation and the engine
    """
    engines, requests = state.engines, state.requests
    request = engines[engine, CURRENT]
    if request != NOBODY:
        tokens = requests[request, PROMPT] + requests[request, MADE]
        engines[engine, CURRENT] = NOBODY
        take(state, engine, -blocks_of(state, tokens))
    else:
        engines[engine, RUNNING] -= 1
        request = state.slots[engine, engines[engine, RUNNING]]
        tokens = held_by(state, engine, request)
        take(state, engine, -blocks_of(state, tokens))
        _stop_growing(state, engine, request)
        requests[request, MADE] = tokens - requests[request, PROMPT] + 1
        _find_next_finish(state, engine)
    engines[engine, PREEMPTIONS] += state.times[request, ARRIVAL] >= state.spans[WARM_UP]
    put_first(state, engine, request)


@leaf_kernel
def _stop_growing(state: SimulationState, engine: int, request: int) -> None:
    state.growing[engine, _place_of_growth(state, request)] -= 1


@leaf_kernel
def _place_of_growth(state: SimulationState, request: int) -> int:
    """Return the steps, modulo a block, at which a request needs one more block."""
    tokens = state.requests[request, PROMPT] + state.requests[request, MADE]
    found: int = (state.requests[request, JOINED] - tokens) % state.settings[BLOCK]
    return found


@leaf_kernel
def _find_next_finish(state: SimulationState, engine: int) -> None:
    """Find the step after which the first of the decoding requests is done."""
    first = NEVER
    for slot in range(state.engines[engine, RUNNING]):
        first = min(first, state.requests[state.slots[engine, slot], ENDS_AT])
    state.engines[engine, NEXT_FINISH] = first


@leaf_kernel
def join(state: SimulationState, engine: int, request: int, now: float) -> None:
    """Let a request decode whose prompt has been read, which gives it a token.

    Parameters
    ----------
    state, engine, request, now : the simulation, the engine, the request and the moment
    """
    engines, requests = state.engines, state.requests
    if state.times[request, FIRST_TOKEN] < 0.0:
        state.times[request, FIRST_TOKEN] = now
    steps = requests[request, OUTPUT] - requests[request, MADE] - 1
    requests[request, JOINED] = engines[engine, STEPS]
    if steps <= 0:
        tokens = requests[request, PROMPT] + requests[request, MADE]
        _finish(state, engine, request, tokens, now)
        return
    requests[request, ENDS_AT] = engines[engine, STEPS] + steps
    state.slots[engine, engines[engine, RUNNING]] = request
    engines[engine, RUNNING] += 1
    state.growing[engine, _place_of_growth(state, request)] += 1
    ends = engines[engine, STEPS] + steps
    engines[engine, NEXT_FINISH] = min(engines[engine, NEXT_FINISH], ends)


@leaf_kernel
def finish_some(state: SimulationState, engine: int, now: float) -> None:
    """Let all requests go that are done after this step; the others keep their order.

    Parameters
    ----------
    state, engine, now : the simulation, the engine and the moment
    """
    kept = 0
    for slot in range(state.engines[engine, RUNNING]):
        request = state.slots[engine, slot]
        if state.requests[request, ENDS_AT] <= state.engines[engine, STEPS]:
            tokens = held_by(state, engine, request)
            _stop_growing(state, engine, request)
            _finish(state, engine, request, tokens, now)
        else:
            state.slots[engine, kept] = request
            kept += 1
    state.engines[engine, RUNNING] = kept
    _find_next_finish(state, engine)


@leaf_kernel
def _finish(state: SimulationState, engine: int, request: int, tokens: int, now: float) -> None:
    take(state, engine, -blocks_of(state, tokens))
    count_request(state, state.requests[request, OF_MODEL], request, now)
    forget_request(state, request)


@leaf_kernel
def lose_all(state: SimulationState, engine: int) -> None:
    """Let an engine fail: what its requests had is lost, and they return to its queue.

    Parameters
    ----------
    state, engine : the simulation and the engine
    """
    engines = state.engines
    if engines[engine, CURRENT] != NOBODY:
        _lose(state, engine, engines[engine, CURRENT])
        engines[engine, CURRENT] = NOBODY
    for slot in range(engines[engine, RUNNING] + engines[engine, JOINING] - 1, -1, -1):
        _lose(state, engine, state.slots[engine, slot])
    engines[engine, RUNNING] = 0
    engines[engine, JOINING] = 0
    engines[engine, NEXT_FINISH] = NEVER
    engines[engine, WORK] = IDLE
    for place in range(state.growing.shape[1]):
        state.growing[engine, place] = 0
    take(state, engine, -engines[engine, HELD])


@leaf_kernel
def _lose(state: SimulationState, engine: int, request: int) -> None:
    state.requests[request, MADE] = 0
    state.times[request, FIRST_TOKEN] = -1.0
    put_first(state, engine, request)
