"""The law: what the engines on one GPU do to each other, as a least fixed point.

A busy engine runs step after step, however few requests it has. Its neighbours wait for it:

    delay(i) = sum over neighbours j of the wait for a turn of j   for every turn that i takes
    step'(i) = step(i) + turns(step(i)) x delay(i)             the same for prefills
    tpot(i)  = step'(i) + prefill'(i) x min(rate(i) x tpot(i), slots(i) / tokens(i))
    busy(i)  = 1 - exp(-rate(i) x (tokens(i) x tpot(i) + prefill'(i)))

A step grows with its batch, which is one request more than are in flight on average: what a
request finds, and itself. Prefills go before steps, so each token waits for the prompts that
arrive while it is made. Right-hand sides rise with everything on the left, so the iteration from
zero rises to the least fixed point, and one more model on a GPU makes nobody faster.

Under time slices a turn lasts for a slice or the rest of the step, and a neighbour's turn costs its
own length and a change of process. Under MPS every kernel is a turn, and a neighbour's kernel costs
a share of its length, less where it is long and the own one short. An engine whose requests in
flight reach its slots is saturated: its queue grows without end, while its tokens come as fast as
full batches allow.
"""

from math import exp, inf, log

import numpy as np

from colocate.problem.instance import Floats
from colocate.problem.kernel import leaf_kernel
from colocate.problem.sharing import (
    LEAST,
    OF_LAYERS,
    PART_TURN,
    PER_SECOND,
    PER_SECOND_OF_PREFILL,
    SHORT,
    SWITCH,
)
from colocate.problem.tolerance import ONE_TOKEN

RATE, TOKENS, STEP, PER_REQUEST, PREFILL, WORK, LAYERS, SLOTS = 0, 1, 2, 3, 4, 5, 6, 7
"""Columns of the engines: requests each second, decode steps of a request, seconds of a step, more
for each request, seconds of a prefill and of its work on the GPU, layers, requests at once."""
TPOT_SLO, TTFT_SLO, SPREAD = 8, 9, 10
"""Further columns: the targets in seconds, and how many times its mean a wait is counted: once, or
as often as the percentile of an exponential that the targets are about."""
ENGINE_COLUMNS = 11
"""How many columns an engine has."""
TPOT, STRETCHED, PREFILLED, BUSY, READING, STEP_TURN, READ_TURN = 0, 1, 2, 3, 4, 5, 6
"""Columns of the state: seconds for each token, of a step and of a prefill beside the neighbours,
the chance to be busy, the share of that time spent on prompts, and what a neighbour waits for a
turn of a step and of a prefill."""
STATE_COLUMNS = 7
"""How many columns the state has."""
PADDING = 1.2
"""Engines pad a batch to the next size that they have a CUDA graph for: 1, 2, 4, 8 and then every
eighth. For batches of 8 to 40 that is a fifth more on average."""
SWEEPS = 5000
"""The most sweeps over the engines, as many as the checker makes; a handful is usual. Just before
queues tip over, it takes thousands: fewer would state latencies that nobody would see."""


@leaf_kernel
def turns(seconds: float, layers: float, sharing: Floats) -> float:
    """Return how many turns some work takes, each of which waits for the neighbours.

    Parameters
    ----------
    seconds, layers : the work, alone
    sharing : the constants of the way to share
    """
    return turns_at(seconds, layers, sharing[PER_SECOND], sharing)


@leaf_kernel
def turns_at(seconds: float, layers: float, per_second: float, sharing: Floats) -> float:
    """Return how many turns some work takes that gives way so often; never more than layers.

    Parameters
    ----------
    seconds, layers : the work, alone
    per_second : how many turns it takes for its length
    sharing : the constants of the way to share
    """
    more = sharing[OF_LAYERS] * layers + per_second * seconds + sharing[PART_TURN]
    if sharing[OF_LAYERS] > 0.0:
        more = min(more, layers)
    found: float = max(sharing[LEAST], more)
    return found


@leaf_kernel
def turn_of(seconds: float, layers: float, sharing: Floats) -> float:
    """Return how long a neighbour waits for one turn of some work.

    Under time slices that is a turn, under MPS a layer.

    Parameters
    ----------
    seconds, layers : the work, alone
    sharing : the constants of the way to share
    """
    if sharing[OF_LAYERS] > 0.0:
        return seconds / layers
    count = turns(seconds, layers, sharing)
    return seconds / count + sharing[SWITCH] if count > 0.0 else 0.0


