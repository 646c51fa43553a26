"""What was measured as one page of HTML that needs nothing else: no network, no script, no font."""

from collections.abc import Iterator, Sequence

import numpy as np

from colocate.advise.planned import PlannedModel
from colocate.inputs.observation.observation import Observation
from colocate.inputs.observation.together import Correlation
from colocate.outputs.observation.strips import DemandStrip, demand_strips, runs_of
from colocate.outputs.observation.table import MEASURED, PLANNED, model_row, planned_rows
from colocate.outputs.observation.words import (
    basis_line,
    headline,
    note_line,
    pair_lines,
    predictability_lines,
    when_line,
)
from colocate.outputs.page.frame import fact_list, note, section, whole_page
from colocate.outputs.page.html_table import html_table
from colocate.outputs.page.markup import Markup, tag
from colocate.outputs.page.svg import label, picture
from colocate.outputs.plan.fleet_bars import cut_in_middle
from colocate.outputs.plan.words import as_sentence
from colocate.outputs.simulation.words import shown_span
from colocate.outputs.text.fitting_table import Column
from colocate.outputs.text.sanitise import one_line
from colocate.outputs.text.wording import amount, plain_number

SHEETS = ("colocate.outputs.report", "colocate.outputs.simulation")
WIDE, NARROW = 912, 360
"""Widths of the figure, since letters that shrink with it could not be read."""
ROW, HIGH_ROW, TALL, FOOT = 40, 56, 26, 26
"""Points: of a strip beside its name and below it, of its highest rate, and below the last one."""
NAME_ROOM, RATE_ROOM = 200, 130
"""Points for names and rates, where there is room beside the strips."""
LETTERS = 26
"""Of the longest name that has room."""
MOST_ROWS, MOST_PAIRS = 64, 20
"""Of models and of pairs in tables."""
PAIRS = (
    Column("model", words=True),
    Column("with", words=True),
    Column("correlation"),
    Column("95% interval"),
    Column("verdict", words=True),
)


def observation_page(
    observation: Observation,
    pairs: Sequence[Correlation],
    planned: Sequence[PlannedModel] | None,
    command: str,
) -> str:
    """Return what was measured as a page.

    Parameters
    ----------
    observation
        What was measured.
    pairs
        Which models go together.
    planned
        A plan beside it, if there is one.
    command
        What made it, as a shell takes it.
    """
    title = headline(observation)
    parts = [
        tag("p", "colocate observe", class_="kicker"),
        tag("h1", title),
        tag("p", f"{as_sentence(basis_line(observation))}.", class_="lead"),
        fact_list(_facts(observation), "summary"),
        *(note(as_sentence(one_line(note_line(each))) + ".") for each in observation.notes),
        *_sections(observation, pairs, planned),
        section("How it was made", tag("pre", tag("code", command), class_="wrapped", tabindex=0)),
    ]
    return whole_page(title, SHEETS, *parts)


def _facts(observation: Observation) -> Iterator[tuple[str, str]]:
    yield "source", one_line(observation.source)
    yield "time", when_line(observation)
    yield "peaks and bursts", f"in bins of {shown_span(observation.coarse_seconds)}"
    if observation.models:
        busiest = observation.models[0]
        yield "asked most", f"{one_line(busiest.name)}, {plain_number(busiest.rate.value)} a second"


def _sections(
    observation: Observation,
    pairs: Sequence[Correlation],
    planned: Sequence[PlannedModel] | None,
) -> Iterator[Markup]:
    """Yield the page from top to bottom."""
    yield section("Requests over time", _figure(observation))
    rows = [model_row(model) for model in observation.models[:MOST_ROWS]]
    yield section(
        "Model by model", _table("What was measured; ± is half of the 95% interval", MEASURED, rows)
    )
    together = [tag("p", as_sentence(one_line(line)) + ".") for line in pair_lines(pairs)]
    if pairs:
        told = [_pair_row(pair) for pair in pairs[:MOST_PAIRS]]
        together.append(_table("The strongest pairs", PAIRS, told))
    yield section("Which models peak together", *together)
    lines = (tag("p", as_sentence(one_line(x)) + ".") for x in predictability_lines(observation))
    yield section("How predictable it is", *lines)
    if planned is not None:
        figures = [row for each in planned[:MOST_ROWS] for row in planned_rows(each)]
        yield section("Planned against measured", _table("Figures of both", PLANNED, figures))


def _pair_row(pair: Correlation) -> tuple[str, ...]:
    word = "chance" if not pair.clear else "together" if pair.value > 0.0 else "apart"
    span = f"{pair.low:.2f} to {pair.high:.2f}"
    return one_line(pair.first), one_line(pair.second), f"{pair.value:.2f}", span, word


def _table(title: str, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Markup:
    kept = [place for place in range(len(columns)) if any(row[place] != "-" for row in rows)]
    heads = [(columns[at].heading, "words" if columns[at].words else "figure") for at in kept]
    cells = [[one_line(row[at]) for at in kept] for row in rows]
    return html_table(title, heads, cells, stacked=True)


def _figure(observation: Observation) -> Markup:
    strips = demand_strips(observation)
    drawn = [_draw(strips, observation, name, width)
             for name, width in (("wide", WIDE), ("narrow", NARROW))]  # fmt: skip
    others = len(observation.models) - len(strips)
    rest = [note(f"Not drawn: {amount(others, 'model')} with lower rates.")] if others else []
    told = "Each model to the height of its own peak. Without a line below, nothing is known."
    reading = note(told)
    return tag("figure", *drawn, tag("figcaption", reading, *rest))


def _draw(strips: Sequence[DemandStrip], observation: Observation, name: str, width: int) -> Markup:
    left, right = (NAME_ROOM, RATE_ROOM) if name == "wide" else (0, 0)
    room, row = width - left - right, ROW if left else HIGH_ROW
    parts: list[Markup] = []
    for number, strip in enumerate(strips):
        foot = row * (number + 1)
        for first, last in runs_of(strip):
            xs = np.append(strip.begins, observation.seconds)[first : last + 2]
            xs = left + room * xs / observation.seconds
            ys = foot - TALL * strip.rates[first : last + 1] / (strip.peak or 1.0)
            steps = "".join(f"V{y:.1f}H{x:.1f}" for x, y in zip(xs[1:], ys, strict=True))
            parts.append(tag("path", d=f"M{xs[0]:.1f} {foot}{steps}V{foot}z", class_="area"))
            line = f"M{xs[0]:.1f} {ys[0]:.1f}{steps.removeprefix(f'V{ys[0]:.1f}')}"
            parts.append(tag("path", d=line, class_="curve"))
            parts.append(tag("path", d=f"M{xs[0]:.1f} {foot}H{xs[-1]:.1f}", class_="grid"))
        at = foot - 8 if left else foot - TALL - 3
        parts.append(label(0, at, cut_in_middle(one_line(strip.model), LETTERS), "start", "name"))
        parts.append(label(width, at, strip.told, "end", "figure"))
    bottom = row * len(strips) + 18
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        text = shown_span(share * observation.seconds) if share else "0"
        parts.append(label(left + share * room, bottom, text, anchor))
    told = "; ".join(f"{one_line(strip.model)} {strip.told}" for strip in strips)
    size = (width, row * len(strips) + FOOT)
    return picture(f"{name} rates-{name}", size, "Requests over time", told, *parts)
