"""The law: what the engines on one GPU do to each other, as a least fixed point.

A busy engine runs step after step, however few requests it has. Its neighbours wait for it:

    delay(i) = sum over neighbours j of busy(j) x cost(j)      for every turn that i takes
    step'(i) = step(i) + turns(step(i)) x delay(i)             the same for prefills
    tpot(i)  = step'(i) + prefill'(i) x min(rate(i) x tpot(i), slots(i) / tokens(i))
    busy(i)  = 1 - exp(-rate(i) x (tokens(i) x tpot(i) + prefill'(i)))

A step grows with its batch, which is one request more than are in flight on average: what a
request finds, and itself. Prefills go before steps, so each token waits for the prompts that
arrive while it is made. Right-hand sides rise with everything on the left, so the iteration from
zero rises to the least fixed point, and one more model on a GPU makes nobody faster.

Under time slices a turn lasts for a slice or the rest of the step, and a neighbour's turn costs its
own length and a change of process. Under MPS every kernel is a turn, and a neighbour's kernel costs
a share of its length. An engine whose requests in flight reach its slots is saturated: its queue
grows without end, while its tokens come as fast as full batches allow.
"""

from math import exp, inf

import numpy as np

from colocate.problem.instance import Floats, Ints
from colocate.problem.kernel import leaf_kernel
from colocate.problem.sharing import LEAST, OF_KERNELS, PART_TURN, PER_SECOND, SCALE, SWITCH
from colocate.problem.tolerance import ARRIVED

RATE, TOKENS, STEP, PER_REQUEST, PREFILL, KERNELS, SLOTS = 0, 1, 2, 3, 4, 5, 6
"""Columns of the engines: requests each second, decode steps of a request, seconds of a step, more
for each request, seconds of a prefill, kernels of a step, requests at once."""
TPOT_SLO, TTFT_SLO, SPREAD = 7, 8, 9
"""Further columns: the targets in seconds, and how many times its mean a wait is counted: once, or
as often as the percentile of an exponential that the targets are about."""
ENGINE_COLUMNS = 10
"""How many columns an engine has."""
TPOT, STRETCHED, PREFILLED, BUSY, COST = 0, 1, 2, 3, 4
"""Columns of the state: seconds for each token, of a step and of a prefill beside the neighbours,
the chance to be busy, and what each turn costs a neighbour."""
STATE_COLUMNS = 5
"""How many columns the state has."""
SWEEPS = 200
"""The most sweeps over the engines; a handful is usual, and more are needed near saturation."""


@leaf_kernel
def turns(seconds: float, kernels: float, sharing: Floats) -> float:
    """Return how many turns some work takes, each of which waits for the neighbours.

    Parameters
    ----------
    seconds, kernels : the work, alone
    sharing : the constants of the way to share
    """
    least = sharing[LEAST] + sharing[OF_KERNELS] * kernels
    found: float = max(least, sharing[PER_SECOND] * seconds + sharing[PART_TURN])
    return found


@leaf_kernel
def tpot_beside(engines: Floats, i: int, delay: float, prefill: float, sharing: Floats) -> float:
    """Return the TPOT of an engine whose turns wait for so long, with its prefills stretched.

    A step is linear in its batch, and so in the TPOT: one line for the fewest turns that it can
    take, another for more. Where the higher of them meets the TPOT, that is it; a full batch is the
    most there can be.

    Parameters
    ----------
    engines, i : all engines, and which one
    delay : seconds that each turn waits for the neighbours
    prefill : seconds of a stretched prefill
    sharing : the constants of the way to share
    """
    rate, tokens, slots = engines[i, RATE], engines[i, TOKENS], engines[i, SLOTS]
    more, kernels = engines[i, PER_REQUEST], engines[i, KERNELS]
    first = engines[i, STEP] + more
    growth = more * rate * tokens
    factor = 1.0 + sharing[PER_SECOND] * delay
    fewest = first + turns(0.0, kernels, sharing) * delay
    many = first * factor + sharing[PART_TURN] * delay
    tpot = max(
        _crossing(fewest, growth + rate * prefill),
        _crossing(many, growth * factor + rate * prefill),
    )
    full = engines[i, STEP] + more * slots
    full += turns(full, kernels, sharing) * delay
    found: float = min(tpot, full + prefill * slots / tokens)
    return found


@leaf_kernel
def _crossing(start: float, slope: float) -> float:
    """Return where `start + slope x t` meets t; infinite where it never does."""
    return start / (1.0 - slope) if slope < 1.0 else inf