@leaf_kernel
def tpot_beside(engines: Floats, i: int, delay: float, prefill: float, sharing: Floats) -> float:
    """Return the TPOT of an engine whose turns wait for so long, with its prefills stretched.

    A step is linear in its batch, and so in the TPOT: one line for the fewest turns that it can
    take, another for more. Where the higher of them meets the TPOT, that is it; but there are no
    more turns than layers, and a full batch is the most there can be.

    Parameters
    ----------
    engines, i : all engines, and which one
    delay : seconds that each turn waits for the neighbours
    prefill : seconds of a stretched prefill
    sharing : the constants of the way to share
    """
    rate, tokens, slots = engines[i, RATE], engines[i, TOKENS], engines[i, SLOTS]
    more, layers = engines[i, PER_REQUEST], engines[i, LAYERS]
    first = engines[i, STEP] + more
    growth = more * PADDING * rate * tokens
    factor = 1.0 + sharing[PER_SECOND] * delay
    fewest = first + sharing[LEAST] * delay
    many = first * factor + (sharing[OF_LAYERS] * layers + sharing[PART_TURN]) * delay
    tpot = max(
        _crossing(fewest, growth + rate * prefill),
        _crossing(many, growth * factor + rate * prefill),
    )
    if sharing[OF_LAYERS] > 0.0:
        tpot = min(tpot, _crossing(first + layers * delay, growth + rate * prefill))
    full = engines[i, STEP] + more * slots
    full += turns(full, layers, sharing) * delay
    found: float = min(tpot, full + prefill * slots / tokens)
    return found


@leaf_kernel
def _crossing(start: float, slope: float) -> float:
    """Return where `start + slope x t` meets t; infinite where it never does."""
    return start / (1.0 - slope) if slope < 1.0 else inf


@leaf_kernel
def seen_turn(turn: float, own: float, sharing: Floats) -> float:
    """Return how long one own turn waits for a neighbour's: less if it is so short as to slip in.

    Parameters
    ----------
    turn, own : the lengths of both
    sharing : the constants of the way to share
    """
    if own >= sharing[SHORT] * turn:
        return turn
    seen: float = (own * turn * turn / sharing[SHORT]) ** (1.0 / 3.0)
    return seen


@leaf_kernel
def delay_by(state: Floats, other: int, seconds: float, count: float, sharing: Floats) -> float:
    """Return how long each turn of some work waits for one neighbour, on average.

    A busy neighbour decodes or reads prompts, in turn and quickly. Work goes on at the speed of the
    moment, so its time is the harmonic mean over both. Busy and idle times are as long as requests,
    so they count by their chances.

    Parameters
    ----------
    state, other : the state of all engines, and the row of the neighbour
    seconds, count : the work alone, and its turns
    sharing : the constants of the way to share
    """
    reading = state[other, READING]
    if seconds <= 0.0 or count <= 0.0:
        return 0.0
    own = seconds / count
    speed = (1.0 - reading) / (seconds + count * seen_turn(state[other, STEP_TURN], own, sharing))
    speed += reading / (seconds + count * seen_turn(state[other, READ_TURN], own, sharing))
    found: float = state[other, BUSY] * (1.0 / speed - seconds) / count
    return found


@leaf_kernel
def step_and_turns(
    engines: Floats, i: int, state: Floats, row: int, sharing: Floats
) -> tuple[float, float]:
    """Return how long a step takes alone, at the batch of the state so far, and its turns.

    Parameters
    ----------
    engines, i : all engines, and which one
    state, row : the state of all engines, and the row of this one
    sharing : the constants of the way to share
    """
    batch = 1.0 + PADDING * engines[i, RATE] * engines[i, TOKENS] * state[row, TPOT]
    step = engines[i, STEP] + engines[i, PER_REQUEST] * min(batch, engines[i, SLOTS])
    return step, turns(step, engines[i, LAYERS], sharing)


@leaf_kernel
def work_and_turns(engines: Floats, i: int, sharing: Floats) -> tuple[float, float]:
    """Return how long the work of a prefill takes alone, and its turns.

    Parameters
    ----------
    engines, i : all engines, and which one
    sharing : the constants of the way to share
    """
    work = engines[i, WORK]
    return work, turns_at(work, engines[i, LAYERS], sharing[PER_SECOND_OF_PREFILL], sharing)


@leaf_kernel
def waits(
    engines: Floats, i: int, state: Floats, row: int, count: int, sharing: Floats
) -> tuple[float, float]:
    """Return how long each turn of an engine's step, and of its prefill, waits for its neighbours.

    Parameters
    ----------
    engines, i : all engines, and which one
    state, row, count : the state of the engines on its GPU, its own row, and how many there are
    sharing : the constants of the way to share
    """
    step, step_turns = step_and_turns(engines, i, state, row, sharing)
    work, work_turns = work_and_turns(engines, i, sharing)
    for_step = for_work = 0.0
    for other in range(count):
        if other != row:
            for_step += delay_by(state, other, step, step_turns, sharing)
            for_work += delay_by(state, other, work, work_turns, sharing)
    return for_step, for_work


@leaf_kernel
def arrived(moved: float, before: float, left_out: float) -> bool:
    """Return whether an iteration that rises ever more slowly is as good as at its end.

    Steps shrink by about the same share each time, so what is left is a geometric series. Close to
    saturation they shrink slowly, and much is left after a small one.

    Parameters
    ----------
    moved, before : the largest relative change of the last sweep, and of the one before it
    left_out : the share of a latency that may be left out
    """
    shrinks = moved / before if before < inf else 1.0
    return moved == 0.0 or (shrinks < 1.0 and moved * shrinks <= left_out * (1.0 - shrinks))


