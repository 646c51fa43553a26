"""The law for a whole placement: GPUs are joined by the models that have shards on several."""

from math import inf

from colocate.latency.law import (
    PREFILLED,
    SWEEPS,
    TPOT,
    arrived,
    delay_by,
    ratio_of,
    settle_one,
    step_and_turns,
    work_and_turns,
)
from colocate.latency.table import PlacedEngines
from colocate.problem.instance import Floats
from colocate.problem.kernel import entry_kernel, leaf_kernel
from colocate.problem.tolerance import SETTLED


@entry_kernel
def settle_all(placed: PlacedEngines, sharing: Floats, state: Floats) -> None:
    """Find the least fixed point of all engines of a placement.

    Parameters
    ----------
    placed : the engines, and where they are
    sharing : the constants of the way to share
    state : state[n, STATE_COLUMNS], all zero, written here
    """
    for lot in range(placed.first_joined.shape[0] - 1):
        before = inf
        for _ in range(SWEEPS):
            moved = 0.0
            for place in range(placed.first_joined[lot], placed.first_joined[lot + 1]):
                moved = max(moved, _settled(placed, placed.joined[place], sharing, state))
            if arrived(moved, before, SETTLED):
                break
            before = moved


@entry_kernel
def rate_all(placed: PlacedEngines, state: Floats, slots: Floats, ratios: Floats) -> None:
    """Write the ratio of every engine of a placement.

    Parameters
    ----------
    placed, state : the engines, and their fixed point
    slots : the most requests at once of each, by its cache too
    ratios : ratios[n], written here
    """
    for engine in range(ratios.shape[0]):
        ratios[engine] = ratio_of(placed.engines, engine, state, engine, slots[engine])


@leaf_kernel
def _settled(placed: PlacedEngines, engine: int, sharing: Floats, state: Floats) -> float:
    """Settle one engine beside the others, and return by how much it changed, relatively.

    The shards of an engine run in step, so each turn waits as long as on the GPU where the wait is
    longest.
    """
    step, step_turns = step_and_turns(placed.engines, engine, state, engine, sharing)
    work, work_turns = work_and_turns(placed.engines, engine, sharing)
    for_step = for_work = 0.0
    for place in range(placed.first_gpu[engine], placed.first_gpu[engine + 1]):
        gpu = placed.gpus[place]
        here = here_for_work = 0.0
        for other in range(placed.first_member[gpu], placed.first_member[gpu + 1]):
            member = placed.members[other]
            if member != engine:
                here += delay_by(state, member, step, step_turns, sharing)
                here_for_work += delay_by(state, member, work, work_turns, sharing)
        for_step, for_work = max(for_step, here), max(for_work, here_for_work)
    before = state[engine, TPOT] + state[engine, PREFILLED]
    settle_one(placed.engines, engine, for_step, for_work, sharing, state, engine)
    after = state[engine, TPOT] + state[engine, PREFILLED]
    return float((after - before) / after) if after > 0.0 else 0.0
