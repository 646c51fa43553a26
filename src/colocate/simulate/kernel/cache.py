"""The cache of an engine in blocks of tokens, from a pool of its own or from one that it shares."""

from colocate.problem.kernel import leaf_kernel
from colocate.simulate.kernel.state import (
    BLOCK,
    BLOCK_BYTES,
    CAPACITY,
    FIRST_PART,
    FREE,
    HELD,
    LEAST_FREE,
    MOST_HELD,
    PART_POOL,
    PARTS,
    SimulationState,
)


@leaf_kernel
def blocks_of(state: SimulationState, tokens: int) -> int:
    """Return the blocks that hold so many tokens."""
    size = state.settings[BLOCK]
    found: int = (tokens + size - 1) // size
    return found


@leaf_kernel
def fits(state: SimulationState, engine: int, blocks: int, column: int) -> bool:
    """Return whether blocks fit into what is free in the pools of an engine, or into all of them.

    Parameters
    ----------
    state, engine, blocks : the simulation, the engine, and how many blocks
    column : FREE or CAPACITY
    """
    asked = blocks * state.engines[engine, BLOCK_BYTES]
    first = state.engines[engine, FIRST_PART]
    for part in range(first, first + state.engines[engine, PARTS]):
        if asked > state.pools[state.parts[part, PART_POOL], column]:
            return False
    return True


@leaf_kernel
def most_blocks(state: SimulationState, prompt: int, output: int) -> int:
    """Return the blocks that a request holds at most; its last token is told, and not kept.

    Parameters
    ----------
    state : the simulation
    prompt, output : tokens of the request
    """
    return blocks_of(state, prompt + max(output - 1, 0))


@leaf_kernel
def may_ever_fit(state: SimulationState, engine: int, prompt: int, output: int) -> bool:
    """Return whether a request would fit if it had all of the cache for itself.

    Parameters
    ----------
    state, engine : the simulation and the engine
    prompt, output : tokens of the request
    """
    return fits(state, engine, most_blocks(state, prompt, output), CAPACITY)


@leaf_kernel
def take(state: SimulationState, engine: int, blocks: int) -> None:
    """Take blocks from the pools of an engine, or give them back if they are negative.

    Parameters
    ----------
    state, engine, blocks : the simulation, the engine, and how many blocks
    """
    asked = blocks * state.engines[engine, BLOCK_BYTES]
    state.engines[engine, HELD] += blocks
    held = state.engines[engine, HELD]
    state.engines[engine, MOST_HELD] = max(state.engines[engine, MOST_HELD], held)
    first = state.engines[engine, FIRST_PART]
    for part in range(first, first + state.engines[engine, PARTS]):
        pool = state.parts[part, PART_POOL]
        state.pools[pool, FREE] -= asked
        free = state.pools[pool, FREE]
        state.pools[pool, LEAST_FREE] = min(state.pools[pool, LEAST_FREE], free)
