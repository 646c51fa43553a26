"""Time slices: engines with work take turns on a GPU.

A turn lasts until the work at hand is done, and no longer than a slice if somebody waits. Then the
process changes, which takes a while. Who has more work goes to the end of the row: engines that
decode without a pause, side by side, take one step or one slice each, in strict order, even where a
step is far shorter than a slice. Somebody who comes while an engine has the GPU for itself waits
for the end of the slice under way.

A step begins with a moment of the host, in which others may have the GPU. A prefill is launched
kernel by kernel: alone it takes as long as it was measured to. Beside others its first turn is
short, the host launches ahead from then on, and each further turn runs what has been launched so
far; beside engines that decode the GPU is faster at it.

The shards of a replica work on the same step, each by the turns of its own GPU. The step is done
when the slowest is; a shard that is done earlier leaves its GPU to others.
"""

from math import ceil, inf

from colocate.problem.kernel import leaf_kernel
from colocate.problem.sharing import (
    CHANGE_SECONDS,
    PREFILL_AHEAD,
    PREFILL_HEAD,
    QUANTUM,
)
from colocate.simulate.kernel.state import (
    BEGUN,
    COMPLETES,
    CONTENDED,
    DONE,
    DONE_AFTER,
    FIRST_PART,
    LAST_PART,
    LENGTH,
    NEED,
    NEXT,
    NOBODY,
    PACE_OF_TURN,
    PART_ENGINE,
    PART_GPU,
    PARTS,
    PENDING,
    READY,
    READY_FIRST,
    RUNNING_PART,
    STEP,
    TURN_BEGAN,
    TURN_ENDED,
    WORK,
    SimulationState,
)


@leaf_kernel
def line_up(state: SimulationState, engine: int, now: float) -> None:
    """Let all parts of an engine wait for their turn with new work.

    Parameters
    ----------
    state, engine, now : the simulation, the engine and the moment
    """
    first, parts = state.engines[engine, FIRST_PART], state.engines[engine, PARTS]
    state.engines[engine, PENDING] = parts
    for part in range(first, first + parts):
        state.progress[part, DONE] = 0.0
        state.progress[part, BEGUN] = now
        gpu = state.parts[part, PART_GPU]
        _push(state, gpu, part)
        if state.gpus[gpu, RUNNING_PART] == NOBODY:
            begin_turn(state, gpu, now)
        elif state.gpus[gpu, CONTENDED] == 0:
            _cut_short(state, gpu, now)


@leaf_kernel
def _push(state: SimulationState, gpu: int, part: int) -> None:
    room = state.ready.shape[1]
    place = state.gpus[gpu, READY_FIRST] + state.gpus[gpu, READY]
    state.ready[gpu, place - room if place >= room else place] = part
    state.gpus[gpu, READY] += 1


@leaf_kernel
def _pop(state: SimulationState, gpu: int) -> int:
    first = state.gpus[gpu, READY_FIRST]
    part: int = state.ready[gpu, first]
    first += 1
    state.gpus[gpu, READY_FIRST] = 0 if first == state.ready.shape[1] else first
    state.gpus[gpu, READY] -= 1
    return part


@leaf_kernel
def begin_turn(state: SimulationState, gpu: int, now: float) -> None:
    """Give a GPU to the part that has waited longest, if there is one.

    Parameters
    ----------
    state, gpu, now : the simulation, the GPU, which nobody has, and the moment
    """
    gpus, moments = state.gpus, state.moments
    if gpus[gpu, READY] == 0:
        moments[gpu, NEXT] = inf
        return
    part = _pop(state, gpu)
    if part != gpus[gpu, LAST_PART]:
        now = max(now, moments[gpu, TURN_ENDED] + CHANGE_SECONDS)
        gpus[gpu, LAST_PART] = part
    engine = state.parts[part, PART_ENGINE]
    contended = gpus[gpu, READY] > 0
    left = state.speeds[engine, NEED] - state.progress[part, DONE]
    work, pace = left, 1.0
    if state.engines[engine, WORK] == STEP:
        gap = state.speeds[engine, LENGTH] - state.speeds[engine, NEED]
        now = max(now, state.progress[part, BEGUN] + gap)
    elif contended:
        if state.progress[part, DONE] == 0.0:
            state.progress[part, BEGUN] = now
        pace = 1.0 / PREFILL_AHEAD if _others_read(state, gpu) else 1.0
        work = min(left, _launched(state, engine, part, now))
    else:
        host = state.progress[part, BEGUN] + state.speeds[engine, LENGTH] - now
        pace = left / host if host > left else 1.0
    if contended:
        work = min(work, QUANTUM * pace)
    gpus[gpu, RUNNING_PART] = part
    gpus[gpu, CONTENDED] = contended
    gpus[gpu, COMPLETES] = work == left
    moments[gpu, TURN_BEGAN] = now
    moments[gpu, PACE_OF_TURN] = pace
    moments[gpu, DONE_AFTER] = state.progress[part, DONE] + work
    moments[gpu, NEXT] = now + (work / pace if work > 0.0 else 0.0)


