"""The law of sharing a GPU once more, for the checker alone: what a delay does to one engine.

All that an engine feels of its neighbours is a delay: seconds that each of its turns waits. All
that they feel of it is what it adds to theirs. Both rise together, so the delays of engines that
share GPUs are the least fixed point of rising functions. Each result is multiplied by a `tilt`:
just below 1 it makes everything a lower limit, whatever the rounding, and just above 1 an upper
one. The functions are plain Python on floats, and kernels of this folder compile them.

`docs/latency.md` explains the formulas; the solver has its own in the room `latency`.
"""

from collections.abc import Callable, Sequence
from math import expm1, inf, log, sqrt
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from colocate.machine_code.marks import marked
from colocate.problem.checker.tolerance import LAST_BIT, SINGLE_TOKEN
from colocate.problem.sharing import LEAST, OF_LAYERS, PART_TURN, PER_SECOND, SWITCH

Row = Sequence[float] | NDArray[np.float64]
Function = TypeVar("Function", bound=Callable[..., object])

RATE, TOKENS, STEP, PER_REQUEST, PREFILL, WORK, LAYERS, TURN_LAYERS, SLOTS = range(9)
"""Numbers of an engine: requests each second, tokens that steps make, seconds of a step, more for
each request, of a prefill, of its work on the GPU; layers that wait for neighbours, layers that
divide its work into turns of theirs, requests at once."""
TPOT_SLO, TTFT_SLO, SPREAD, COUNTS = range(9, 13)
"""Further numbers: the targets, how many times its mean a wait is counted, and whether its ratio
counts (1) or only what it does to others (0)."""
ENGINE_NUMBERS = 13
"""How many numbers an engine has."""
PADDED = 1.2
"""How much larger than the requests in it a batch is on average: CUDA graphs exist for some sizes
only."""


def _part(function: Function) -> Function:
    return marked(function, _nrt=False)


@_part
def turns_of(seconds: float, layers: float, sharing: Row) -> float:
    """Return how many turns work takes.

    Parameters
    ----------
    seconds, layers : how long the work takes by itself, and its layers
    sharing : the constants of the way to share
    """
    return max(
        sharing[LEAST],
        sharing[OF_LAYERS] * layers + sharing[PER_SECOND] * seconds + sharing[PART_TURN],
    )


@_part
def length_of_turn(seconds: float, layers: float, sharing: Row) -> float:
    """Return how long a neighbour waits for one turn of work.

    Parameters
    ----------
    seconds, layers, sharing : as `turns_of` takes them
    """
    if sharing[OF_LAYERS] > 0.0:
        return seconds / layers if layers > 0.0 else 0.0
    turns = turns_of(seconds, layers, sharing)
    return seconds / turns + sharing[SWITCH] if turns > 0.0 else 0.0


@_part
def meeting(start: float, slope: float) -> float:
    """Return the t with `t = start + slope t`; infinite if there is none."""
    return start / (1.0 - slope) if slope < 1.0 else inf


@_part
def beside(engine: Row, delay: float, sharing: Row, tilt: float) -> tuple[float, ...]:
    """Return what a delay makes of an engine.

    That is: seconds of a token, of a step, of a prefill, and the delay that it adds to others.

    Parameters
    ----------
    engine : its numbers
    delay : seconds that each of its turns waits
    sharing : the constants of the way to share
    tilt : 1, a little less for lower limits, or a little more for upper ones
    """
    rate, tokens, slots = engine[RATE], engine[TOKENS], engine[SLOTS]
    layers, work = engine[LAYERS], engine[WORK]
    prefill = (engine[PREFILL] + turns_of(work, layers, sharing) * delay) * tilt
    token, step = 0.0, work
    if tokens > 0.0:
        first = engine[STEP] + engine[PER_REQUEST]
        growth = engine[PER_REQUEST] * PADDED * rate * tokens
        longer = 1.0 + sharing[PER_SECOND] * delay
        short = first + sharing[LEAST] * delay
        long = first * longer + (sharing[OF_LAYERS] * layers + sharing[PART_TURN]) * delay
        token = max(
            meeting(short * tilt, (growth + rate * prefill) * tilt),
            meeting(long * tilt, (growth * longer + rate * prefill) * tilt),
        )
        full = engine[STEP] + engine[PER_REQUEST] * slots
        full += turns_of(full, layers, sharing) * delay
        token = min(token, full + prefill * slots / tokens) * tilt
        batch = min(1.0 + PADDED * rate * tokens * token, slots)
        step = engine[STEP] + engine[PER_REQUEST] * batch
    decoding = length_of_turn(step, engine[TURN_LAYERS], sharing)
    reading = length_of_turn(work, engine[TURN_LAYERS], sharing)
    turn = decoding + min(rate * prefill, 1.0) * max(reading - decoding, 0.0)
    stretched = (step + turns_of(step, layers, sharing) * delay) * tilt
    busy = -expm1(-rate * (tokens * token + prefill) * tilt)
    return token, stretched, prefill, busy * turn * tilt


@_part
def latencies(
    engine: Row, token: float, step: float, prefill: float, slots: float, tilt: float
) -> tuple[float, ...]:
    """Return the TPOT and the TTFT that the targets are about; both infinite if saturated.

    Between two tokens prompts of other requests are read. That is the time of a token less that of
    a step, and never less than the prompts that arrive meanwhile, which lower limits count.

    Parameters
    ----------
    engine : its numbers
    token, step, prefill : as `beside` returns them
    slots : the most requests at once, by its cache too
    tilt : as `beside` takes it
    """
    rate, tokens = engine[RATE], engine[TOKENS]
    reading, stay = rate * prefill * tilt, tokens * token + prefill
    if reading >= 1.0 or rate * stay * tilt >= slots:
        return inf, inf
    decoding = -expm1(-rate * tokens * token * tilt)
    queue = (decoding * step + reading * prefill / (1.0 - reading)) / 2.0 * tilt
    tpot, for_slot = 0.0, 0.0
    if tokens > 0.0:
        each = log(tokens) / (tokens - 1.0) if tokens > SINGLE_TOKEN else 1.0
        arrived = rate * (prefill + queue) / (1.0 - reading)
        others = each * min(arrived, engine[SLOTS]) * prefill * tilt
        between = token - step
        if tilt < 1.0:
            between = prefill * min(rate * token, engine[SLOTS] / tokens) * tilt
        tpot = (token + (engine[SPREAD] - 1.0) * between + engine[SPREAD] * others) * tilt
        taken = rate * stay / slots * tilt
        for_slot = stay / slots * taken ** (sqrt(2.0 * (slots + 1.0)) - 1.0)
        for_slot /= max(1.0 - taken, LAST_BIT)
    return tpot, (prefill + engine[SPREAD] * (queue + for_slot)) * tilt


@_part
def ratio_beside(engine: Row, delay: float, sharing: Row, tilt: float) -> float:
    """Return the worst latency over its target at a delay, with all slots that an engine can have.

    Parameters
    ----------
    engine, delay, sharing, tilt : as `beside` takes them
    """
    token, step, prefill, _ = beside(engine, delay, sharing, tilt)
    tpot, ttft = latencies(engine, token, step, prefill, engine[SLOTS], tilt)
    if tpot == inf:
        return inf
    return max(tpot / engine[TPOT_SLO], ttft / engine[TTFT_SLO]) * tilt
