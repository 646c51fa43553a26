"""What happens next on the GPUs, up to a moment, and the requests that arrive meanwhile.

Groups of GPUs that shards join know nothing of each other between two requests. So each group goes
on by itself, up to the next request that one of its engines may get.
"""

from math import inf

from colocate.problem.instance import Floats
from colocate.problem.kernel import entry_kernel, leaf_kernel
from colocate.simulate.kernel.accounts import count_engine, count_gpu, show_engine
from colocate.simulate.kernel.cache import may_ever_fit
from colocate.simulate.kernel.engine import end_work, goes_on, next_work
from colocate.simulate.kernel.queue import append, forget_request, new_request
from colocate.simulate.kernel.router import chosen_engine
from colocate.simulate.kernel.side_by_side import pace_group, set_out
from colocate.simulate.kernel.slots import lose_all
from colocate.simulate.kernel.state import (
    ALARM,
    ARRIVAL,
    ARRIVED,
    ASLEEP,
    BACK,
    DOWN,
    ELASTIC,
    ENGINES,
    FIRST_ENGINE,
    FIRST_PART,
    FIRST_TOKEN,
    GROUP,
    IDLE,
    LISTED,
    MADE,
    MEMBERS,
    NEXT,
    NOBODY,
    OF_MODEL,
    OUTPUT,
    PART_ENGINE,
    PART_GPU,
    PARTS,
    PROMPT,
    REFUSED,
    RUNNING_PART,
    SHARING,
    SLICES,
    WAITING,
    WARM_UP,
    WORK,
    SimulationState,
    Small,
)
from colocate.simulate.kernel.turns import begin_turn, end_turn, leave_row, line_up
from colocate.simulate.kernel.waking import wake


@leaf_kernel
def start(state: SimulationState, engine: int, now: float) -> None:
    """Let an engine without work choose some and begin it.

    Parameters
    ----------
    state, engine, now : the simulation, the engine and the moment
    """
    next_work(state, engine, now)
    if state.settings[SHARING] == SLICES:
        if state.engines[engine, WORK] != IDLE:
            line_up(state, engine, now)
    else:
        set_out(state, engine, now)
        pace_group(state, engine, now)


@leaf_kernel
def _complete(state: SimulationState, engine: int, now: float) -> None:
    """Let an engine end its work and begin the next.

    Parameters
    ----------
    state, engine, now : the simulation, the engine and the moment
    """
    if goes_on(state, engine):
        if state.settings[SHARING] == SLICES:
            line_up(state, engine, now)
        else:
            set_out(state, engine, now)
            pace_group(state, engine, now)
        return
    end_work(state, engine, now)
    start(state, engine, now)
    if state.settings[ELASTIC]:
        start_neighbours(state, engine, now)


@leaf_kernel
def start_neighbours(state: SimulationState, engine: int, now: float) -> None:
    """Start idle engines that may have waited for cache that an engine has given back.

    Parameters
    ----------
    state, engine, now : the simulation, the engine and the moment
    """
    first = state.engines[engine, FIRST_PART]
    for part in range(first, first + state.engines[engine, PARTS]):
        gpu = state.parts[part, PART_GPU]
        for member in range(state.gpus[gpu, MEMBERS]):
            other = state.parts[state.members[gpu, member], PART_ENGINE]
            if state.engines[other, WORK] == IDLE and state.engines[other, WAITING] > 0:
                start(state, other, now)


@leaf_kernel
def go_on(state: SimulationState, group: int, until: float) -> None:
    """Let all events of a group of GPUs happen, up to a moment.

    Parameters
    ----------
    state, group, until : the simulation, the group and the moment
    """
    first, end = state.first_of_group[group], state.first_of_group[group + 1]
    slices = state.settings[SHARING] == SLICES
    while True:
        gpu = state.groups[first]
        now = state.moments[gpu, NEXT]
        for place in range(first + 1, end):
            if state.moments[state.groups[place], NEXT] < now:
                gpu = state.groups[place]
                now = state.moments[gpu, NEXT]
        due = state.groups[first]
        for place in range(first + 1, end):
            if state.moments[state.groups[place], ALARM] < state.moments[due, ALARM]:
                due = state.groups[place]
        if state.moments[due, ALARM] <= min(now, until):
            come_back(state, due)
            continue
        if now > until or now == inf:
            return
        if slices:
            engine = end_turn(state, gpu)
            if engine != NOBODY:
                _complete(state, engine, now)
            if state.gpus[gpu, RUNNING_PART] == NOBODY:
                begin_turn(state, gpu, now)
        else:
            _complete(state, state.gpus[gpu, RUNNING_PART], now)


@leaf_kernel
def come_back(state: SimulationState, gpu: int) -> None:
    """Let the engine of a GPU that is due come back.

    Parameters
    ----------
    state, gpu : the simulation and the GPU, whose alarm is due
    """
    now = state.moments[gpu, ALARM]
    for member in range(state.gpus[gpu, MEMBERS]):
        engine = state.parts[state.members[gpu, member], PART_ENGINE]
        if state.engines[engine, DOWN] and state.speeds[engine, BACK] <= now:
            state.engines[engine, DOWN] = 0
            start(state, engine, now)
    _set_alarm(state, gpu)


