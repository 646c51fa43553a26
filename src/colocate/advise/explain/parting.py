"""Find the move that parts neighbours and leaves the lowest latency over its target."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isinf

import numpy as np

from colocate.advise.explain.fixed_plan import FixedPlan
from colocate.advise.explain.gpu_groups import GpuGroups
from colocate.advise.explain.moves import open_targets
from colocate.latency.prediction import Prediction, ratios_of
from colocate.problem.placement import Placement
from colocate.problem.verify import verify
from colocate.solver.deadline import Deadline

MOST_TARGETS = 12
"""GPUs that a model is moved to on trial, those with the fewest neighbours first."""
MOST_CHECKED = 5
"""Moves that the checker sees, best first."""
HELPS = 0.995
"""A move helps if the worst ratio falls below this share: less would not be felt."""


@dataclass(frozen=True)
class LatencyMove:
    """One part goes to another GPU, so that neighbours are parted.

    Parameters
    ----------
    models
        Those that leave; several if they must stay together.
    source, target
        The names of the two GPUs.
    ratio
        Of the slowed model afterwards.
    worst
        The worst on both GPUs afterwards.
    """

    models: tuple[str, ...]
    source: str
    target: str
    ratio: float
    worst: float


def best_parting(
    state: FixedPlan,
    groups: GpuGroups,
    predictions: Sequence[Prediction],
    slowed: Prediction,
    gpu: str,
    watch: Deadline,
) -> LatencyMove | None:
    """Return the move off a GPU that leaves the lowest ratio on both GPUs; None if none helps.

    Parameters
    ----------
    state, groups, predictions
        The placement, what is on its GPUs, and what its users feel.
    slowed, gpu
        A model close to its target, and the GPU of it that models may leave.
    watch
        The time for predictions.
    """
    tried = sorted(_tried(state, groups, predictions, slowed, gpu, watch))
    for worst, ratio, item, target in tried[:MOST_CHECKED]:
        if isinf(worst) or worst > HELPS * slowed.shared.ratio:
            break
        if verify(state.problem, _moved(state, item, target)).valid:
            return LatencyMove(state.models_of(item), gpu, state.name(target), ratio, worst)
    return None


def _tried(
    state: FixedPlan,
    groups: GpuGroups,
    predictions: Sequence[Prediction],
    slowed: Prediction,
    gpu: str,
    watch: Deadline,
) -> Iterator[tuple[float, float, int, int]]:
    """Yield moves: the worst ratio, that of the slowed model, the item, and its new GPU."""
    crowd = _crowds(state, predictions)
    here = next(n for n, each in enumerate(state.problem.gpus) if each.name == gpu)
    for item in map(int, np.flatnonzero(state.gpu_of == here)):
        for target in _targets(state, item, crowd):
            if watch.over:
                return
            yield (*_after(state, groups, item, target, slowed), item, target)


def _crowds(state: FixedPlan, predictions: Sequence[Prediction]) -> Mapping[str, tuple[int, float]]:
    """Return how many engines every GPU has, and its worst ratio."""
    ratios = ratios_of(tuple(predictions), dict.fromkeys(g.name for g in state.problem.gpus))
    engines = dict.fromkeys(ratios, 0)
    for each in predictions:
        for gpu in each.gpus:
            engines[gpu] += 1
    return {gpu: (engines[gpu], ratio) for gpu, ratio in ratios.items()}


def _targets(state: FixedPlan, item: int, crowd: Mapping[str, tuple[int, float]]) -> list[int]:
    """Return the GPUs to try for an item: of empty ones, one of each kind and size."""
    found: dict[object, int] = {}
    for target in np.flatnonzero(open_targets(state, item)):
        gpu = state.problem.gpus[int(target)]
        empty = crowd[gpu.name][0] == 0
        found.setdefault((gpu.kind, gpu.memory_gb) if empty else gpu.name, int(target))
    return sorted(found.values(), key=lambda target: crowd[state.name(target)])[:MOST_TARGETS]


def _moved(state: FixedPlan, item: int, target: int) -> Placement:
    gpu_of = state.gpu_of.copy()
    gpu_of[item] = target
    return state.reduction.placement(gpu_of)


def _after(
    state: FixedPlan, groups: GpuGroups, item: int, target: int, slowed: Prediction
) -> tuple[float, float]:
    """Return the worst ratio on both GPUs after a move, and that of the slowed model."""
    pair = state.name(int(state.gpu_of[item])), state.name(target)
    moved = _moved(state, item, target)
    found = groups.predicted(groups.models_at(pair), moved)
    own = max(each.shared.ratio for each in found if each.model == slowed.model and _on(each, pair))
    worst = max(each.shared.ratio for each in found if _on(each, pair))
    return worst, own


def _on(found: Prediction, gpus: Sequence[str]) -> bool:
    return not set(gpus).isdisjoint(found.gpus)
