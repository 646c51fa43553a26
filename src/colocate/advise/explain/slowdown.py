"""Find who slows whom: what each neighbour costs a model, and what parting them would bring."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from colocate.advise.explain.fixed_plan import FixedPlan
from colocate.advise.explain.gpu_groups import GpuGroups
from colocate.advise.explain.parting import LatencyMove, best_parting
from colocate.latency.prediction import Latency, Prediction, predict_placement
from colocate.problem.placement import Placement
from colocate.solver.deadline import Deadline

NEAR = 0.8
"""From this ratio on a model is close to its target: less room than the law's own error."""
MOST_SLOW = 5
"""Models that are looked at, those closest to their targets first."""
MOST_NEIGHBOURS = 8
"""Neighbours whose costs are predicted, the busiest first."""
SLOWER = 1.005
"""Models that are slower than alone by less have no neighbours worth a word."""


@dataclass(frozen=True)
class LatencyCost:
    """What a neighbour costs a model.

    Parameters
    ----------
    neighbour
        Its name.
    without
        The latency of the model if the neighbour were gone.
    """

    neighbour: str
    without: Latency


@dataclass(frozen=True)
class LatencyFacts:
    """A model close to its target or beyond, and who slows it.

    Parameters
    ----------
    slowed
        What its users feel.
    gpu
        The GPU of it with the busiest neighbours.
    costs
        Of its neighbours, the highest first.
    move
        The move that leaves the lowest ratio on both GPUs; None if none helps.
    """

    slowed: Prediction
    gpu: str
    costs: tuple[LatencyCost, ...]
    move: LatencyMove | None


def slowdowns(state: FixedPlan, watch: Deadline, always: bool = False) -> tuple[LatencyFacts, ...]:
    """Return the models closest to their targets, each with who slows it.

    Parameters
    ----------
    state
        The placement.
    watch
        The time for predictions; what is not reached in it is left out.
    always
        Whether the worst model counts even if it is far from its target and has no neighbours.
    """
    if not state.problem.has_requests:
        return ()
    placement = state.reduction.placement(state.gpu_of)
    predictions = predict_placement(state.problem, placement)
    groups = GpuGroups.of(state.problem, placement)
    found: list[LatencyFacts] = []
    for slowed in _slowest(predictions, always):
        if found and watch.over:
            break
        gpu = _busiest(predictions, slowed)
        costs = tuple(_costs(groups, placement, predictions, slowed, watch))
        move = best_parting(state, groups, predictions, slowed, gpu, watch)
        found.append(LatencyFacts(slowed, gpu, costs, move))
    return tuple(found)


def _slowest(predictions: Sequence[Prediction], always: bool) -> list[Prediction]:
    """Return the models close to their targets; the worst one if none is, but has neighbours."""
    ranked = sorted(predictions, key=lambda each: -each.shared.ratio)
    of_model = {each.model: each for each in reversed(ranked)}
    worst = [each for each in ranked if each is of_model[each.model]][:MOST_SLOW]
    near = [each for each in worst if each.shared.ratio >= NEAR]
    return near or [each for each in worst[:1] if always or each.slower > SLOWER]


def _busiest(predictions: Sequence[Prediction], slowed: Prediction) -> str:
    """Return the GPU of a model on which its neighbours are busiest."""
    busy = dict.fromkeys(slowed.gpus, 0.0)
    for each in predictions:
        if each is not slowed:
            for gpu in busy.keys() & set(each.gpus):
                busy[gpu] += each.shared.busy
    return max(busy, key=busy.__getitem__)


def _costs(
    groups: GpuGroups,
    placement: Placement,
    predictions: Sequence[Prediction],
    slowed: Prediction,
    watch: Deadline,
) -> Iterator[LatencyCost]:
    """Return what each neighbour costs, the highest first."""
    beside = {
        each.model: each.shared.busy
        for each in predictions
        if each.model != slowed.model and not set(slowed.gpus).isdisjoint(each.gpus)
    }
    near = groups.models_at(slowed.gpus)
    costs: list[LatencyCost] = []
    for neighbour in sorted(beside, key=lambda name: -beside[name])[:MOST_NEIGHBOURS]:
        if costs and watch.over:
            break
        found = groups.predicted(near - {neighbour}, placement)
        costs.append(LatencyCost(neighbour, _same(found, slowed).shared))
    yield from sorted(costs, key=lambda cost: (cost.without.ratio, cost.without.tpot.mean))


def _same(predictions: Sequence[Prediction], slowed: Prediction) -> Prediction:
    """Return the replica among other predictions."""
    key = (slowed.model, slowed.replica)
    return next(each for each in predictions if (each.model, each.replica) == key)
