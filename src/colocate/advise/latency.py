"""What users of a plan will feel, and what another way to share its GPUs would change."""

from collections import Counter
from collections.abc import Iterable
from math import isfinite
from statistics import median
from typing import NamedTuple

from colocate.inputs.format_support import Maker, maker_of
from colocate.latency.prediction import Prediction, predict_placement
from colocate.problem.sharing import Sharing
from colocate.solver.plan import Plan

MOST_REPLICAS = 5_000
"""More are not predicted for another way to share: that would take a second."""


def predictions_of(plan: Plan) -> tuple[Prediction, ...]:
    """Return what users of every replica feel, in the order of the fleet; none if not known."""
    if not plan.problem.has_requests or not any(plan.placement.values()):
        return ()
    return predict_placement(plan.problem, plan.placement)


class SharingChange(NamedTuple):
    """The same placement if its engines shared their GPUs in the other way."""

    sharing: Sharing
    """The other way."""
    faster: float
    """How many times as fast replicas with neighbours would be: the median of them."""
    ratio: float
    """The highest ratio, as it is."""
    ratio_then: float
    missed: int
    """Models that miss a stated target, as it is."""
    missed_then: int
    models: int
    """Models that state one."""


def other_sharing(plan: Plan, predictions: tuple[Prediction, ...]) -> SharingChange | None:
    """Return what the other way to share would change; None if there is none.

    There is none where every model has its GPUs for itself, a shared GPU is not of NVIDIA, or there
    are too many models to predict them once more.

    Parameters
    ----------
    plan
        The placement.
    predictions
        What its users feel.
    """
    tenants = Counter(gpu for each in predictions for gpu in each.gpus)
    kinds = {gpu.kind for gpu in plan.problem.gpus if tenants[gpu.name] > 1}
    if {maker_of(kind) for kind in kinds} != {Maker.NVIDIA} or len(predictions) > MOST_REPLICAS:
        return None
    other: Sharing = "slices" if plan.problem.sharing == "mps" else "mps"
    then = predict_placement(plan.problem, plan.placement, other)
    faster = [
        now.slower / each.slower
        for now, each in zip(predictions, then, strict=True)
        if isfinite(now.slower) and isfinite(each.slower)
        if any(tenants[gpu] > 1 for gpu in now.gpus)
    ]
    return SharingChange(
        other,
        median(faster) if faster else 1.0,
        worst_of(predictions).shared.ratio,
        worst_of(then).shared.ratio,
        len(missing(predictions)),
        len(missing(then)),
        len(with_targets(predictions)),
    )


def worst_of(predictions: Iterable[Prediction]) -> Prediction:
    """Return the replica with the highest ratio; of saturated ones, the slowest."""
    return max(predictions, key=lambda each: (each.shared.ratio, each.slower))


def with_targets(predictions: Iterable[Prediction]) -> list[str]:
    """Return the models that state a target."""
    return list(dict.fromkeys(each.model for each in predictions if each.requests.binding))


def missing(predictions: Iterable[Prediction]) -> list[str]:
    """Return the models of which some replica misses a target that is stated."""
    return with_targets(each for each in predictions if not each.keeps_targets)
