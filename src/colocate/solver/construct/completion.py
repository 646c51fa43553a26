"""Bin completion: exact search for a placement of some models on some GPUs under a target.

GPUs are filled one after the other. The largest model not yet placed opens one, and every way to
complete it is tried, under four rules that lose no placement:

- A GPU is closed only when no model left would still fit: moving one there never hurts.
- What closed GPUs leave unused, in any window, may not add up to more than all GPUs together can
  spare.
- A model is not added where it leaves more than that, and too little for any other model.
- Of equal GPUs the first is opened, and of equal models the first is taken.

The idea is from Gent (1998) and Korf (2002) for bin packing. Here GPUs may differ, load has
windows, further resources are limited, and rules say which models may be where and together. If no
model of a shard group is placed yet, its models may have to go elsewhere together, so they keep no
GPU from closing.

The decisions can be written on a tape. The tape of a search that found nothing is a proof, which
`problem/checker/walk.py` reads: the numbers of GPUs opened (from 1) and of models added (from 2, in
the order of the task), 1 for closing, and 0 where a decision has no further alternative.
"""

from enum import IntEnum
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from colocate.problem.instance import Floats, Instance, Ints
from colocate.problem.kernel import entry_kernel, kernel, kernel_section, leaf_kernel, leaf_section
from colocate.problem.layout import NOWHERE
from colocate.problem.rules import HOME, NODE, PIN
from colocate.problem.tolerance import GENEROUS
from colocate.solver.construct.task import PackingTask, make_task

Tape = NDArray[np.uint16]
"""The decisions of a search, one number after the other."""

NO_TAPE: Tape = np.empty(0, np.uint16)
"""For searches whose decisions are not kept."""


class Outcome(IntEnum):
    """How a search ended."""

    NONE = 0
    """There is provably no placement."""
    FOUND = 1
    UNDECIDED = 2
    """The limit on nodes was reached."""


NONE, FOUND, UNDECIDED = (cast(int, np.int64(outcome)) for outcome in Outcome)
"""The outcomes as kernels see them."""


class State(NamedTuple):
    """Where the search is."""

    place: Ints
    """place[n]: the GPU of a model, by its index in the task, or NOWHERE."""
    following: Ints
    """following[n + 1]: the next model not yet placed, in a ring that starts and ends at n."""
    preceding: Ints
    """preceding[n + 1]: the one before it."""
    opened: Ints
    """opened[g]: 1 if a GPU is being filled or closed."""
    loaded: Ints
    """loaded[g]: how many models with load are on a GPU."""
    left: Floats
    """left[g, T]: virtual capacity left."""
    use: Floats
    """use[g, R]: use of further resources."""
    waste: Floats
    """waste[T]: how much the GPUs not yet closed may still leave unused."""
    colours: Ints
    """colours[g, w]: the colours on a GPU, as bits."""
    node: Ints
    """node[s]: the node of a shard group, once a model of it is placed."""
    placed: Ints
    """placed[s]: how many models of a shard group are placed."""


class Trail(NamedTuple):
    """The decisions that led to the state, one frame each, with the values before them."""

    opening: Ints
    """opening[d]: 1 if the frame opens a GPU, 0 if it goes on filling one."""
    gpu: Ints
    """gpu[d]: the GPU opened or filled."""
    cursor: Ints
    """cursor[d]: the next alternative to try."""
    taken: Ints
    """taken[d]: the model placed, or one past the last for closing; NOWHERE between alternatives.
    """
    left: Floats
    """left[d, T]: what the GPU had left before."""
    use: Floats
    """use[d, R]: what it used before."""
    waste: Floats
    """waste[d, T]: what might be left unused before."""


@kernel
def start_state(instance: Instance, task: PackingTask) -> State:
    """Return the state with nothing placed."""
    models = task.models.shape[0]
    gpus = task.gpus.shape[0]
    windows = task.need.shape[1]
    left = np.empty((gpus, windows))
    waste = np.empty(windows)
    for window in range(windows):
        waste[window] = 0.0
        for gpu in range(gpus):
            left[gpu, window] = task.room[gpu]
            # More generous than the rooms themselves, so that rounding in these sums loses no
            # placement.
            waste[window] += task.room[gpu] * GENEROUS
        for model in range(models):
            waste[window] -= task.need[model, window]
    following = np.empty(models + 1, np.int64)
    preceding = np.empty(models + 1, np.int64)
    for model in range(models + 1):
        following[model] = model + 1
        preceding[model] = model - 1
    # One more entry than models closes the ring, so that linking and unlinking need no special case
    # at the ends.
    following[models] = 0
    preceding[0] = models
    return State(
        np.full(models, NOWHERE),
        following,
        preceding,
        np.zeros(gpus, np.int64),
        np.zeros(gpus, np.int64),
        left,
        np.zeros((gpus, instance.limit.shape[1])),
        waste,
        np.zeros((gpus, task.colours.shape[1]), np.int64),
        np.zeros(task.shard_groups, np.int64),
        np.zeros(task.shard_groups, np.int64),
    )


