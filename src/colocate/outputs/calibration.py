"""Measured constants as a block for the fleet file, as data, and what is uncertain about them."""

import json
from collections.abc import Iterator, Sequence
from math import floor, isfinite, log10
from typing import Any

from colocate.inputs.calibration.probe_settings import ProbeFindings
from colocate.latency.calibration import Calibration, Constant, LinearFit
from colocate.outputs.gpu_list import PLAIN
from colocate.outputs.text.sanitise import LONGEST_NAME, one_line
from colocate.outputs.text.wording import amount, listed, percent

FEW_READINGS = 8
"""Below this, the uncertainty is itself uncertain."""
POOR_FIT = 0.1
"""Typical error from which on the law does not describe an engine."""
LEAST_ERROR = 0.001
"""Typical error below which its digits tell nothing."""
SOME_MORE_TOKENS = 1.1
"""Tokens in a piece of an answer from which on they are not one by one."""
MOST_DECIMALS = 6
"""Digits after the point of milliseconds: a billionth of a second."""


def calibration_yaml(calibration: Calibration, model: str, kind: str | None) -> str:
    """Return the block that stands below a model in a fleet file.

    Parameters
    ----------
    calibration
        What was measured.
    model
        Its name, for the comment.
    kind
        The kind of GPU that it was measured on, if the block is to name it.
    """
    lines = [f"# {one_line(model, LONGEST_NAME)}: {_basis(calibration)}", "steps:"]
    indent = "  "
    if kind is not None:
        lines.append(f"  {kind if PLAIN.fullmatch(kind) else json.dumps(kind)}:")
        indent = "    "
    fields = {name: f"{name}: {_value(each)}" for name, each in calibration.constants.items()}
    width = max(map(len, fields.values()))
    for name, each in calibration.constants.items():
        lines.append(f"{indent}{fields[name]:<{width}}  # {_uncertainty(each)}")
    return "\n".join(lines) + "\n"


def calibration_data(
    calibration: Calibration, model: str, kind: str | None, notes: Sequence[str]
) -> dict[str, Any]:
    """Return the same as plain data.

    Parameters
    ----------
    calibration
        What was measured.
    model
        Its name.
    kind
        The kind of GPU that it was measured on.
    notes
        What a reader should know.
    """
    constants = calibration.constants
    block = {name: float(_value(each)) for name, each in constants.items()}
    return {
        "model": model,
        "kind": kind,
        "steps": block if kind is None else {kind: block},
        "constants": {name: _constant_data(each) for name, each in constants.items()},
        "decoding": _fit_data(calibration.steps),
        "prefills": _fit_data(calibration.prefills) if calibration.prefills else None,
        "notes": list(notes),
    }


def notes_on_fit(calibration: Calibration) -> Iterator[str]:
    """Yield what the readings could not tell."""
    for name, constant in calibration.constants.items():
        if constant.merged_into:
            yield (
                f"{name} cannot be told apart from {constant.merged_into}, which holds both: "
                f"{MORE_OF[name]}"
            )
        elif isfinite(constant.margin) and not constant.is_clear:
            found = f"{_value(constant)} ± {_margin(constant)}"
            yield f"{name} is too small to be told from zero: {found}"
    if calibration.prefills is None:
        yield "no prefill was measured: add prefill_ms_per_1k_tokens to the block"
    fits = (("decode", calibration.steps), ("prefill", calibration.prefills))
    for what, fit in fits:
        if fit is not None and fit.readings < FEW_READINGS:
            yield f"only {amount(fit.readings, f'{what} reading')}: measure for longer"
        elif fit is not None and fit.typical_error > POOR_FIT:
            yield (
                f"{what} readings are typically {percent(fit.typical_error)} off the law: other "
                "work ran on the server or GPU meanwhile, or its times are not linear"
            )


def notes_on_probe(findings: ProbeFindings) -> Iterator[str]:
    """Yield what happened while a server was probed."""
    if findings.interrupted:
        yield "interrupted: the constants rest on what was measured until then"
    if findings.too_many is not None and findings.at_once < findings.too_many:
        yield (
            f"{findings.too_many} requests were not answered at once, but at most "
            f"{max(findings.at_once, 1)}: constants hold up to the largest batch below"
        )
    if findings.too_long is not None:
        yield f"prompts of {findings.too_long:,} words were refused: shorter ones were used"
    if findings.counted_words:
        yield "the server counts no tokens of prompts: each word counts as one"
    if findings.tokens_per_arrival > SOME_MORE_TOKENS:
        yield (
            f"a piece of an answer has {findings.tokens_per_arrival:.2g} tokens: times are those "
            "of a token, not of a step"
        )
    if not findings.dialect.full_length:
        yield "the server does not take ignore_eos: answers were as long as the model likes"
    if findings.own_fault:
        rounds = amount(findings.own_fault, "round")
        yield f"{rounds} left out, since this machine was too busy to read answers in time"
    if findings.failures and findings.too_long is None:
        yield f"{amount(findings.failures, 'round')} failed, and nothing was taken from them"


MORE_OF = {
    "per_request_ms": "measure with other numbers of requests at once",
    "per_1k_context_ms": "measure with prompts of other lengths",
    "prefill_base_ms": "measure with prompts of other lengths",
}
"""What tells a constant apart; the first of a law is never merged into another."""


def _basis(calibration: Calibration) -> str:
    parts = [amount(calibration.steps.readings, "decode reading")]
    if calibration.prefills:
        parts.append(amount(calibration.prefills.readings, "prefill reading"))
    if calibration.steps.readings < FEW_READINGS:
        return listed(parts)
    error = calibration.steps.typical_error
    typically = percent(error) if error >= LEAST_ERROR else f"less than {percent(LEAST_ERROR)}"
    return f"{listed(parts)}, typically {typically} off the law; ± is half of the 95% interval"


def _uncertainty(constant: Constant) -> str:
    if constant.merged_into:
        return f"not told apart from {constant.merged_into}"
    if not isfinite(constant.margin):
        return "too few readings to tell how uncertain it is"
    return f"± {_margin(constant)}" + ("" if constant.is_clear else ", not told from zero")


def _decimals(constant: Constant) -> int:
    """Return the digits after the point that are worth writing: two of the uncertainty."""
    scale = constant.margin if isfinite(constant.margin) else constant.value / 100.0
    if scale <= 0:
        return 3
    return min(max(1 - floor(log10(scale)), 0), MOST_DECIMALS)


def _value(constant: Constant) -> str:
    return f"{constant.value:.{max(_decimals(constant), 1)}f}"


def _margin(constant: Constant) -> str:
    return f"{constant.margin:.{_decimals(constant)}f}"


def _constant_data(constant: Constant) -> dict[str, Any]:
    return {
        "value": constant.value,
        "standard_error": _finite(constant.standard_error),
        "margin_95": _finite(constant.margin),
        "merged_into": constant.merged_into or None,
        "clear": constant.is_clear,
    }


def _fit_data(fit: LinearFit) -> dict[str, Any]:
    return {
        "readings": fit.readings,
        "unusual": fit.unusual,
        "typical_error": fit.typical_error,
    }


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