@leaf_kernel
def _set_alarm(state: SimulationState, gpu: int) -> None:
    first = inf
    for member in range(state.gpus[gpu, MEMBERS]):
        engine = state.parts[state.members[gpu, member], PART_ENGINE]
        if state.engines[engine, DOWN]:
            first = min(first, state.speeds[engine, BACK])
    state.moments[gpu, ALARM] = first


@entry_kernel
def fail(state: SimulationState, engine: int, now: float, seconds: float) -> None:
    """Let an engine fail, and come back after some time.

    Parameters
    ----------
    state, engine : the simulation and the engine
    now, seconds : the moment, and how long it is down
    """
    go_on(state, state.engines[engine, GROUP], now)
    count_engine(state, engine, now)
    show_engine(state, engine, -1.0)
    lose_all(state, engine)
    show_engine(state, engine, 1.0)
    back = now + seconds
    if state.engines[engine, DOWN]:
        back = max(back, state.speeds[engine, BACK])
    state.engines[engine, DOWN] = 1
    state.speeds[engine, BACK] = back
    if state.settings[SHARING] == SLICES:
        leave_row(state, engine, now)
    else:
        set_out(state, engine, now)
        pace_group(state, engine, now)
    first = state.engines[engine, FIRST_PART]
    for part in range(first, first + state.engines[engine, PARTS]):
        _set_alarm(state, state.parts[part, PART_GPU])
    if state.settings[ELASTIC]:
        start_neighbours(state, engine, now)


@entry_kernel
def close(state: SimulationState, end: float) -> None:
    """Add the time up to the end to all sums.

    Parameters
    ----------
    state, end : the simulation and its end
    """
    for engine in range(len(state.engines)):
        count_engine(state, engine, end)
    for gpu in range(len(state.gpus)):
        count_gpu(state, gpu, end)


@entry_kernel
def serve(
    state: SimulationState,
    arrival: Floats,
    model: Small,
    prompt: Small,
    output: Small,
    begin: int,
    until: float,
) -> int:
    """Let requests arrive, in order; return how many of them did before rows ran out.

    Parameters
    ----------
    state : the simulation
    arrival, model, prompt, output : the requests, as in `RequestStream`
    begin : the first of them that has not arrived yet
    until : the moment up to which everything happens once all have arrived
    """
    for number in range(begin, len(arrival)):
        if not _arrive(state, arrival[number], model[number], prompt[number], output[number]):
            return number
    for group in range(len(state.first_of_group) - 1):
        go_on(state, group, until)
    return len(arrival)


@leaf_kernel
def _arrive(state: SimulationState, now: float, model: int, prompt: int, output: int) -> bool:
    """Let a request arrive; return False, and change nothing, where no row is left for it.

    Parameters
    ----------
    state, now, model : the simulation, the moment and the model that is asked
    prompt, output : tokens of the request
    """
    counts = now >= state.spans[WARM_UP]
    if state.models[model, ENGINES] == 0:
        state.models[model, ARRIVED] += counts
        state.models[model, REFUSED] += counts
        return True
    first = state.models[model, FIRST_ENGINE]
    if state.models[model, ENGINES] > 1:
        for place in range(first, first + state.models[model, ENGINES]):
            go_on(state, state.engines[state.engines[place, LISTED], GROUP], now)
    request = new_request(state)
    if request == NOBODY:
        return False
    state.models[model, ARRIVED] += counts
    engine = chosen_engine(state, model)
    if state.engines[engine, ASLEEP]:
        for group in range(len(state.first_of_group) - 1):
            go_on(state, group, now)
        if not wake(state, engine, prompt, output, now):
            state.models[model, REFUSED] += counts
            forget_request(state, request)
            return True
    go_on(state, state.engines[engine, GROUP], now)
    state.requests[request, PROMPT] = prompt
    state.requests[request, OUTPUT] = output
    state.requests[request, MADE] = 0
    state.requests[request, OF_MODEL] = model
    state.times[request, ARRIVAL] = now
    state.times[request, FIRST_TOKEN] = -1.0
    if not may_ever_fit(state, engine, prompt, output):
        state.models[model, REFUSED] += counts
        forget_request(state, request)
        return True
    enqueue(state, engine, request, now)
    return True


@leaf_kernel
def enqueue(state: SimulationState, engine: int, request: int, now: float) -> None:
    """Let a request wait for an engine, which begins at once if it is idle.

    Parameters
    ----------
    state, engine, request, now : the simulation, the engine, the request and the moment
    """
    count_engine(state, engine, now)
    show_engine(state, engine, -1.0)
    append(state, engine, request)
    show_engine(state, engine, 1.0)
    if state.engines[engine, WORK] == IDLE and state.engines[engine, DOWN] == 0:
        start(state, engine, now)
