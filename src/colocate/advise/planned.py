"""What a plan predicted beside what was measured: rates, latencies, caches."""

from typing import NamedTuple

from colocate.advise.predict import StatedPlaces, checked_placement
from colocate.errors import InputError
from colocate.fault import Fault
from colocate.inputs.fleet import Fleet
from colocate.inputs.observation.demand_changes import matched_models
from colocate.inputs.observation.estimate import Estimate
from colocate.inputs.observation.observation import ModelObservation, Observation
from colocate.latency.prediction import Prediction, predict_placement
from colocate.problem.cache import caches_of
from colocate.problem.model import Model
from colocate.problem.placement import Placement

NEAR = 0.1
"""How far a measurement may be off a plan, besides its own uncertainty, and count as planned: law
and engines agree about so well."""


class PlannedFigure(NamedTuple):
    """One figure of a model."""

    planned: float | None
    """None where the plan does not predict it."""
    measured: Estimate | None
    """None where the source does not tell it."""

    @property
    def off(self) -> float | None:
        """By what share it is off the plan; None if one of the two is not known."""
        if self.planned is None or self.measured is None or self.planned <= 0.0:
            return None
        return self.measured.value / self.planned - 1.0

    @property
    def differs(self) -> bool:
        """Whether it is clearly not what was planned."""
        if self.planned is None or self.measured is None:
            return False
        apart = abs(self.measured.value - self.planned)
        return apart > (self.measured.margin or 0.0) + NEAR * self.planned


class PlannedModel(NamedTuple):
    """What a plan says of a model, beside what was measured."""

    model: str
    rate: PlannedFigure
    tpot: PlannedFigure
    ttft: PlannedFigure
    cache: PlannedFigure
    busy: PlannedFigure


def against_plan(
    fleet: Fleet, places: StatedPlaces, observation: Observation
) -> tuple[PlannedModel, ...]:
    """Return what a plan predicted beside what was measured, in the order of the fleet.

    Models that were not measured, or are asleep in the plan, are left out.

    Parameters
    ----------
    fleet
        Of the plan.
    places
        The GPUs of every model.
    observation
        What was measured.

    Raises
    ------
    InputError
        If no model of the plan was measured.
    """
    placement = checked_placement(fleet.problem, places)
    found = matched_models(fleet.spec.models, observation)
    if not found:
        raise InputError(_of_another_fleet(fleet, observation))
    replicas: dict[str, list[Prediction]] = {}
    if fleet.problem.has_requests:
        for each in predict_placement(fleet.problem, placement):
            replicas.setdefault(each.model, []).append(each)
    rooms = _cache_rooms(fleet, placement)
    return tuple(
        _planned(model, replicas.get(model.name, []), rooms.get(model.name, 0.0), measured)
        for model in fleet.problem.models
        if (measured := found.get(model.name)) is not None and placement[model.name]
    )


def _of_another_fleet(fleet: Fleet, observation: Observation) -> Fault:
    names = [model.name for model in fleet.problem.models]
    told = f"none of its models, such as {names[0]!r}, was measured"
    measured = f", such as {observation.models[0].name!r}" if observation.models else ""
    advice = f"give a plan of the models that were{measured}, or name them with --map NAME=MODEL"
    return Fault(f"is of another fleet: {told}", advice=advice)


def _cache_rooms(fleet: Fleet, placement: Placement) -> dict[str, float]:
    """Return the cache of all replicas of each model, in GB."""
    rooms: dict[str, float] = {}
    for each in caches_of(fleet.problem, placement):
        rooms[each.model] = rooms.get(each.model, 0.0) + each.cache_gb * len(each.gpus)
    return rooms


def _planned(
    model: Model, replicas: list[Prediction], room_gb: float, measured: ModelObservation
) -> PlannedModel:
    rate = sum(each.requests.rate for each in replicas) if replicas else model.peak_rate
    in_use = sum(each.shared.cache_gb for each in replicas)
    return PlannedModel(
        model.name,
        PlannedFigure(rate, measured.rate),
        PlannedFigure(_mean([each.shared.tpot.mean for each in replicas]), measured.tpot),
        PlannedFigure(_mean([each.shared.ttft.mean for each in replicas]), measured.ttft),
        PlannedFigure(in_use / room_gb if replicas and room_gb > 0.0 else None, measured.cache),
        PlannedFigure(_mean([each.shared.busy for each in replicas]), measured.busy),
    )


def _mean(values: list[float]) -> float | None:
    """Return the mean over replicas, which share requests equally."""
    return sum(values) / len(values) if values else None