@leaf_section
def has_room(instance: Instance, task: PackingTask, state: State, model: int, gpu: int) -> bool:
    """Return whether a model fits in what is left of a GPU.

    Parameters
    ----------
    instance, task, state : the problem, the search in virtual sizes, and where it is
    model, gpu : a model and a GPU, by their places in the task
    """
    reserve = 0.0
    if task.loaded[model] or state.loaded[gpu] > 0:
        reserve = task.reserve[gpu]
    for window in range(task.need.shape[1]):
        if task.need[model, window] > state.left[gpu, window] - reserve:
            return False
    kind = instance.kind[task.gpus[gpu]]
    for resource in range(instance.limit.shape[1]):
        use = state.use[gpu, resource] + instance.use[kind, task.models[model], resource]
        if use > instance.limit[task.gpus[gpu], resource] * GENEROUS:
            return False
    return not task.ruled or may_be_on(instance, task, state, model, gpu)


@leaf_section
def may_be_on(instance: Instance, task: PackingTask, state: State, model: int, gpu: int) -> bool:
    """Return whether the rules let a model onto a GPU.

    Parameters
    ----------
    instance, task, state : the problem, the search in virtual sizes, and where it is
    model, gpu : a model and a GPU, by their places in the task
    """
    rules = instance.rules
    given, place = task.models[model], task.gpus[gpu]
    if not rules.open[rules.item[given, PIN], place]:
        return False
    if rules.item[given, HOME] != NOWHERE and rules.item[given, HOME] != rules.gpu[place, NODE]:
        return False
    shard_group = task.shard_group[model]
    if (
        shard_group != NOWHERE
        and state.placed[shard_group] > 0
        and state.node[shard_group] != rules.gpu[place, NODE]
    ):
        return False
    for word in range(task.colours.shape[1]):
        if task.colours[model, word] & state.colours[gpu, word]:
            return False
    return True


@kernel_section
def empty_trail(frames: int, windows: int, resources: int) -> Trail:
    """Return a trail whose first frame opens a GPU.

    Parameters
    ----------
    frames : the most decisions in a row
    windows, resources : how many windows and resources there are
    """
    opening = np.zeros(frames, np.int64)
    opening[0] = 1
    return Trail(
        opening,
        np.full(frames, NOWHERE),
        np.zeros(frames, np.int64),
        np.full(frames, NOWHERE),
        np.empty((frames, windows)),
        np.empty((frames, resources)),
        np.empty((frames, windows)),
    )


@leaf_section
def take_model(
    instance: Instance, task: PackingTask, state: State, trail: Trail, depth: int, model: int
) -> None:
    """Place a model on the GPU of the frame.

    Parameters
    ----------
    instance, task : the problem as arrays, and the search in virtual sizes
    state, trail, depth : where the search is, how it came there, and the frame
    model : the model, by its place in the task
    """
    gpu = trail.gpu[depth]
    kind = instance.kind[task.gpus[gpu]]
    for window in range(task.need.shape[1]):
        trail.left[depth, window] = state.left[gpu, window]
        state.left[gpu, window] -= task.need[model, window]
    for resource in range(instance.limit.shape[1]):
        trail.use[depth, resource] = state.use[gpu, resource]
        state.use[gpu, resource] += instance.use[kind, task.models[model], resource]
    # Fleets without rules skip all of this: it is the hottest place of the search.
    if task.ruled:
        for word in range(task.colours.shape[1]):
            state.colours[gpu, word] |= task.colours[model, word]
        shard_group = task.shard_group[model]
        if shard_group != NOWHERE:
            state.node[shard_group] = instance.rules.gpu[task.gpus[gpu], NODE]
            state.placed[shard_group] += 1
    state.place[model] = gpu
    state.loaded[gpu] += task.loaded[model]
    # The model leaves the ring but keeps its own links: `undo` puts it back with them.
    state.following[state.preceding[model]] = state.following[model]
    state.preceding[state.following[model]] = state.preceding[model]
    trail.taken[depth] = model


