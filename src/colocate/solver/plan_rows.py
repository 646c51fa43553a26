"""A plan as rows, for notebooks and data frames."""

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from math import inf
from typing import NamedTuple

from colocate.latency.prediction import Prediction, predict_placement
from colocate.problem.cache import caches_of
from colocate.problem.parts import Places, parts_of
from colocate.problem.problem import Problem


class PlanRow(NamedTuple):
    """One shard of one replica of a model."""

    model: str
    replica: int
    shard: int
    gpu: str
    node: str
    kind: str
    size_gb: float
    least_cache_gb: float
    cache_gb: float
    load: float
    """Its share of the load, in the busiest window."""
    pressure: float
    """Of the GPU that it is on."""
    tpot_ms: float | None = None
    """Of its replica, on average; this and what follows is None where latencies are not known."""
    ttft_ms: float | None = None
    slower: float | None = None
    """How many times slower than alone."""
    tpot_slo_ms: float | None = None
    """The target; None without one."""
    ttft_slo_ms: float | None = None
    ratio: float | None = None
    """The worst of its latencies over its target."""


LATENCY_FIELDS = ("tpot_ms", "ttft_ms", "slower", "tpot_slo_ms", "ttft_slo_ms", "ratio")
"""The fields that rows have only where latencies are known."""


def plan_rows(
    problem: Problem, placement: Places, pressures: Mapping[str, float]
) -> Iterator[PlanRow]:
    """Yield what is on the GPUs, in the order of the models.

    Parameters
    ----------
    problem
        The models and the GPUs.
    placement
        The GPUs of every model; models asleep have none and no row.
    pressures
        The pressure of every GPU.
    """
    caches = {(cache.model, cache.replica): cache for cache in caches_of(problem, placement)}
    gpus = {gpu.name: gpu for gpu in problem.gpus}
    felt = _felt(problem, placement)
    for part in parts_of(problem, placement):
        cache, gpu = caches[part.model.name, part.replica], gpus[part.gpu]
        yield PlanRow(
            part.model.name,
            part.replica,
            part.shard,
            gpu.name,
            gpu.node,
            gpu.kind,
            cache.size_gb,
            cache.least_gb,
            cache.cache_gb,
            max(part.model.load),
            pressures[gpu.name],
            *felt.get((part.model.name, part.replica), ()),
        )


def _felt(problem: Problem, placement: Places) -> dict[tuple[str, int], tuple[float | None, ...]]:
    """Return the last fields of the rows by replica; nothing where latencies are not known."""
    if not problem.has_requests or not any(placement.values()):
        return {}
    return {
        (each.model, each.replica): (
            1000.0 * each.shared.tpot.mean,
            1000.0 * each.shared.ttft.mean,
            each.slower,
            *(1000.0 * slo if slo < inf else None for slo in _targets(each)),
            each.shared.ratio,
        )
        for each in predict_placement(problem, placement)
    }


def _targets(found: Prediction) -> tuple[float, float]:
    return found.requests.tpot_slo, found.requests.ttft_slo


def html_of(summary: str, rows: Iterable[PlanRow]) -> str:
    """Return a table of HTML with a summary above it; names cannot break out of it."""
    rows = list(rows)
    shown = ["model", "replica", "shard", "gpu", "size_gb", "cache_gb", "load", "pressure"]
    if any(row.ratio is not None for row in rows):
        shown += ["tpot_ms", "ttft_ms", "slower", "ratio"]
    head = "".join(f"<th>{name}</th>" for name in shown)
    body = "".join(
        f"<tr>{''.join(f'<td>{_cell(row._asdict()[name])}</td>' for name in shown)}</tr>"
        for row in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<p>{escape(summary)}</p>{table if body else ''}"


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else escape(str(value))
