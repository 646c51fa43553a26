"""What was measured, for a screen: models, their fields in a fleet, and a plan beside it."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from colocate.advise.planned import PlannedFigure, PlannedModel
from colocate.inputs.observation.demand_changes import DemandChange, DemandChanges
from colocate.inputs.observation.observation import ModelObservation, Observation
from colocate.inputs.observation.together import Correlation
from colocate.outputs.observation.words import (
    SHORT,
    basis_line,
    headline,
    pair_lines,
    peak_line,
    predictability_lines,
    shown_estimate,
    when_line,
)
from colocate.outputs.text.fitting_table import Column, fitting_table
from colocate.outputs.text.sanitise import LONGEST_NAME, one_line
from colocate.outputs.text.wording import plain_number, signed_percent

MOST_NUMBERS = 4
"""Of a list that a cell shows."""
MEASURED = (
    Column("model", words=True),
    Column("requests/s"),
    Column("prompt", dispensable=1),
    Column("output", dispensable=1),
    Column("peak/s", dispensable=4),
    Column("bursts", dispensable=3),
    Column("busy", dispensable=5),
    Column("cache", dispensable=7),
    Column("TTFT ms", dispensable=8),
    Column("TPOT ms", dispensable=6),
    Column("counted", words=True, dispensable=2),
    Column("yesterday", dispensable=9),
    Column("last week", dispensable=10),
    Column("replicas", dispensable=11),
)
DIFFERENCES = (
    Column("model", words=True),
    Column("field", words=True),
    Column("stated"),
    Column("measured"),
    Column("difference"),
)
PLANNED = (
    Column("model", words=True),
    Column("figure", words=True),
    Column("planned"),
    Column("measured"),
    Column("off", dispensable=1),
    Column("verdict", words=True),
)


def observation_table(
    observation: Observation, pairs: Sequence[Correlation], width: int
) -> RenderableType:
    """Draw what was measured of each model.

    Parameters
    ----------
    observation, pairs
        What was measured, and which models go together.
    width
        Of the screen, in letters.
    """
    bins = f"{when_line(observation)}; {peak_line(observation)}"
    above = [headline(observation), bins, basis_line(observation)]
    below = [*pair_lines(pairs), *predictability_lines(observation)]
    rows = [model_row(model) for model in observation.models]
    kept = [place for place in range(len(MEASURED)) if any(row[place] != "-" for row in rows)]
    return Group(
        Text("\n".join(above)),
        fitting_table(
            [MEASURED[place] for place in kept], [[row[p] for p in kept] for row in rows], width
        ),
        Text("\n".join(below)),
    )


def model_row(model: ModelObservation) -> tuple[str, ...]:
    """Return what was measured of a model, in figures."""
    bursts = model.burstiness
    expected = model.predictability
    return (
        one_line(model.name, LONGEST_NAME),
        shown_estimate(model.rate),
        shown_estimate(model.prompt_tokens),
        shown_estimate(model.output_tokens),
        plain_number(bursts.peak),
        "-" if bursts.dispersion is None else plain_number(bursts.dispersion, 2),
        shown_estimate(model.busy, 100.0, "%"),
        shown_estimate(model.cache, 100.0, "%"),
        shown_estimate(model.ttft, 1000.0),
        shown_estimate(model.tpot, 1000.0),
        SHORT[model.basis],
        shown_estimate(expected.yesterday),
        shown_estimate(expected.last_week),
        str(model.replicas) if model.replicas else "-",
    )


def update_table(update: DemandChanges, width: int) -> RenderableType:
    """Draw the fields of a fleet that are off, beside what was measured."""
    rows = [_change_row(change) for change in update.changes if change.is_off]
    return fitting_table(DIFFERENCES, rows, width)


def planned_table(planned: Sequence[PlannedModel], width: int) -> RenderableType:
    """Draw what a plan predicted beside what was measured."""
    return fitting_table(PLANNED, [row for each in planned for row in planned_rows(each)], width)


def planned_rows(planned: PlannedModel) -> list[tuple[str, ...]]:
    """Return a row for each figure that is both planned and measured."""
    figures = (
        ("requests/s", planned.rate, 1.0, ""),
        ("TPOT", planned.tpot, 1000.0, " ms"),
        ("TTFT", planned.ttft, 1000.0, " ms"),
        ("cache in use", planned.cache, 100.0, "%"),
        ("busy", planned.busy, 100.0, "%"),
    )
    return [
        (
            one_line(planned.model, LONGEST_NAME),
            name,
            f"{plain_number((figure.planned or 0.0) * scale)}{unit}",
            shown_estimate(figure.measured, scale, unit),
            "-" if figure.off is None else signed_percent(figure.off),
            verdict(figure),
        )
        for name, figure, scale, unit in figures
        if figure.planned is not None and figure.measured is not None
    ]


def verdict(figure: PlannedFigure) -> str:
    """Return whether a figure is what was planned, in words."""
    if not figure.differs or figure.measured is None:
        return "as planned"
    return "above plan" if figure.measured.value > (figure.planned or 0.0) else "below plan"


def _change_row(change: DemandChange) -> tuple[str, ...]:
    stated, measured = change.stated, change.measured
    both = isinstance(stated, int | float) and isinstance(measured, float) and stated
    return (
        one_line(change.model, LONGEST_NAME),
        change.field,
        _shown(stated),
        _shown(measured),
        signed_percent(measured / stated - 1, 1) if both else "new",  # type: ignore[operator]
    )


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        some = ", ".join(plain_number(each) for each in value[:MOST_NUMBERS])
        return f"[{some}{', ...' if len(value) > MOST_NUMBERS else ''}]"
    return plain_number(value, 4) if isinstance(value, int | float) else "-"