@leaf_section
def undo(task: PackingTask, state: State, trail: Trail, depth: int) -> None:
    """Take back the alternative that a frame has taken, if any.

    Parameters
    ----------
    task : the search in virtual sizes
    state, trail : where the search is, and how it came there
    depth : the frame
    """
    taken = trail.taken[depth]
    trail.taken[depth] = NOWHERE
    if taken == task.models.shape[0]:
        for window in range(task.need.shape[1]):
            state.waste[window] = trail.waste[depth, window]
    elif taken != NOWHERE:
        gpu = trail.gpu[depth]
        if task.ruled:
            for word in range(task.colours.shape[1]):
                # A GPU has at most one model of a colour, so taking the bits out cannot hit another
                # one.
                state.colours[gpu, word] ^= task.colours[taken, word]
            if task.shard_group[taken] != NOWHERE:
                state.placed[task.shard_group[taken]] -= 1
        state.place[taken] = NOWHERE
        state.loaded[gpu] -= task.loaded[taken]
        state.following[state.preceding[taken]] = taken
        state.preceding[state.following[taken]] = taken
        # The sums are restored, not added back: adding and subtracting floats would drift.
        for window in range(task.need.shape[1]):
            state.left[gpu, window] = trail.left[depth, window]
        for resource in range(state.use.shape[1]):
            state.use[gpu, resource] = trail.use[depth, resource]
        if trail.opening[depth]:
            state.opened[gpu] = 0


@leaf_section
def open_next(
    instance: Instance, task: PackingTask, state: State, trail: Trail, depth: int
) -> bool:
    """Open the next GPU for the largest model left; False when all have been tried.

    Parameters
    ----------
    instance, task : the problem as arrays, and the search in virtual sizes
    state, trail, depth : where the search is, how it came there, and the frame
    """
    model = int(state.following[task.models.shape[0]])
    for gpu in range(trail.cursor[depth], task.gpus.shape[0]):
        twin = task.twin[gpu]
        if (
            not state.opened[gpu]
            and (twin == NOWHERE or state.opened[twin])
            and has_room(instance, task, state, model, gpu)
        ):
            trail.cursor[depth] = gpu + 1
            trail.gpu[depth] = gpu
            state.opened[gpu] = 1
            take_model(instance, task, state, trail, depth, model)
            return True
    return False


@leaf_section
def decided_by_rules(task: PackingTask, state: State, model: int) -> bool:
    """Return whether a model has no shard group, or one whose node is known.

    Parameters
    ----------
    task : the search in virtual sizes
    state : where the search is
    model : the model, by its place in the task
    """
    shard_group = task.shard_group[model]
    return bool(shard_group == NOWHERE or state.placed[shard_group] > 0)


@leaf_section
def closable(instance: Instance, task: PackingTask, state: State, gpu: int) -> bool:
    """Return whether a GPU may be closed: no model left fits, and it leaves no more than it may.

    Parameters
    ----------
    instance : the problem as arrays
    task : the search in virtual sizes
    state : where the search is
    gpu : the GPU, by its place in the task
    """
    for window in range(task.need.shape[1]):
        if state.left[gpu, window] > state.waste[window]:
            return False
    models = task.models.shape[0]
    # From the smallest on: if any model still fits, it is most likely a small one.
    model = int(state.preceding[models])
    while model != models:
        if has_room(instance, task, state, model, gpu) and decided_by_rules(task, state, model):
            return False
        model = int(state.preceding[model])
    return True


@leaf_section
def smallest_left(task: PackingTask, state: State, but: int) -> float:
    """Return the least need, in window 0, of the models not yet placed.

    Parameters
    ----------
    task : the search in virtual sizes
    state : where the search is
    but : a model that does not count
    """
    # Models are sorted by their largest need. With several windows the last one need not be the
    # smallest in window 0, so a bound for all of them stands in.
    if task.need.shape[1] > 1:
        return task.least
    last = state.preceding[task.models.shape[0]]
    if last == but:
        last = state.preceding[last]
    return float(task.need[last, 0]) if last < task.models.shape[0] else np.inf


@leaf_section
def fill_next(
    instance: Instance, task: PackingTask, state: State, trail: Trail, depth: int
) -> bool:
    """Add the next model to the GPU, or close it when all were tried; False after that.

    Parameters
    ----------
    instance, task : the problem as arrays, and the search in virtual sizes
    state, trail, depth : where the search is, how it came there, and the frame
    """
    gpu = trail.gpu[depth]
    models = task.models.shape[0]
    room = state.left[gpu, 0]
    model = trail.cursor[depth]
    while model < models:
        left = room - task.need[model, 0]
        if state.place[model] != NOWHERE:
            model += 1
        # Too large, or leaving a rest that is wasted and fits no other model: its equals fare the
        # same.
        elif left < 0.0 or (left > state.waste[0] and left < smallest_left(task, state, model)):
            model = task.unlike[model]
        elif has_room(instance, task, state, model, gpu):
            trail.cursor[depth] = task.unlike[model]
            take_model(instance, task, state, trail, depth, model)
            return True
        else:
            model = task.unlike[model]
    if trail.cursor[depth] <= models and closable(instance, task, state, gpu):
        trail.cursor[depth] = models + 1
        for window in range(task.need.shape[1]):
            trail.waste[depth, window] = state.waste[window]
            state.waste[window] -= state.left[gpu, window]
        trail.taken[depth] = models
        return True
    return False


