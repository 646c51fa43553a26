"""Which replica of a model gets a request. Replicas that are down get none while another is up."""

from colocate.problem.kernel import leaf_kernel
from colocate.simulate.kernel.accounts import in_work
from colocate.simulate.kernel.state import (
    ASLEEP,
    DOWN,
    ENGINES,
    FIRST_ENGINE,
    LEAST_REQUESTS,
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
    count = state.models[model, ENGINES]
    first: int = state.models[model, FIRST_ENGINE]
    engine: int
    if count == 1:
        return first
    if state.settings[ROUTER] == LEAST_REQUESTS:
        best = first
        for engine in range(first + 1, first + count):
            best = _better(state, best, engine)
        return best
    if state.settings[ROUTER] == RANDOM_TWO:
        one = _drawn(state, model) % count
        other = (one + 1 + _drawn(state, model) % (count - 1)) % count
        engine = _better(state, first + min(one, other), first + max(one, other))
    else:
        engine = first + state.models[model, ROUND] % count
        state.models[model, ROUND] += 1
    return _next_up(state, model, engine)


@leaf_kernel
def _next_up(state: SimulationState, model: int, engine: int) -> int:
    """Return the first engine that is up, from one on; one that is awake where none is up.

    Parameters
    ----------
    state, model, engine : the simulation, the model, and the one of its engines to begin with
    """
    engines = state.engines
    first, count = state.models[model, FIRST_ENGINE], state.models[model, ENGINES]
    best = engine
    for more in range(1, count):
        if engines[best, DOWN] == 0:
            break
        other = first + (engine - first + more) % count
        if engines[other, DOWN] == 0 or engines[other, ASLEEP] < engines[best, ASLEEP]:
            best = other
    return best


@leaf_kernel
def _drawn(state: SimulationState, model: int) -> int:
    state.models[model, ROUND] = state.models[model, ROUND] * FACTOR % MODULUS
    drawn: int = state.models[model, ROUND]
    return drawn


@leaf_kernel
def _better(state: SimulationState, one: int, other: int) -> int:
    """Return the engine that is awake, or up, or has fewer requests; the first if both are alike.

    Parameters
    ----------
    state, one, other : the simulation and two engines
    """
    if state.engines[one, ASLEEP] != state.engines[other, ASLEEP]:
        return one if state.engines[other, ASLEEP] else other
    if state.engines[one, DOWN] != state.engines[other, DOWN]:
        return one if state.engines[other, DOWN] else other
    fewer = _asked(state, other) < _asked(state, one)
    return other if fewer else one


@leaf_kernel
def _asked(state: SimulationState, engine: int) -> int:
    waiting: int = state.engines[engine, WAITING]
    return waiting + in_work(state, engine)
