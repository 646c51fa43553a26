"""What a model is asked: its load in either form, and the tokens behind it.

The older form of load is `rate / slo`, the newer one tokens per second x KV bytes per token / time
per output token. They rank placements differently, so a fleet file has one of them.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.inputs.spec import ModelSpec
from colocate.inputs.window_spec import mean_of, numbers_of, peak_of
from colocate.problem.window import Window

Value = TypeVar("Value")

BYTES = 1e9
"""Of a GB: token loads are in GB, as memory is."""


class Tokens(NamedTuple):
    """Tokens each second, those of prompts and those of answers."""

    prompt: float
    output: float
    context: float
    """Tokens that an output token looks back on, on average."""


def load_of(model: ModelSpec, form: str) -> float | list[float]:
    """Return the load of a model in the form that its fleet has."""
    if model.load is not None:
        _refuse(model, "load itself", "rate", "slo", "tokens_per_second")
        return model.load
    return _load_by_requests(model) if form == "requests" else _load_by_tokens(model)


def demand_of(model: ModelSpec, windows: Sequence[Window] = ()) -> float:
    """Return what is lost, before its importance, while a model is asleep.

    These are the requests each second, or the tokens where that is the form of load (only there a
    model has no `slo`), on average over the time windows; or the load itself, at its peak, where
    nothing else is told.
    """
    if model.load is not None:
        return peak_of(model.load) or 0.0
    if model.slo is not None:
        return mean_of(model.rate or 0.0, windows)
    return mean_of(_tokens_per_second(model) or 0.0, windows)


def tokens_of(model: ModelSpec) -> Tokens | None:
    """Return the tokens of a model in its busiest window, None if they are not all told."""
    if model.prompt_tokens is None or model.output_tokens is None:
        return None
    context = model.prompt_tokens + model.output_tokens / 2
    rate = rate_of(model)
    if rate is None:
        return None
    return Tokens(rate * model.prompt_tokens, rate * model.output_tokens, context)


def rate_of(model: ModelSpec) -> float | None:
    """Return the requests each second in the busiest window, None if they are not told."""
    return peak_of(rates_of(model))


def rates_of(model: ModelSpec) -> list[float] | None:
    """Return the requests each second in every window, or in all; None if they are not told."""
    if model.tokens_per_second is None:
        return None if model.rate is None else numbers_of(model.rate)
    if model.prompt_tokens is None or model.output_tokens is None:
        return None
    of_request = model.prompt_tokens + model.output_tokens
    tokens = numbers_of(model.tokens_per_second)
    return [each / of_request if of_request else 0.0 for each in tokens]


def _tokens_per_second(model: ModelSpec) -> list[float] | None:
    """Return the tokens each second in every window, or in all; None if they are not told."""
    if model.tokens_per_second is not None:
        return numbers_of(model.tokens_per_second)
    rates = rates_of(model)
    if rates is None or model.prompt_tokens is None or model.output_tokens is None:
        return None
    return [rate * model.prompt_tokens + rate * model.output_tokens for rate in rates]


def _load_by_requests(model: ModelSpec) -> float | list[float]:
    if model.tokens_per_second is not None:
        raise _misplaced("tokens_per_second", "requests", "give rate and slo")
    rates = _needed(rates_of(model), "rate", "rate and slo, or load")
    slo = _needed(model.slo, "slo", "rate and slo, or load")
    return _for_windows([rate / slo for rate in rates])


def _load_by_tokens(model: ModelSpec) -> float | list[float]:
    if model.slo is not None:
        raise _misplaced("slo", "tokens", "give tpot_slo")
    wanted = "tokens_per_second, or rate, prompt_tokens and output_tokens"
    if model.tokens_per_second is not None:
        _refuse(model, "tokens_per_second", "rate")
    tokens = _needed(_tokens_per_second(model), "tokens_per_second", wanted)
    kv_bytes = _needed(model.kv_bytes_per_token, "kv_bytes_per_token", "it, or a config")
    target = _needed(model.tpot_slo, "tpot_slo", "seconds per token")
    return _for_windows([each * (kv_bytes / BYTES) / target for each in tokens])


def _for_windows(loads: list[float]) -> float | list[float]:
    """Return loads as a model takes them: one number if that stands for all windows."""
    return loads[0] if len(loads) == 1 else loads


def _needed(value: Value | None, field: str, wanted: str) -> Value:
    if value is None:
        raise InputError.missing(field, advice=f"give {wanted}")
    return value


def _misplaced(field: str, form: str, advice: str) -> InputError:
    """Return the error of a field that belongs to the other form of load."""
    return InputError(Fault(f"does not go with load: {form}", advice=advice, path=(field,)))


def _refuse(model: ModelSpec, given: str, *others: str) -> None:
    for other in others:
        if getattr(model, other) is not None:
            raise InputError(Fault(f"has {given} and {other}", advice="give one of them"))
