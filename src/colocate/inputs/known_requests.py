"""What all models of a fleet are asked, where the file says it of every one of them.

Latency is a matter of all models on a GPU, so one model without tokens leaves it unknown for the
whole fleet. Where the file limits or minimises latency, that is an error; otherwise it is a gap
that the plan mentions.
"""

from typing import NamedTuple

from colocate.errors import InputError, closest
from colocate.fault import Fault
from colocate.inputs.compute import known_accelerator
from colocate.inputs.engine_speed import engine_on, requests_of, steps_on
from colocate.inputs.entry_faults import EntryFaults
from colocate.inputs.spec import FleetSpec, ModelSpec, Steps
from colocate.problem.requests import Requests

TOKENS = ("prompt_tokens", "output_tokens")
TARGETS = ("tpot_slo", "ttft_slo")


class RequestGap(NamedTuple):
    """A field without which the latency of some models cannot be predicted."""

    field: str
    """One that a model lacks: `prompt_tokens`, `output_tokens`, `rate` or `steps`."""
    models: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    """The kinds of GPU that `steps` lacks."""


def known_requests(spec: FleetSpec, kinds: set[str], faults: EntryFaults) -> dict[str, Requests]:
    """Return what the models are asked, if that is known of all of them; none otherwise.

    Parameters
    ----------
    spec
        The fleet, resolved.
    kinds
        Of all of its GPUs.
    faults
        Takes note of what is wrong with fields on latency, and of those that are needed.
    """
    faults.made(spec.models, lambda model: _check_fields(model, kinds))
    if spec.objective == "latency" or any(_needs_prediction(spec, model) for model in spec.models):
        faults.made(spec.models, lambda model: _check_known(model, kinds))
    found = {model.name: requests_of(model, kinds) for model in spec.models}
    known = {name: requests for name, requests in found.items() if requests is not None}
    return known if len(known) == len(spec.models) else {}


def check_all_known(spec: FleetSpec) -> None:
    """Refuse a fleet whose latencies cannot be predicted, and say what every model lacks."""
    faults, kinds = EntryFaults(), {gpu.kind or "" for gpu in spec.gpus}
    faults.made(spec.models, lambda model: _check_known(model, kinds))
    faults.tell()


def request_gaps(spec: FleetSpec) -> tuple[RequestGap, ...]:
    """Return what is missing to predict latencies, field by field; nothing if all is known."""
    kinds = {gpu.kind or "" for gpu in spec.gpus}
    lacking: dict[str, dict[str, tuple[str, ...]]] = {}
    for model in spec.models:
        for field, unknown in _missing(model, kinds).items():
            lacking.setdefault(field, {})[model.name] = unknown
    return tuple(
        RequestGap(
            field, tuple(models), tuple(sorted({k for each in models.values() for k in each}))
        )
        for field, models in lacking.items()
    )


def _needs_prediction(spec: FleetSpec, model: ModelSpec) -> bool:
    """Say whether a model has a target; `tpot_slo` may also be there for its load alone."""
    for_load_alone = spec.load == "tokens" and model.percentile is None
    return model.ttft_slo is not None or (model.tpot_slo is not None and not for_load_alone)


def _missing(model: ModelSpec, kinds: set[str]) -> dict[str, tuple[str, ...]]:
    """Return the fields that a model lacks, each with the kinds of GPU that it lacks it for."""
    missing = {field: () for field in TOKENS if getattr(model, field) is None}
    if model.tokens_per_second is None and model.rate is None:
        missing["rate"] = ()
    unknown = tuple(sorted(kind for kind in kinds if engine_on(model, kind) is None))
    return {**missing, **({"steps": unknown} if unknown else {})}


def _check_known(model: ModelSpec, kinds: set[str]) -> None:
    """Refuse a model whose latency is limited or minimised, but cannot be predicted."""
    for field, unknown in _missing(model, kinds).items():
        advice = "give it, so that latency can be predicted"
        if field == "steps":
            raise _unknown_times(model, unknown[0])
        if field == "rate" and model.load is not None:
            advice = "give it and slo instead of load, so that latency can be predicted"
        raise InputError.missing(field, advice=advice)


def _unknown_times(model: ModelSpec, kind: str) -> InputError:
    """Return the error of a kind of GPU on which a model's times are not known."""
    where = f"GPU kind {kind!r}" if kind else "GPUs without a kind"
    advice = "measure them with `colocate calibrate`"
    lacking = "no times" if steps_on(model, kind) is None else "no prefill_ms_per_1k_tokens"
    found = f"has {lacking} on {where}, which the catalogue does not know"
    return InputError(Fault(found, advice=advice, path=("steps",)))


def _check_fields(model: ModelSpec, kinds: set[str]) -> None:
    """Refuse fields on latency that contradict each other or the fleet."""
    if model.percentile is not None and not any(getattr(model, field) for field in TARGETS):
        advice = f"give {' or '.join(TARGETS)}"
        raise InputError(Fault("has no target to be about", advice=advice, path=("percentile",)))
    if isinstance(model.steps, Steps):
        _check_times(model.steps, ())
    for kind, steps in {} if isinstance(model.steps, Steps | None) else model.steps.items():
        if kind not in kinds and known_accelerator(kind) is None:
            advice = closest(kind, kinds)
            found = "is no kind of GPU in the fleet or the catalogue"
            raise InputError(Fault(found, advice=advice, path=("steps", kind)))
        _check_times(steps, (kind,))


def _check_times(steps: Steps, of_kind: tuple[str, ...]) -> None:
    """Refuse an engine whose steps take no time."""
    if steps.base_ms + steps.per_request_ms + steps.per_1k_context_ms <= 0.0:
        expected = "more than 0, or per_request_ms must be"
        raise InputError.of(("steps", *of_kind, "base_ms"), steps.base_ms, expected)
