"""What a model is asked: its load in either form, and the tokens behind it.

The older form of load is `rate / slo`, the newer one tokens per second x KV bytes per token / time
per output token. They rank placements differently, so a fleet file has one of them.
"""

from typing import NamedTuple, TypeVar

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.inputs.spec import ModelSpec

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


def demand_of(model: ModelSpec) -> float:
    """Return what is lost, before its importance, while a model is asleep.

    These are the requests each second, or the tokens where that is the form of load (only there a
    model has no `slo`), or the load itself where nothing else is told.
    """
    if model.load is not None:
        return max(model.load) if isinstance(model.load, list) else model.load
    if model.slo is not None:
        return model.rate or 0.0
    return _tokens_per_second(model) or 0.0


def tokens_of(model: ModelSpec) -> Tokens | None:
    """Return the tokens of a model, None if they are not all told."""
    if model.prompt_tokens is None or model.output_tokens is None:
        return None
    context = model.prompt_tokens + model.output_tokens / 2
    rate = rate_of(model)
    if rate is None:
        return None
    return Tokens(rate * model.prompt_tokens, rate * model.output_tokens, context)


def rate_of(model: ModelSpec) -> float | None:
    """Return the requests each second, None if they are not told."""
    if model.tokens_per_second is None:
        return model.rate
    if model.prompt_tokens is None or model.output_tokens is None:
        return None
    of_request = model.prompt_tokens + model.output_tokens
    return model.tokens_per_second / of_request if of_request else 0.0


def _tokens_per_second(model: ModelSpec) -> float | None:
    if model.tokens_per_second is not None:
        return model.tokens_per_second
    known = tokens_of(model)
    return None if known is None else known.prompt + known.output


def _load_by_requests(model: ModelSpec) -> float:
    if model.tokens_per_second is not None:
        raise _misplaced("tokens_per_second", "requests", "give rate and slo")
    rate = _needed(model.rate, "rate", "rate and slo, or load")
    return rate / _needed(model.slo, "slo", "rate and slo, or load")


def _load_by_tokens(model: ModelSpec) -> float:
    if model.slo is not None:
        raise _misplaced("slo", "tokens", "give tpot_slo")
    wanted = "tokens_per_second, or rate, prompt_tokens and output_tokens"
    if model.tokens_per_second is not None:
        _refuse(model, "tokens_per_second", "rate")
    tokens = _needed(_tokens_per_second(model), "tokens_per_second", wanted)
    kv_bytes = _needed(model.kv_bytes_per_token, "kv_bytes_per_token", "it, or a config")
    return tokens * (kv_bytes / BYTES) / _needed(model.tpot_slo, "tpot_slo", "seconds per token")


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
