"""Requests that wait for an engine, and rows for requests."""

from colocate.problem.kernel import leaf_kernel
from colocate.simulate.kernel.state import (
    FREE_REQUEST,
    HEAD,
    NEXT_REQUEST,
    NOBODY,
    TAIL,
    WAITING,
    SimulationState,
)


@leaf_kernel
def append(state: SimulationState, engine: int, request: int) -> None:
    """Put a request at the end of an engine's queue.

    Parameters
    ----------
    state, engine, request : the simulation, the engine and the request
    """
    state.requests[request, NEXT_REQUEST] = NOBODY
    if state.engines[engine, WAITING] == 0:
        state.engines[engine, HEAD] = request
    else:
        state.requests[state.engines[engine, TAIL], NEXT_REQUEST] = request
    state.engines[engine, TAIL] = request
    state.engines[engine, WAITING] += 1


@leaf_kernel
def put_first(state: SimulationState, engine: int, request: int) -> None:
    """Put a request at the head of an engine's queue.

    Parameters
    ----------
    state, engine, request : the simulation, the engine and the request
    """
    if state.engines[engine, WAITING] == 0:
        state.engines[engine, TAIL] = request
    state.requests[request, NEXT_REQUEST] = state.engines[engine, HEAD]
    state.engines[engine, HEAD] = request
    state.engines[engine, WAITING] += 1


@leaf_kernel
def take_first(state: SimulationState, engine: int) -> int:
    """Take the first request out of an engine's queue."""
    request: int = state.engines[engine, HEAD]
    state.engines[engine, HEAD] = state.requests[request, NEXT_REQUEST]
    state.engines[engine, WAITING] -= 1
    return request


@leaf_kernel
def new_request(state: SimulationState) -> int:
    """Return an unused row of requests; NOBODY if all are in use."""
    request: int = state.settings[FREE_REQUEST]
    if request != NOBODY:
        state.settings[FREE_REQUEST] = state.requests[request, NEXT_REQUEST]
    return request


@leaf_kernel
def forget_request(state: SimulationState, request: int) -> None:
    """Give the row of a request back."""
    state.requests[request, NEXT_REQUEST] = state.settings[FREE_REQUEST]
    state.settings[FREE_REQUEST] = request
