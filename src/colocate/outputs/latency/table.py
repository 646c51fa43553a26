"""Predicted latencies for a screen: a row for each replica, then what they come to."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from colocate.latency.prediction import Prediction
from colocate.outputs.latency.words import (
    shown_time,
    slower_times,
    summary_lines,
    target_text,
    verdict_text,
)
from colocate.outputs.text.fitting_table import Column, fitting_table
from colocate.outputs.text.wording import gigabytes, percent, replica_gpus


class LatencyRow(NamedTuple):
    """One replica of a model."""

    model: str
    gpus: str
    tpot: str
    alone: str
    slower: str
    tpot_p99: str
    ttft: str
    ttft_p99: str
    busy: str
    in_flight: str
    cache: str
    target: str
    verdict: str


COLUMNS = (
    Column("model", words=True),
    Column("GPUs", words=True, dispensable=1),
    Column("TPOT"),
    Column("alone"),
    Column("slower"),
    Column("TPOT p99", dispensable=5),
    Column("TTFT"),
    Column("TTFT p99", dispensable=4),
    Column("busy", dispensable=3),
    Column("in flight", dispensable=6),
    Column("cache in use", dispensable=7),
    Column("target", words=True, dispensable=2),
    Column("verdict", words=True),
)


def latency_table(predictions: Sequence[Prediction], sharing: str, width: int) -> RenderableType:
    """Draw what users of every replica would feel.

    Parameters
    ----------
    predictions
        One for each replica; at least one.
    sharing
        How engines share a GPU in them.
    width
        Of the screen, in letters.
    """
    lines = summary_lines(predictions, sharing)
    return Group(fitting_table(COLUMNS, latency_rows(predictions), width), Text("\n".join(lines)))


def latency_rows(predictions: Iterable[Prediction]) -> list[LatencyRow]:
    """Return a row for each replica, in words and figures."""
    return [_row(each) for each in predictions]


def _row(prediction: Prediction) -> LatencyRow:
    shared, alone = prediction.shared, prediction.alone
    decodes = alone.tpot.mean > 0.0
    return LatencyRow(
        prediction.model,
        replica_gpus(prediction.gpus),
        shown_time(shared.tpot.mean) if decodes else "-",
        shown_time(alone.tpot.mean if decodes else alone.ttft.mean),
        slower_times(prediction),
        shown_time(shared.tpot.p99) if decodes else "-",
        shown_time(shared.ttft.mean),
        shown_time(shared.ttft.p99),
        percent(shared.busy),
        f"{shared.in_flight:.2g}" if shared.in_flight < 99.5 else f"{shared.in_flight:,.0f}",
        gigabytes(shared.cache_gb) if prediction.requests.request_gb else "-",
        target_text(prediction.requests) if prediction.requests.binding else "-",
        verdict_text(prediction),
    )
