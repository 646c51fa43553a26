"""What users of every model of a plan feel, drawn for a screen."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from colocate.latency.prediction import Prediction
from colocate.outputs.plan.latency_rows import HEADINGS, latency_rows
from colocate.outputs.plan.latency_words import ASSUMED, saturated_lines
from colocate.outputs.text.fitting_table import Column, fitting_table
from colocate.outputs.text.wording import amount


def latency_table(
    predictions: Sequence[Prediction], width: int, most: int
) -> Iterator[RenderableType]:
    """Draw the latencies of each model, and say which models are saturated.

    Parameters
    ----------
    predictions
        What users of the replicas feel, in the order of the fleet.
    width
        Of the screen, in letters.
    most
        Models at most; if there are more, those closest to their targets.
    """
    rows, others = latency_rows(predictions, most)
    columns = [
        Column(HEADINGS.model, words=True),
        Column(HEADINGS.gpus, words=True, dispensable=2),
        Column(HEADINGS.tpot),
        Column(HEADINGS.ttft),
        Column(HEADINGS.slower, dispensable=1),
        Column(HEADINGS.target),
        Column(HEADINGS.holds),
    ]
    yield fitting_table(columns, rows, width)
    if others:
        yield Text(f"and {amount(others, 'model')} further from their targets")
    if any(row.target.startswith("(") for row in rows):
        yield Text(f"note: {ASSUMED}")
    yield from map(Text, saturated_lines(predictions))