@leaf_kernel
def _launched(state: SimulationState, engine: int, part: int, now: float) -> float:
    """Return how much of a prefill the GPU can run in a turn beside others.

    Parameters
    ----------
    state, engine, part, now : the simulation, the engine, its part and the moment
    """
    length, need = state.speeds[engine, LENGTH], state.speeds[engine, NEED]
    found: float = need
    if length > 0.0:
        found = need * PREFILL_HEAD / length
        if state.progress[part, DONE] > 0.0:
            launched = need * PREFILL_AHEAD * (now - state.progress[part, BEGUN]) / length
            found = max(launched - state.progress[part, DONE], found)
    return found


@leaf_kernel
def _others_read(state: SimulationState, gpu: int) -> bool:
    """Return whether a part that waits for its turn on a GPU reads a prompt."""
    room = state.ready.shape[1]
    for number in range(state.gpus[gpu, READY]):
        place = state.gpus[gpu, READY_FIRST] + number
        other = state.ready[gpu, place - room if place >= room else place]
        if state.engines[state.parts[other, PART_ENGINE], WORK] != STEP:
            return True
    return False


@leaf_kernel
def _cut_short(state: SimulationState, gpu: int, now: float) -> None:
    """Let a turn end with the slice under way, because somebody waits now.

    Parameters
    ----------
    state, gpu, now : the simulation, the GPU and the moment
    """
    state.gpus[gpu, CONTENDED] = 1
    began = state.moments[gpu, TURN_BEGAN]
    end = began + QUANTUM * max(ceil((now - began) / QUANTUM), 1)
    if end < state.moments[gpu, NEXT]:
        done = state.progress[state.gpus[gpu, RUNNING_PART], DONE]
        state.moments[gpu, DONE_AFTER] = done + state.moments[gpu, PACE_OF_TURN] * (end - began)
        state.moments[gpu, NEXT] = end
        state.gpus[gpu, COMPLETES] = 0


@leaf_kernel
def end_turn(state: SimulationState, gpu: int) -> int:
    """End the turn of a GPU; return the engine that has done its work with it, or NOBODY.

    The next turn does not begin yet.

    Parameters
    ----------
    state, gpu : the simulation and the GPU
    """
    gpus, moments = state.gpus, state.moments
    part = gpus[gpu, RUNNING_PART]
    gpus[gpu, RUNNING_PART] = NOBODY
    moments[gpu, TURN_ENDED] = moments[gpu, NEXT]
    if gpus[gpu, COMPLETES]:
        engine: int = state.parts[part, PART_ENGINE]
        state.engines[engine, PENDING] -= 1
        return engine if state.engines[engine, PENDING] == 0 else NOBODY
    state.progress[part, DONE] = moments[gpu, DONE_AFTER]
    _push(state, gpu, part)
    return NOBODY


@leaf_kernel
def leave_row(state: SimulationState, engine: int, now: float) -> None:
    """Take all parts of an engine that fails off their GPUs.

    Parameters
    ----------
    state, engine, now : the simulation, the engine and the moment
    """
    first, parts = state.engines[engine, FIRST_PART], state.engines[engine, PARTS]
    for part in range(first, first + parts):
        gpu = state.parts[part, PART_GPU]
        for _ in range(state.gpus[gpu, READY]):
            other = _pop(state, gpu)
            if other != part:
                _push(state, gpu, other)
        if state.gpus[gpu, RUNNING_PART] == part:
            state.gpus[gpu, RUNNING_PART] = NOBODY
            state.moments[gpu, TURN_ENDED] = now
            begin_turn(state, gpu, now)
