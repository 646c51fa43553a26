"""The law of sharing a GPU once more, for the checker alone: what a delay does to one engine.

All that an engine feels of its neighbours is a delay: seconds that each turn of a step, or of a
prefill, waits. All that they feel of it is how often it is busy, and with what. Both rise together,
so the delays of engines that share GPUs are the least fixed point of rising functions. Each result
is multiplied by a `tilt`:
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
from colocate.problem.sharing import (
    LEAST,
    OF_LAYERS,
    PART_TURN,
    PER_SECOND,
    PER_SECOND_OF_PREFILL,
    SHORT,
    SWITCH,
)

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
TOKEN, STRETCHED, PREFILLED, BUSY, READING, STEP_TURN, READ_TURN = range(7)
"""Numbers that `beside` returns: seconds of a token, of a step and of a prefill; the chance to be
busy, and the share of that with prompts; what others wait for a turn of a step and of a prefill."""
BESIDE_NUMBERS = 7
"""How many numbers these are."""
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
    turns = sharing[OF_LAYERS] * layers + sharing[PER_SECOND] * seconds + sharing[PART_TURN]
    return max(sharing[LEAST], turns if sharing[OF_LAYERS] == 0.0 else min(turns, layers))


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
def step_length(engine: Row, token: float) -> float:
    """Return how long a step takes by itself, when tokens take so long."""
    batch = min(1.0 + PADDED * engine[RATE] * engine[TOKENS] * token, engine[SLOTS])
    return engine[STEP] + engine[PER_REQUEST] * batch


@_part
def prefill_turns(engine: Row, sharing: Row) -> float:
    """Return how many turns the work of a prefill takes."""
    turns = sharing[PER_SECOND_OF_PREFILL] * engine[WORK] + sharing[PART_TURN]
    if sharing[OF_LAYERS] > 0.0:
        turns = min(turns + sharing[OF_LAYERS] * engine[LAYERS], engine[LAYERS])
    return max(sharing[LEAST], turns)


@_part
def own_turn(engine: Row, token: float, sharing: Row, reading: bool) -> float:
    """Return how long a turn of an engine's own work is; 0 if it has no such work.

    Parameters
    ----------
    engine, sharing : its numbers, and the constants of the way to share
    token : seconds of a token
    reading : whether the work is a prefill, not a step
    """
    if reading:
        turns = prefill_turns(engine, sharing)
        return engine[WORK] / turns if turns > 0.0 else 0.0
    if engine[TOKENS] <= 0.0:
        return 0.0
    step = step_length(engine, token)
    turns = turns_of(step, engine[LAYERS], sharing)
    return step / turns if turns > 0.0 else 0.0


@_part
def shorter_wait(length: float, turn: float, sharing: Row) -> float:
    """Return how long a turn waits for a turn of a neighbour; a short one slips in before its end.

    Parameters
    ----------
    length : of the neighbour's turn
    turn : the length of the one that waits
    sharing : the constants of the way to share
    """
    limit = sharing[SHORT] * length
    return length if turn >= limit else length * (turn / limit) ** (1.0 / 3.0)


@_part
def delay_by(other: Row, turn: float, sharing: Row) -> float:
    """Return how long each turn of some work waits for a neighbour.

    The neighbour decodes or reads prompts, and work goes on at the speed of the moment: its time is
    the harmonic mean over both. It rises with the length of the turn and with all of the
    neighbour's numbers, since a turn of a prefill is never shorter than one of a step.

    Parameters
    ----------
    other : what a delay makes of the neighbour, as `beside` returns it
    turn : the length of a turn of the work by itself; nothing waits if there is no work
    sharing : the constants of the way to share
    """
    if turn <= 0.0:
        return 0.0
    short = shorter_wait(other[STEP_TURN], turn, sharing)
    long = shorter_wait(other[READ_TURN], turn, sharing)
    above = (turn + short) * other[READING] + (turn + long) * (1.0 - other[READING])
    # The harmonic mean less the turn, without the difference of two large numbers.
    found = turn * (short * (1.0 - other[READING]) + long * other[READING]) + short * long
    return other[BUSY] * found / above if above > 0.0 else 0.0


@_part
def beside(
    engine: Row, for_step: float, for_work: float, sharing: Row, tilt: float
) -> tuple[float, ...]:
    """Return what delays make of an engine (see `TOKEN` and the others).

    Parameters
    ----------
    engine : its numbers
    for_step, for_work : seconds that each turn of a step, or of a prefill, waits
    sharing : the constants of the way to share
    tilt : 1, a little less for lower limits, or a little more for upper ones
    """
    rate, tokens, slots = engine[RATE], engine[TOKENS], engine[SLOTS]
    layers = engine[LAYERS]
    prefill = (engine[PREFILL] + prefill_turns(engine, sharing) * for_work) * tilt
    token, stretched = 0.0, 0.0
    read_turn = length_of_turn(engine[WORK], engine[TURN_LAYERS], sharing) * tilt
    step_turn = read_turn
    reading = 1.0
    if tokens > 0.0:
        first = engine[STEP] + engine[PER_REQUEST]
        growth = engine[PER_REQUEST] * PADDED * rate * tokens
        longer = 1.0 + sharing[PER_SECOND] * for_step
        short = first + sharing[LEAST] * for_step
        long = first * longer + (sharing[OF_LAYERS] * layers + sharing[PART_TURN]) * for_step
        token = max(
            meeting(short * tilt, (growth + rate * prefill) * tilt),
            meeting(long * tilt, (growth * longer + rate * prefill) * tilt),
        )
        if sharing[OF_LAYERS] > 0.0:
            most = first + layers * for_step
            token = min(token, meeting(most * tilt, (growth + rate * prefill) * tilt))
        full = engine[STEP] + engine[PER_REQUEST] * slots
        full += turns_of(full, layers, sharing) * for_step
        token = min(token, full + prefill * slots / tokens) * tilt
        step = step_length(engine, token)
        stretched = (step + turns_of(step, layers, sharing) * for_step) * tilt
        step_turn = length_of_turn(step, engine[TURN_LAYERS], sharing) * tilt
        read_turn = max(read_turn, step_turn)
        reading = min(rate * prefill * tilt, 1.0)
    busy = -expm1(-rate * (tokens * token + prefill) * tilt) * tilt
    return token, stretched, prefill, busy, reading, step_turn, read_turn


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
def ratio_of(engine: Row, state: Row, tilt: float) -> float:
    """Return the worst latency over its target, with all slots that an engine can have.

    Parameters
    ----------
    engine, state : its numbers, and what delays make of it, as `beside` returns that
    tilt : as `beside` takes it
    """
    token, step, prefill = state[TOKEN], state[STRETCHED], state[PREFILLED]
    tpot, ttft = latencies(engine, token, step, prefill, engine[SLOTS], tilt)
    if tpot == inf:
        return inf
    return max(tpot / engine[TPOT_SLO], ttft / engine[TTFT_SLO]) * tilt


@_part
def ratio_at(engine: Row, delay: float, sharing: Row, tilt: float) -> float:
    """Return the worst latency over its target where all work waits for so long.

    Parameters
    ----------
    engine, sharing, tilt : as `beside` takes them
    delay : seconds that each turn waits; work that takes no time has none
    """
    state = beside_at(engine, delay, sharing, tilt)
    return ratio_of(engine, state, tilt)


@_part
def beside_at(engine: Row, delay: float, sharing: Row, tilt: float) -> tuple[float, ...]:
    """Return what an engine becomes where all work waits for so long.

    Parameters
    ----------
    engine, delay, sharing, tilt : as `ratio_at` takes them
    """
    for_work = delay if engine[WORK] > 0.0 else 0.0
    for_step = delay if engine[STEP] + engine[PER_REQUEST] > 0.0 else 0.0
    return beside(engine, for_step, for_work, sharing, tilt)
