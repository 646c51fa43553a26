"""What a footprint changes in a fleet: which fields of its model are off, and by how much."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from typing import Any

from colocate.errors import InputError, UnknownNameError
from colocate.fault import Fault
from colocate.inputs.footprint.footprint import Footprint
from colocate.inputs.spec import ModelSpec

OFF = 0.01
"""The share of an estimate by which a measurement has to differ to be worth a change."""


@dataclass(frozen=True)
class FieldComparison:
    """A field of a model with its estimate and what was measured."""

    field: str
    estimate: float
    measured: float

    @property
    def is_off(self) -> bool:
        """Whether the two differ by more than rounding."""
        return abs(self.measured - self.estimate) > OFF * max(abs(self.estimate), 0.01)


def model_of(footprint: Footprint, models: Iterable[ModelSpec], name: str | None) -> ModelSpec:
    """Return the model of a fleet that a footprint is of.

    Parameters
    ----------
    footprint
        What was measured.
    models
        All models of the fleet.
    name
        Its name there, if the log has another one or none.
    """
    every = list(models)
    asked = name or footprint.model or footprint.source
    if not asked:
        raise InputError(Fault("does not name its model", advice="give --model NAME"))
    wanted = [asked] if name else [footprint.model, footprint.source]
    for model in every:
        if model.name in wanted:
            return model
    for model in every:
        if model.source is not None and model.source in wanted:
            return model
    raise UnknownNameError.among("model", asked, (model.name for model in every))


def differences(
    footprint: Footprint, model: ModelSpec, raw: dict[str, Any]
) -> list[FieldComparison]:
    """Return measured fields beside their estimates.

    Parameters
    ----------
    footprint
        What was measured.
    model
        The model as the fleet resolves it.
    raw
        Its entry as it is written: a model with a config keeps it, so what its weights take more
        than the config says goes to the overhead.
    """
    weights = footprint.weights_gb * footprint.shards
    size, overhead = model.size_gb or 0.0, model.overhead_gb or 0.0
    found = []
    known = footprint.overhead_gb is not None and not footprint.least_overhead
    if "config" in raw:
        if known:
            more = footprint.weights_gb - size / model.shards
            found.append(_overhead(overhead, (footprint.overhead_gb or 0.0) + more))
    elif known or raw.get("overhead_gb") is not None:
        found.append(FieldComparison("size_gb", size, round(weights, 3)))
        if known:
            found.append(_overhead(overhead, footprint.overhead_gb or 0.0))
    if (per_token := whole_bytes_per_token(footprint, model)) is not None:
        estimate = model.kv_bytes_per_token or 0.0
        found.append(FieldComparison("kv_bytes_per_token", estimate, round(per_token)))
    return found


def whole_bytes_per_token(footprint: Footprint, model: ModelSpec) -> float | None:
    """Return the bytes of a token in all shards together; None where that cannot be told.

    Shards beyond the number of KV heads repeat them, and layers with a window stop growing.
    """
    if footprint.kv_bytes_per_token is None or model.windowed_kv_bytes_per_token:
        return None
    parts = min(footprint.shards, model.kv_heads or footprint.shards)
    return footprint.kv_bytes_per_token * parts * footprint.stages


def _overhead(estimate: float, measured: float) -> FieldComparison:
    return FieldComparison("overhead_gb", estimate, ceil(max(measured, 0.0) * 100) / 100)