@leaf_section
def enter(task: PackingTask, trail: Trail, depth: int) -> None:
    """Set up the frame that follows the alternative taken in the one above.

    Parameters
    ----------
    task : the search in virtual sizes
    trail : the decisions so far
    depth : the new frame
    """
    above = depth - 1
    closed = trail.taken[above] == task.models.shape[0]
    trail.opening[depth] = 1 if closed else 0
    trail.gpu[depth] = NOWHERE if closed else trail.gpu[above]
    # Within a GPU models are added in index order, so that no set of models is tried twice.
    trail.cursor[depth] = 0 if closed else trail.taken[above] + 1
    trail.taken[depth] = NOWHERE


@leaf_section
def symbol_of(task: PackingTask, trail: Trail, depth: int) -> int:
    """Return the symbol on the tape for the alternative that a frame has taken.

    Parameters
    ----------
    task : the search in virtual sizes
    trail : the decisions so far
    depth : the frame
    """
    if trail.opening[depth]:
        return int(task.gpus[trail.gpu[depth]] + 1)
    if trail.taken[depth] == task.models.shape[0]:
        return 1
    return int(trail.taken[depth] + 2)


@leaf_kernel
def search(
    instance: Instance,
    task: PackingTask,
    state: State,
    trail: Trail,
    nodes: int,
    go: Ints,
    tape: Tape,
) -> tuple[int, int, int]:
    """Go through the tree of decisions; return the outcome, nodes visited and symbols written.

    Parameters
    ----------
    instance : the problem as arrays
    task : the search in virtual sizes
    state, trail : where the search is, and how it came there
    nodes : the most nodes to visit
    go : go[0] is 0 if the search should end; another thread may set it
    tape : where the decisions are written, as far as it reaches
    """
    models = task.models.shape[0]
    visited = 0
    written = 0
    depth = 0
    while depth >= 0:
        undo(task, state, trail, depth)
        if trail.opening[depth]:
            advanced = open_next(instance, task, state, trail, depth)
        else:
            advanced = fill_next(instance, task, state, trail, depth)
        if written < tape.shape[0]:
            tape[written] = symbol_of(task, trail, depth) if advanced else 0
        # Counted even past the end of the tape, so that the caller learns that it was too short.
        written += 1
        if not advanced:
            depth -= 1
            continue
        visited += 1
        if state.following[models] == models:
            return FOUND, visited, written
        if visited >= nodes or go[0] == 0:
            return UNDECIDED, visited, written
        depth += 1
        enter(task, trail, depth)
    return NONE, visited, written


@entry_kernel
def complete(
    instance: Instance, models: Ints, gpus: Ints, target: float, nodes: int, go: Ints, tape: Tape
) -> tuple[int, Ints, Ints, int, int]:
    """Search for a placement of `models` on `gpus` with no pressure above the target.

    Returns the outcome; the models and, if a placement was found, their GPUs in the same order; the
    number of nodes visited; and the number of symbols written, which exceeds the length of the tape
    if that was too short. The search is generous by more than rounding. So check that a placement
    found fits; that there is none needs no check.

    Parameters
    ----------
    instance : the problem as arrays
    models, gpus : what is to be placed, and where, as indices into the instance
    target : the highest pressure allowed; infinite counts memory alone
    nodes : the most nodes to visit
    go : go[0] is 0 if the search should end; another thread may set it
    tape : where the decisions are written; empty if they are not kept
    """
    task = make_task(instance, models, gpus, target)
    state = start_state(instance, task)
    frames = models.shape[0] + gpus.shape[0] + 2
    trail = empty_trail(frames, task.need.shape[1], instance.limit.shape[1])
    outcome, visited, written = NONE, 0, 0
    if models.shape[0] == 0:
        outcome = FOUND
    # If all models need more than all GPUs have, in any window, the search is over before it
    # begins.
    elif state.waste.min() >= 0.0:
        outcome, visited, written = search(instance, task, state, trail, nodes, go, tape)
    homes = np.full(models.shape[0], NOWHERE)
    if outcome == Outcome.FOUND:
        for place in range(models.shape[0]):
            homes[place] = gpus[state.place[place]]
    return outcome, task.models, homes, visited, written
