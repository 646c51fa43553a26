"""What every model of a plan can serve, in words and figures: the same on screen and page."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from colocate.advise.service import Service
from colocate.outputs.text.wording import gigabytes, listed, replica_gpus

MOST_GPUS = 4
"""Names of GPUs in a cell."""
UNKNOWN, NO_CACHE = "?", "none"


class ServiceRow(NamedTuple):
    """One model, by the replica with the least cache."""

    model: str
    gpus: str
    cache: str
    tokens: str
    requests: str
    context: str


HEADINGS = ServiceRow(
    "model", "GPUs", "cache", "tokens of cache", "typical requests at once", "longest context"
)


def service_rows(services: Iterable[Service], most: int) -> tuple[list[ServiceRow], int]:
    """Return a row for each model, and how many models have none.

    Parameters
    ----------
    services
        What the replicas of a plan can serve, in the order of the fleet.
    most
        So many rows at most; if there are more models, those closest to their least cache.
    """
    of_model = [list(group) for _, group in groupby(services, key=lambda each: each.model)]
    if len(of_model) > most:
        of_model.sort(key=lambda replicas: min(map(_slack, replicas)))
    return [_row(replicas) for replicas in of_model[:most]], max(len(of_model) - most, 0)


def _slack(service: Service) -> float:
    """Return the cache in least caches; models without one come last."""
    least = service.least_cache_gb
    return service.cache_gb / least if least > 0.0 else float("inf")


def _row(replicas: Sequence[Service]) -> ServiceRow:
    worst = min(replicas, key=lambda each: each.cache_gb)
    gpus = [replica_gpus(each.gpus) for each in replicas]
    has_cache = worst.cache_gb > 0.0
    return ServiceRow(
        worst.model,
        listed(gpus, MOST_GPUS),
        gigabytes(worst.cache_gb) if has_cache else NO_CACHE,
        _figure(worst.cache_tokens, has_cache),
        f"{_figure(worst.requests_at_once, has_cache)}{_of_length(worst)}",
        _figure(worst.longest_context, True),
    )


def _of_length(service: Service) -> str:
    return f" x {service.typical_request:,}" if service.requests_at_once is not None else ""


def _figure(value: int | None, applies: bool) -> str:
    if not applies:
        return "-"
    return UNKNOWN if value is None else f"{value:,}"
