"""A fleet with what a question about its capacity asks for: targets, and a limit on pressure."""

from math import isinf
from typing import Any

from colocate.inputs.fleet import Fleet, fleet_of
from colocate.inputs.known_requests import check_all_known
from colocate.inputs.spec import ModelSpec


def with_asked_targets(fleet: Fleet, tpot: float | None, ttft: float | None) -> Fleet:
    """Return the fleet with a target for every model that does not state that one itself.

    A model that makes no tokens has no time per output token, so it gets none.

    Parameters
    ----------
    fleet
        The fleet as its file states it.
    tpot, ttft
        Seconds > 0 for each output token, and to the first one; None for no such target.

    Raises
    ------
    InputError
        If the fleet does not say what its models are asked.
    """
    if tpot is None and ttft is None:
        return fleet
    check_all_known(fleet.spec)
    return _changed(fleet, {"models": [_aiming(m, tpot, ttft) for m in fleet.spec.models]})


def with_asked_pressure(fleet: Fleet, pressure: float) -> Fleet:
    """Return a fleet that minimises latency with the pressure as a limit, so that plans keep it."""
    if fleet.problem.objective != "latency" or isinf(pressure):
        return fleet
    return _changed(fleet, {"most_pressure": pressure})


def _changed(fleet: Fleet, update: dict[str, Any]) -> Fleet:
    changed = fleet.spec.model_copy(update=update)
    return fleet_of(changed.model_dump(by_alias=True, exclude_defaults=True, mode="json"))


def _aiming(model: ModelSpec, tpot: float | None, ttft: float | None) -> ModelSpec:
    """Return a model with the targets that it does not state itself."""
    decodes = (model.output_tokens or 0.0) > 1.0
    update = {
        "tpot_slo": model.tpot_slo or (tpot if decodes else None),
        "ttft_slo": model.ttft_slo or ttft,
    }
    return model.model_copy(update=update)