@leaf_kernel
def settle_one(
    engines: Floats,
    i: int,
    for_step: float,
    for_work: float,
    sharing: Floats,
    state: Floats,
    row: int,
) -> None:
    """Write the state of an engine whose turns wait for so long.

    Parameters
    ----------
    engines, i : all engines, and which one
    for_step, for_work : seconds that each turn of a step, or of a prefill, waits
    sharing : the constants of the way to share
    state, row : the state of all engines, and the row to write
    """
    rate, tokens, layers = engines[i, RATE], engines[i, TOKENS], engines[i, LAYERS]
    work, work_turns = work_and_turns(engines, i, sharing)
    prefill = engines[i, PREFILL] + work_turns * for_work
    state[row, PREFILLED] = prefill
    state[row, READ_TURN] = turn_of(work, layers, sharing)
    state[row, STEP_TURN] = state[row, READ_TURN]
    if tokens > 0.0:
        state[row, TPOT] = tpot_beside(engines, i, for_step, prefill, sharing)
        step, step_turns = step_and_turns(engines, i, state, row, sharing)
        state[row, STRETCHED] = step + step_turns * for_step
        state[row, STEP_TURN] = turn_of(step, layers, sharing)
        state[row, READ_TURN] = max(state[row, READ_TURN], state[row, STEP_TURN])
    state[row, BUSY] = 1.0 - exp(-rate * (tokens * state[row, TPOT] + prefill))
    state[row, READING] = min(rate * prefill, 1.0) if tokens > 0.0 else 1.0


@leaf_kernel
def saturated(engines: Floats, i: int, state: Floats, row: int, slots: float) -> bool:
    """Return whether the queue of an engine grows without end.

    Parameters
    ----------
    engines, i : all engines, and which one
    state, row : the fixed point, and the row of the engine
    slots : the most requests at once, by its cache too
    """
    rate, prefill = engines[i, RATE], state[row, PREFILLED]
    in_flight = rate * (engines[i, TOKENS] * state[row, TPOT] + prefill)
    return bool(rate * prefill >= 1.0 or in_flight >= slots)


@leaf_kernel
def queueing(engines: Floats, i: int, state: Floats, row: int) -> float:
    """Return how long a request waits for the step under way and for the prompts before it.

    Prompts wait as in a queue with one server (Pollaczek and Khinchine).

    Parameters
    ----------
    engines, i, state, row : as `saturated` takes them; the engine is not saturated
    """
    rate, prefill = engines[i, RATE], state[row, PREFILLED]
    reading = rate * prefill
    decoding = 1.0 - exp(-rate * engines[i, TOKENS] * state[row, TPOT])
    wait: float = decoding * state[row, STRETCHED] + reading * prefill / (1.0 - reading)
    return wait / 2.0


@leaf_kernel
def wait_for_slot(engines: Floats, i: int, state: Floats, row: int, slots: float) -> float:
    """Return how long a request waits for a slot, as in a queue with many servers (Sakasegawa).

    Parameters
    ----------
    engines, i, state, row, slots : as `saturated` takes them; the engine is not saturated
    """
    stay = engines[i, TOKENS] * state[row, TPOT] + state[row, PREFILLED]
    full = engines[i, RATE] * stay / slots
    wait: float = stay / slots * full ** (np.sqrt(2.0 * (slots + 1.0)) - 1.0) / (1.0 - full)
    return wait if engines[i, TOKENS] > 0.0 else 0.0


@leaf_kernel
def interruption(engines: Floats, i: int, state: Floats, row: int, queue: float) -> float:
    """Return how much of a request's TPOT the prompts of others take.

    Any token waits for those that arrive while it is made. The first also waits for those that
    arrived since the request did. A request's TPOT is a mean over its tokens, so that counts as one
    over their number, of which the mean is taken for numbers spread geometrically.

    Parameters
    ----------
    engines, i, state, row : as `saturated` takes them
    queue : how long a request waits before its prompt is read
    """
    tokens, prefill = engines[i, TOKENS], state[row, PREFILLED]
    inverse = log(tokens) / (tokens - 1.0) if tokens > 1.0 + ONE_TOKEN else 1.0
    arrived = engines[i, RATE] * (prefill + queue) / (1.0 - engines[i, RATE] * prefill)
    others = inverse * min(arrived, engines[i, SLOTS]) * prefill
    between: float = others + state[row, TPOT] - state[row, STRETCHED]
    return between


@leaf_kernel
def ratio_of(engines: Floats, i: int, state: Floats, row: int, slots: float) -> float:
    """Return the worst of an engine's latencies over their targets; infinite if saturated.

    Parameters
    ----------
    engines, i, state, row, slots : as `saturated` takes them
    """
    if saturated(engines, i, state, row, slots):
        return inf
    spread, tpot = engines[i, SPREAD], 0.0
    queue = queueing(engines, i, state, row)
    if engines[i, TOKENS] > 0.0:
        tpot = state[row, STRETCHED] + spread * interruption(engines, i, state, row, queue)
    wait = queue + wait_for_slot(engines, i, state, row, slots)
    ttft = state[row, PREFILLED] + spread * wait
    worst: float = max(tpot / engines[i, TPOT_SLO], ttft / engines[i, TTFT_SLO])
    return worst
