"""What an observation changes in a fleet: which fields of its models are off, and by how much."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from colocate.inputs.fleet import Fleet, fleet_of
from colocate.inputs.footprint.updates import OFF
from colocate.inputs.observation.observation import ModelObservation, Observation
from colocate.inputs.observation.windows import WindowBins, window_rates
from colocate.inputs.spec import MOST_UNCERTAIN, ModelSpec
from colocate.problem.tolerance import TINY

DIGITS = 4
"""Of numbers in a fleet file: more than was ever measured."""
Amount = float | list[float]
"""One number, or one for each window."""
TOKENS = ("prompt_tokens", "output_tokens")


class DemandChange(NamedTuple):
    """A field of a model with what the fleet states and what was measured."""

    number: int
    """Of the model in the fleet."""
    model: str
    field: str
    stated: Amount | None
    """None if the fleet does not state it."""
    measured: Amount
    margin: float | None
    """Half of the 95% interval of what was measured, if that is known."""

    @property
    def is_off(self) -> bool:
        """Whether the two differ by more than rounding."""
        if self.stated is None or isinstance(self.stated, list) != isinstance(self.measured, list):
            return True
        pairs = list(zip(_listed(self.stated), _listed(self.measured), strict=False))
        if len(_listed(self.stated)) != len(_listed(self.measured)):
            return True
        return any(abs(new - old) > OFF * max(abs(old), TINY) for old, new in pairs)


class DemandChanges(NamedTuple):
    """What an observation says about a fleet."""

    changes: tuple[DemandChange, ...]
    """All fields that were measured, whether or not they are off."""
    windows: tuple[str, ...]
    """The names of time windows; none where demand has one number."""
    not_measured: tuple[str, ...]
    """Models of the fleet that the source does not know: they keep what the fleet states."""
    not_in_fleet: tuple[str, ...]
    """Models that were measured, and that the fleet does not have."""
    stated_loads: tuple[str, ...]
    """Models that state a load of their own, which no rate may stand beside."""

    @property
    def fields(self) -> dict[int, dict[str, Amount]]:
        """What is off, by the number of the model and the name of the field."""
        found: dict[int, dict[str, Amount]] = {}
        for change in self.changes:
            if change.is_off:
                found.setdefault(change.number, {})[change.field] = change.measured
        return found


def matched_models(
    models: Sequence[ModelSpec], observation: Observation
) -> dict[str, ModelObservation]:
    """Return what was measured of the models of a fleet, by name or by their source on the hub."""
    found = {model.name: own for model in models if (own := observation.named(model.name))}
    sources = [model.source for model in models]
    for model in models:
        if model.name in found or model.source is None or sources.count(model.source) > 1:
            continue
        own = observation.named(model.source)
        if own is not None:
            found[model.name] = own
    return found


def demand_changes(
    models: Sequence[ModelSpec],
    observation: Observation,
    windows: tuple[WindowBins, ...] = (),
    raw: Sequence[Mapping[str, Any]] | None = None,
) -> DemandChanges:
    """Return what an observation changes in the models of a fleet.

    Parameters
    ----------
    models
        Of the fleet, resolved.
    observation
        What was measured.
    windows
        Divide demand into these; none for one number.
    raw
        Their entries as they are written, if a file is to be changed.
    """
    found = matched_models(models, observation)
    changes, loads = [], []
    for number, model in enumerate(models):
        measured = found.get(model.name)
        if measured is None:
            continue
        if model.load is not None:
            loads.append(model.name)
            continue
        stated = raw[number] if raw is not None else model.model_dump()
        for field, value, margin in _measured(model, measured, observation, windows):
            changes.append(
                DemandChange(number, model.name, field, stated.get(field), value, margin)
            )
    used = {measured.name for measured in found.values()}
    return DemandChanges(
        tuple(changes),
        tuple(window.name for window in windows),
        tuple(model.name for model in models if model.name not in found),
        tuple(model.name for model in observation.models if model.name not in used),
        tuple(loads),
    )


def fleet_with_demand(
    fleet: Fleet, observation: Observation, windows: tuple[WindowBins, ...] = ()
) -> Fleet:
    """Return a fleet with the demand that was measured; models that were not keep their own.

    Parameters
    ----------
    fleet
        As it is.
    observation
        What was measured.
    windows
        Divide demand into these; none for one number.

    Raises
    ------
    InputError
        If the demand does not go with what the fleet states.
    """
    update = demand_changes(fleet.spec.models, observation, windows)
    data = fleet.as_dict()
    for number, fields in update.fields.items():
        data["models"][number].update(fields)
    if update.windows:
        data["windows"] = list(update.windows)
    return fleet_of(data)


def _measured(
    model: ModelSpec,
    measured: ModelObservation,
    observation: Observation,
    windows: tuple[WindowBins, ...],
) -> list[tuple[str, Amount, float | None]]:
    """Return the fields that were measured, each with its value and uncertainty."""
    rates = window_rates(measured, observation, windows) if windows else [measured.rate.value]
    tokens = measured.tokens_per_second
    field, margin = "rate", measured.rate.margin
    if model.tokens_per_second is not None and model.rate is None:
        if tokens is None:
            return []
        each = tokens / measured.rate.value if measured.rate.value else 0.0
        rates = [rate * each for rate in rates]
        field, margin = "tokens_per_second", None if margin is None else margin * each
    amounts = [rounded(rate) for rate in rates]
    found: list[tuple[str, Amount, float | None]] = [
        (field, amounts if windows else amounts[0], margin)
    ]
    if measured.rate.margin is not None and measured.rate.value > 0.0:
        share = rounded(min(measured.rate.margin / measured.rate.value, MOST_UNCERTAIN))
        found.append(("rate_uncertainty", share, None))
    for name in TOKENS:
        estimate = getattr(measured, name)
        if estimate is not None and estimate.value > 0.0:
            found.append((name, rounded(estimate.value), estimate.margin))
    if windows and (skill := measured.predictability.skill) is not None:
        found.append(("predictability", rounded(skill), None))
    return found


def rounded(value: float) -> float:
    """Return a figure with as many digits as a fleet file states."""
    return float(f"{value:.{DIGITS}g}")


def _listed(value: Amount) -> list[float]:
    return list(value) if isinstance(value, list | tuple) else [value]
