"""Find the one move or swap off the bottleneck that lowers the peak most."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from colocate.advise.explain.fixed_plan import FixedPlan, clashes, pressures_with
from colocate.problem.instance import Bools, Floats, Ints
from colocate.problem.tolerance import FIT, TIE
from colocate.problem.verify import verify

FITTING = 1.0 + FIT
"""By how much a limit may be exceeded through rounding, as a factor."""
MOST_CHECKED = 200
"""The checker sees so many moves, best first, in case rounding lets some fail."""


@dataclass(frozen=True)
class NextMove:
    """One part goes to another GPU, perhaps in exchange for a part from there.

    Parameters
    ----------
    models
        The models of the part that leaves the bottleneck; several if they must stay together.
    source, target
        The names of the two GPUs.
    others
        The models of the part that comes back; none if it is a move.
    pressure
        The highest pressure afterwards.
    lowers
        Whether that is lower than before.
    """

    models: tuple[str, ...]
    source: str
    target: str
    others: tuple[str, ...]
    pressure: float
    lowers: bool


def best_move(state: FixedPlan) -> NextMove | None:
    """Return the move or swap that leads to the lowest peak; None if the rules allow none."""
    tried = [*_moves(state), *_swaps(state)]
    if not tried:
        return None
    peaks = np.concatenate([peak for _, _, peak in tried])
    items = np.concatenate([np.full(len(peak), item) for item, _, peak in tried])
    others = np.concatenate([other for _, other, _ in tried])
    allowed = np.flatnonzero(~np.isnan(peaks))
    for number in allowed[np.argsort(peaks[allowed], kind="stable")][:MOST_CHECKED]:
        move = _confirmed(state, int(items[number]), int(others[number]))
        if move is not None:
            return move
    return None


Tried = tuple[int, Ints, Floats]
"""An item on the bottleneck; where it goes, as -1 - GPU, or the item that it is swapped with; and
the highest pressure afterwards, NaN where a rule forbids it."""


def open_targets(state: FixedPlan, item: int) -> Bools:
    """Return, for every GPU, whether an item may move there: it fits, and no rule forbids it."""
    instance, here = state.instance, state.gpu_of[item]
    nodes = instance.rules.node
    used = state.used + instance.size[item]
    use = state.use + instance.use[instance.kind, item]
    allowed: Bools = used <= instance.capacity * FITTING
    allowed &= (use <= instance.limit * FITTING).all(axis=1)
    allowed &= nodes == nodes[here] if _sharded(state, item) else True
    allowed &= _open_to(state, item) & (clashes(state, item) == 0)
    allowed[here] = False
    return allowed


def _moves(state: FixedPlan) -> Iterator[Tried]:
    instance, here = state.instance, state.bottleneck
    capacity = instance.capacity
    rest = _highest_of_others(state)
    for item in np.flatnonzero(state.gpu_of == here):
        size, load = instance.size[item], instance.load[item]
        left = pressures_with(state.load[here] - load, state.used[here] - size, capacity[here])
        allowed = open_targets(state, int(item))
        found = np.maximum(
            pressures_with(state.load + load, state.used + size, capacity), np.maximum(rest, left)
        )
        yield int(item), -1 - np.arange(len(capacity)), np.where(allowed, found, np.nan)


def _swaps(state: FixedPlan) -> Iterator[Tried]:
    instance, here = state.instance, state.bottleneck
    others = np.flatnonzero(state.gpu_of != here)
    there, kind = state.gpu_of[others], instance.kind
    nodes = instance.rules.node
    names = [item.models[0].name for item in state.reduction.items]
    owner = np.unique(names, return_inverse=True)[1]
    sharded = np.array([_sharded(state, int(other)) for other in others], dtype=bool)
    near = nodes[there] == nodes[here]
    open_here = instance.rules.open[instance.rules.pin[others], here]
    rest = _highest_of_others(state)[there]
    limit, capacity = instance.limit, instance.capacity
    for item in np.flatnonzero(state.gpu_of == here):
        gained = instance.size[others] - instance.size[item]
        used_here, used_there = state.used[here] + gained, state.used[there] - gained
        more = instance.load[others] - instance.load[item]
        use_here = state.use[here] + instance.use[kind[here], others]
        use_here = use_here - instance.use[kind[here], item]
        use_there = state.use[there] - instance.use[kind[there], others]
        use_there = use_there + instance.use[kind[there], item]
        allowed = (used_here <= capacity[here] * FITTING) & (
            used_there <= capacity[there] * FITTING
        )
        allowed &= (use_here <= limit[here] * FITTING).all(axis=1)
        allowed &= (use_there <= limit[there] * FITTING).all(axis=1)
        allowed &= near | ~(sharded | _sharded(state, int(item)))
        allowed &= open_here & _open_to(state, int(item))[there]
        allowed &= owner[others] != owner[item]
        found = np.maximum(
            pressures_with(state.load[here] + more, used_here, capacity[here]),
            pressures_with(state.load[there] - more, used_there, capacity[there]),
        )
        yield int(item), others, np.where(allowed, np.maximum(found, rest), np.nan)


def _open_to(state: FixedPlan, item: int) -> Bools:
    """Return, for every GPU, whether an item may be on it."""
    rules = state.instance.rules
    allowed: Bools = rules.open[rules.pin[item]]
    return allowed


def _sharded(state: FixedPlan, item: int) -> bool:
    return state.reduction.items[item].models[0].shards > 1


def _highest_of_others(state: FixedPlan) -> Floats:
    """Return, for every GPU, the highest pressure of all but itself and the bottleneck."""
    pressure = state.pressure.copy()
    pressure[state.bottleneck] = 0.0
    first = int(pressure.argmax())
    highest = np.full(len(pressure), pressure[first])
    pressure[first] = 0.0
    highest[first] = pressure.max()
    return highest


def _confirmed(state: FixedPlan, item: int, other: int) -> NextMove | None:
    """Return a move if the independent checker confirms it."""
    gpu_of = state.gpu_of.copy()
    target = -1 - other if other < 0 else int(gpu_of[other])
    if other >= 0:
        gpu_of[other] = state.bottleneck
    gpu_of[item] = target
    verdict = verify(state.problem, state.reduction.placement(gpu_of))
    if not verdict.valid:
        return None
    return NextMove(
        state.models_of(item),
        state.name(state.bottleneck),
        state.name(target),
        state.models_of(other) if other >= 0 else (),
        verdict.pressure,
        verdict.pressure < state.peak * (1.0 - TIE),
    )
