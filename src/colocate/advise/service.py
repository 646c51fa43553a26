"""What every replica of a plan can serve, in the units of those who run it."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from colocate.inputs.fleet import Fleet
from colocate.inputs.least_cache import (
    longest_context,
    longest_request,
    requests_at_once,
    tokens_in,
    typical_request,
)
from colocate.problem.cache import caches_of
from colocate.solver.plan import Plan


class Service(NamedTuple):
    """What one replica of a model has, and what that is enough for.

    Where a fleet file does not say how large keys and values are, tokens and requests are None, and
    so they are for a model that keeps no cache.
    """

    model: str
    replica: int
    """Which of its replicas, from 0 on."""
    gpus: tuple[str, ...]
    size_gb: float
    """What it always holds, on all of its GPUs together; so are the caches."""
    least_cache_gb: float
    cache_gb: float
    cache_tokens: int | None
    """Tokens that the cache holds."""
    typical_request: int
    """Tokens of a typical request: the mean, or the longest one where no mean is stated."""
    requests_at_once: int | None
    """Typical requests that fit in the cache at once."""
    longest_request: int
    """Tokens of the longest request that it must serve."""
    longest_context: int | None
    """Tokens of the longest request that it can serve."""


def service_data(services: Iterable[Service]) -> list[dict[str, Any]]:
    """Return what replicas can serve as plain data for JSON."""
    return [{**each._asdict(), "gpus": list(each.gpus)} for each in services]


def services_of(plan: Plan, fleet: Fleet) -> tuple[Service, ...]:
    """Return what every replica of a plan can serve, in the order of the fleet."""
    found = []
    for part in caches_of(plan.problem, plan.placement):
        spec, shards = fleet.models[part.model], len(part.gpus)
        cache = part.cache_gb * shards
        found.append(
            Service(
                part.model,
                part.replica,
                part.gpus,
                part.size_gb * shards,
                part.least_gb * shards,
                cache,
                tokens_in(spec, cache),
                typical_request(spec),
                requests_at_once(spec, cache),
                longest_request(spec),
                longest_context(spec, cache),
            )
        )
    return tuple(found)
