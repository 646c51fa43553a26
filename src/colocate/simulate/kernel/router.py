"""Which replica of a model gets a request. Replicas that are down get none while another is up."""

from colocate.problem.kernel import leaf_kernel
from colocate.simulate.kernel.accounts import in_work
from colocate.simulate.kernel.state import (
    ASLEEP,
    DOWN,
    ENGINES,
    FIRST_ENGINE,
    LEAST_REQUESTS,
    LISTED,
    RANDOM_TWO,
    ROUND,
    ROUTER,
    WAITING,
    SimulationState,
)

FACTOR, MODULUS = 48271, 2**31 - 1
"""Of random numbers, each the one before times FACTOR modulo MODULUS (Park and Miller)."""


@leaf_kernel
def chosen_engine(state: SimulationState, model: int) -> int:
    """Return the engine that the next request to a model goes to."""
    engine: int = state.engines[_chosen_place(state, model), LISTED]
    return engine


@leaf_kernel
def _chosen_place(state: SimulationState, model: int) -> int:
    """Return the place of that engine in the router's list."""
    count = state.models[model, ENGINES]
    first: int = state.models[model, FIRST_ENGINE]
    place: int
    if count == 1:
        return first
    if state.settings[ROUTER] == LEAST_REQUESTS:
        best = first
        for place in range(first + 1, first + count):
            best = _better(state, best, place)
        return best
    if state.settings[ROUTER] == RANDOM_TWO:
        one = _drawn(state, model) % count
        other = (one + 1 + _drawn(state, model) % (count - 1)) % count
        place = _better(state, first + min(one, other), first + max(one, other))
    else:
        place = first + state.models[model, ROUND] % count
        state.models[model, ROUND] += 1
    return _next_up(state, model, place)


@leaf_kernel
def _next_up(state: SimulationState, model: int, place: int) -> int:
    """Return the place of the first engine that is up, from one on; one awake where none is up.

    Parameters
    ----------
    state, model, place : the simulation, the model, and the place to begin with
    """
    engines = state.engines
    first, count = state.models[model, FIRST_ENGINE], state.models[model, ENGINES]
    best = place
    for more in range(1, count):
        mine = engines[best, LISTED]
        if engines[mine, DOWN] == 0:
            break
        next_place = first + (place - first + more) % count
        other = engines[next_place, LISTED]
        if engines[other, DOWN] == 0 or engines[other, ASLEEP] < engines[mine, ASLEEP]:
            best = next_place
    return best


@leaf_kernel
def _drawn(state: SimulationState, model: int) -> int:
    state.models[model, ROUND] = state.models[model, ROUND] * FACTOR % MODULUS
    drawn: int = state.models[model, ROUND]
    return drawn


@leaf_kernel
def _better(state: SimulationState, here: int, there: int) -> int:
    """Return the place whose engine is awake, or up, or has fewer requests; the first if alike.

    Parameters
    ----------
    state, here, there : the simulation and two places
    """
    one, other = state.engines[here, LISTED], state.engines[there, LISTED]
    if state.engines[one, ASLEEP] != state.engines[other, ASLEEP]:
        return here if state.engines[other, ASLEEP] else there
    if state.engines[one, DOWN] != state.engines[other, DOWN]:
        return here if state.engines[other, DOWN] else there
    fewer = _asked(state, other) < _asked(state, one)
    return there if fewer else here


@leaf_kernel
def _asked(state: SimulationState, engine: int) -> int:
    waiting: int = state.engines[engine, WAITING]
    return waiting + in_work(state, engine)
