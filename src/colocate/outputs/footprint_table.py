"""Footprints as a table, and beside the estimates of a fleet."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType

from colocate.inputs.footprint.footprint import Footprint
from colocate.inputs.footprint.updates import FieldComparison
from colocate.outputs.text.fitting_table import Column, fitting_table
from colocate.outputs.text.sanitise import LONGEST_NAME, one_line
from colocate.outputs.text.wording import quoted, signed_percent

COLUMNS = (
    Column("model", words=True),
    Column("engine", words=True, dispensable=3),
    Column("GPUs", dispensable=2),
    Column("weights GB"),
    Column("overhead GB"),
    Column("KV bytes/token"),
    Column("cache GB", dispensable=1),
    Column("cache tokens"),
)
OFF_COLUMNS = (
    Column("model", words=True),
    Column("field", words=True),
    Column("estimate"),
    Column("measured"),
    Column("difference"),
)

Differences = Sequence[tuple[str, FieldComparison]]
"""Fields that were measured, with the names of their models."""


def footprint_table(footprints: Sequence[Footprint], width: int) -> RenderableType:
    """Return what engines hold on each of their GPUs."""
    return fitting_table(COLUMNS, map(_row, footprints), width)


def difference_table(found: Differences, width: int) -> RenderableType:
    """Return estimates of a fleet beside what was measured."""
    rows = [
        (
            one_line(model, LONGEST_NAME),
            each.field,
            _number(each.estimate),
            _number(each.measured),
            signed_percent(each.measured / each.estimate - 1, 1) if each.estimate else "new",
        )
        for model, each in found
    ]
    return fitting_table(OFF_COLUMNS, rows, width)


def as_data(footprints: Sequence[Footprint], found: Differences) -> dict[str, Any]:
    """Return both as plain data."""
    fields = [{"model": model, **asdict(each), "off": each.is_off} for model, each in found]
    return {"footprints": [asdict(footprint) for footprint in footprints], "fields": fields}


def notes_on_footprint(footprint: Footprint) -> Iterator[str]:
    """Yield what a log does not tell, and how to let it tell."""
    model = quoted(footprint.model or "?")
    if footprint.least_overhead:
        yield (
            f"{model}: SGLang takes memory for a batch when there is one, so the overhead is what "
            "it holds at the least; it is not written into a fleet file"
        )
    elif footprint.overhead_gb is None:
        yield (
            f"{model}: the log does not tell the overhead. Start vLLM once without "
            "--kv-cache-memory-bytes and with VLLM_LOGGING_LEVEL=DEBUG, or give --gpu KIND"
        )
    if footprint.stages > 1:
        yield f"{model}: its layers are on {footprint.stages} GPUs in turn; fleets know only shards"


def _row(footprint: Footprint) -> tuple[str, ...]:
    least = "≥ " if footprint.least_overhead else ""
    overhead, per_token = footprint.overhead_gb, footprint.kv_bytes_per_token
    return (
        one_line(footprint.model or "?", LONGEST_NAME),
        footprint.engine,
        str(footprint.shards * footprint.stages),
        f"{footprint.weights_gb:.2f}",
        "-" if overhead is None else f"{least}{overhead:.2f}",
        "-" if per_token is None else f"{per_token:,.0f}",
        "-" if footprint.cache_gb is None else f"{footprint.cache_gb:.2f}",
        "-" if footprint.cache_tokens is None else f"{footprint.cache_tokens:,}",
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
