"""A new fleet file from what was measured: rates and tokens, for GPUs that the user names."""

import json
from collections.abc import Mapping

from colocate.inputs.observation.observation import ModelObservation, Observation
from colocate.inputs.observation.windows import WindowBins, window_rates
from colocate.outputs.gpu_list import PLAIN, WORDS
from colocate.outputs.observation.words import headline, when_line
from colocate.outputs.text.sanitise import one_line

TPOT_SLO = "tpot_slo: 0.05   # seconds for each output token: state your own target"
SLO = "slo: 10   # seconds: state your own target"
DIGITS = 4
"""Of numbers: more than was ever measured."""


def fleet_draft(
    observation: Observation, gpus: Mapping[str, int], windows: tuple[WindowBins, ...] = ()
) -> str:
    """Return the text of a fleet file with all models that were measured.

    Their sizes are not measured: `config` has the name of each, which is found where it is that of
    a model on the hub.

    Parameters
    ----------
    observation
        What was measured.
    gpus
        How many there are of each kind.
    windows
        Divide demand into these; none for one number.
    """
    tokens = all(_has_tokens(model) for model in observation.models)
    lines = [
        f"# Measured: {one_line(headline(observation))}",
        f"# Source: {one_line(observation.source)}, {one_line(when_line(observation))}",
        "load: tokens" if tokens else "load: requests",
        "gpus:",
        *(f"  - {{kind: {_text(kind)}, count: {number}}}" for kind, number in gpus.items()),
    ]
    if windows:
        lines.append(f"windows: [{', '.join(_text(window.name) for window in windows)}]")
    lines.append("models:")
    for model in observation.models:
        lines += [*_model(model, observation, windows), f"    {TPOT_SLO if tokens else SLO}"]
    return "\n".join(lines) + "\n"


def _model(
    model: ModelObservation, observation: Observation, windows: tuple[WindowBins, ...]
) -> list[str]:
    margin = model.rate.margin
    sure = "" if margin is None else f"   # ± {margin:.2g}"
    rate = f"{model.rate.value:.{DIGITS}g}{sure}"
    if windows:
        rates = window_rates(model, observation, windows)
        rate = f"[{', '.join(f'{each:.{DIGITS}g}' for each in rates)}]"
    lines = [
        f"  - name: {_text(model.name)}",
        f"    config: {_text(model.name)}",
        f"    rate: {rate}",
    ]
    for field, estimate in (
        ("prompt_tokens", model.prompt_tokens),
        ("output_tokens", model.output_tokens),
    ):
        if estimate is not None:
            lines.append(f"    {field}: {estimate.value:.{DIGITS}g}")
    if windows and (skill := model.predictability.skill) is not None:
        lines.append(f"    predictability: {skill:.{DIGITS}g}")
    return lines


def _has_tokens(model: ModelObservation) -> bool:
    return model.prompt_tokens is not None and model.output_tokens is not None


def _text(value: str) -> str:
    plain = PLAIN.fullmatch(value) and value.casefold() not in WORDS
    return value if plain else json.dumps(value)
