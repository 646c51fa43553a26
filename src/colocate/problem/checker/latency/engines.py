"""The numbers of engines, from models as they were stated."""

from collections.abc import Iterable
from math import log

from colocate.problem.model import Model
from colocate.problem.requests import Requests


def engine_of(
    model: Model,
    replicas: int,
    kinds: Iterable[str],
    neighbours: Iterable[str] = (),
    window: int | None = None,
) -> tuple[float, ...]:
    """Return the numbers of one replica of a model (see `latency.RATE` and the others).

    Parameters
    ----------
    model
        The model.
    replicas
        How many replicas share its requests.
    kinds
        The kinds of the GPUs that it is known to be on. It is as slow as on the slowest of them.
    neighbours
        Kinds that others of its shards may be on: more layers there divide its work into shorter
        turns.
    window
        The time window; None for the one with most requests to the model.
    """
    requests = asked(model)
    by_kind = dict(requests.engines)
    on = [by_kind[kind] for kind in kinds]
    layers = max([engine.layers for engine in on])
    turn_layers = max([layers, *[by_kind[kind].layers for kind in neighbours]])
    spread = 1.0 if requests.percentile is None else -log(1.0 - requests.percentile / 100.0)
    return (
        rate_in(model, window) / replicas,
        max(requests.output_tokens - 1.0, 0.0),
        max([engine.step for engine in on]),
        max([engine.step_per_request for engine in on]),
        max([engine.prefill for engine in on]),
        max([engine.prefill_work for engine in on]),
        layers,
        turn_layers,
        requests.slots,
        requests.tpot_slo,
        requests.ttft_slo,
        spread,
        0.0 if is_idle(model, window) else 1.0,
    )


def rate_in(model: Model, window: int | None) -> float:
    """Return the requests each second to all replicas of a model in a time window, or the most."""
    requests = asked(model)
    if not requests.rates:
        return requests.rate
    return max(requests.rates) if window is None else requests.rates[window]


def is_idle(model: Model, window: int | None) -> bool:
    """Return whether nobody asks a model in a time window, though somebody does in others.

    Then nobody feels its latency there.
    """
    return rate_in(model, window) == 0.0 and rate_in(model, None) > 0.0


def asked(model: Model) -> Requests:
    """Return what a model is asked, in a problem that states it."""
    assert model.requests is not None, "the problem states what its models are asked"
    return model.requests


def must_keep(model: Model) -> bool:
    """Return whether a model has a target that a placement must keep."""
    requests = asked(model)
    return requests.binding and requests.has_target
