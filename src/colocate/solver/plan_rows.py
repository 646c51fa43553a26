"""A plan as rows, for notebooks and data frames."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import NamedTuple

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
        )


def html_of(summary: str, rows: Iterator[PlanRow]) -> str:
    """Return a table of HTML with a summary above it; names cannot break out of it."""
    shown = ("model", "replica", "shard", "gpu", "size_gb", "cache_gb", "load", "pressure")
    head = "".join(f"<th>{name}</th>" for name in shown)
    body = "".join(
        f"<tr>{''.join(f'<td>{_cell(row._asdict()[name])}</td>' for name in shown)}</tr>"
        for row in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<p>{escape(summary)}</p>{table if body else ''}"


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else escape(str(value))
