"""What was measured as plain data for JSON; times in seconds, nothing known is null."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

from colocate.advise.planned import PlannedModel
from colocate.inputs.observation.demand_changes import DemandChanges
from colocate.inputs.observation.observation import ModelObservation, Observation
from colocate.inputs.observation.together import Correlation
from colocate.outputs.text.plain_data import plain

DIGITS = 6
"""Of rates in bins: more is beyond any use."""
MOST_PAIRS = 1000
"""Pairs of models that are listed, the strongest."""


def observation_data(
    observation: Observation,
    pairs: Sequence[Correlation],
    update: DemandChanges | None = None,
    planned: Sequence[PlannedModel] | None = None,
) -> dict[str, Any]:
    """Return what `colocate observe --json` prints.

    Parameters
    ----------
    observation, pairs
        What was measured, and which models go together.
    update
        What it says about a fleet.
    planned
        A plan beside it.
    """
    data: dict[str, Any] = {
        "source": observation.source,
        "kind": observation.kind,
        "begin": observation.begin,
        "taken": observation.taken,
        "seconds": observation.seconds,
        "bin_seconds": observation.bin_seconds,
        "peak_bin_seconds": observation.coarse_seconds,
        "models": [_model_data(model) for model in observation.models],
        "correlations": [pair._asdict() for pair in pairs[:MOST_PAIRS]],
        "notes": [plain(note) for note in observation.notes],
    }
    if update is not None:
        fields = [{**change._asdict(), "off": change.is_off} for change in update.changes]
        data["fleet"] = {**update._asdict(), "changes": fields}
    if planned is not None:
        data["plan"] = [plain(each) for each in planned]
    found: dict[str, Any] = _finite(plain(data))
    return found


def _model_data(model: ModelObservation) -> dict[str, Any]:
    rates = [float(f"{rate:.{DIGITS}g}") if isfinite(rate) else None for rate in model.rates]
    told = plain(model)
    follows = model.predictability.follows_hours
    return {**told, "rates": rates, "follows_hours": follows}


def _finite(value: Any) -> Any:
    """Return data in which no number is infinite or none."""
    if isinstance(value, float) and not isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value