@leaf_kernel
def settle(engines: Floats, members: Ints, count: int, sharing: Floats, state: Floats) -> None:
    """Find the least fixed point of the engines on one GPU.

    Parameters
    ----------
    engines : engines[n, ENGINE_COLUMNS], as they are on this kind of GPU
    members, count : the engines on the GPU, and how many there are
    sharing : the constants of the way to share
    state : state[count, STATE_COLUMNS], written here, a row for each member
    """
    for row in range(count):
        state[row, :] = 0.0
    for _ in range(SWEEPS):
        moved = 0.0
        for row in range(count):
            before = state[row, TPOT] + state[row, PREFILLED]
            delay = 0.0
            for other in range(count):
                if other != row:
                    delay += state[other, BUSY] * state[other, COST]
            settle_one(engines, members[row], delay, sharing, state, row)
            after = state[row, TPOT] + state[row, PREFILLED]
            moved = max(moved, (after - before) / after if after > 0.0 else 0.0)
        if moved <= ARRIVED or count == 1:
            return


@leaf_kernel
def settle_one(
    engines: Floats, i: int, delay: float, sharing: Floats, state: Floats, row: int
) -> None:
    """Write the state of an engine whose turns wait for so long.

    Parameters
    ----------
    engines, i : all engines, and which one
    delay : seconds that each turn waits for the neighbours
    sharing : the constants of the way to share
    state, row : the state of all engines, and the row to write
    """
    rate, tokens, kernels = engines[i, RATE], engines[i, TOKENS], engines[i, KERNELS]
    lone_prefill = engines[i, PREFILL]
    prefill_turns = turns(lone_prefill, kernels, sharing)
    prefill = lone_prefill + prefill_turns * delay
    tpot, step = 0.0, lone_prefill
    if tokens > 0.0:
        tpot = tpot_beside(engines, i, delay, prefill, sharing)
        batch = min(1.0 + rate * tokens * tpot, engines[i, SLOTS])
        step = engines[i, STEP] + engines[i, PER_REQUEST] * batch
    step_turns = turns(step, kernels, sharing)
    decoding = step / step_turns if step_turns > 0.0 else 0.0
    reading = lone_prefill / prefill_turns if prefill_turns > 0.0 else 0.0
    longer = min(rate * prefill, 1.0) * max(reading - decoding, 0.0)
    state[row, TPOT] = tpot
    state[row, PREFILLED] = prefill
    state[row, STRETCHED] = step + step_turns * delay
    state[row, BUSY] = 1.0 - exp(-rate * (tokens * tpot + prefill))
    state[row, COST] = sharing[SCALE] * (decoding + longer) + sharing[SWITCH]


@leaf_kernel
def wait_of(engines: Floats, i: int, state: Floats, row: int, slots: float) -> float:
    """Return how long a request waits before its prefill begins; infinite if saturated.

    It waits for the end of the step or prefill under way, for the prompts before it, as in a queue
    with one server, and for a slot, by Sakasegawa's approximation of a queue with many servers.

    Parameters
    ----------
    engines, i : all engines, and which one
    state, row : the fixed point, and the row of the engine
    slots : the most requests at once, by its cache too
    """
    rate, tokens = engines[i, RATE], engines[i, TOKENS]
    prefill = state[row, PREFILLED]
    reading = rate * prefill
    in_flight = rate * (tokens * state[row, TPOT] + prefill)
    if reading >= 1.0 or in_flight >= slots:
        return inf
    decoding = 1.0 - exp(-rate * tokens * state[row, TPOT])
    wait: float = (decoding * state[row, STRETCHED] + reading * prefill) / 2.0 / (1.0 - reading)
    if tokens > 0.0:
        full = in_flight / slots
        stay = tokens * state[row, TPOT] + prefill
        wait += stay / slots * full ** (np.sqrt(2.0 * (slots + 1.0)) - 1.0) / (1.0 - full)
    return wait


@leaf_kernel
def ratio_of(engines: Floats, i: int, state: Floats, row: int, slots: float) -> float:
    """Return the worst of an engine's latencies over their targets; infinite if saturated.

    Parameters
    ----------
    engines, i, state, row, slots : as `wait_of` takes them
    """
    wait = wait_of(engines, i, state, row, slots)
    if wait == inf:
        return inf
    spread = engines[i, SPREAD]
    interrupted = state[row, TPOT] - state[row, STRETCHED]
    tpot = 0.0
    if engines[i, TOKENS] > 0.0:
        tpot = state[row, STRETCHED] + spread * interrupted
    ttft = state[row, PREFILLED] + spread * wait
    worst: float = max(tpot / engines[i, TPOT_SLO], ttft / engines[i, TTFT_SLO])
    return worst
