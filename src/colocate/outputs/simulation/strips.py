"""How the latencies of each model are distributed, each strip against its target."""

from collections.abc import Iterator, Sequence
from math import exp, inf, isfinite, log
from typing import NamedTuple

from colocate.advise.simulation.verdicts import ModelReplay
from colocate.outputs.latency.words import shown_time
from colocate.outputs.page.frame import legend, note
from colocate.outputs.page.markup import Markup, tag
from colocate.outputs.page.svg import label, picture
from colocate.outputs.plan.fleet_bars import cut_in_middle
from colocate.outputs.text.sanitise import one_line
from colocate.outputs.text.wording import amount
from colocate.simulate.result import Distribution, ModelOutcome

WIDE, NARROW = 912, 360
"""Widths of the figure, since letters that shrink with it could not be read."""
LOWEST, HIGHEST = 0.03, 30.0
"""Times the target: how far a strip goes to both sides. What is further away is at its end."""
TICKS = {0.1: "0.1", 1.0: "target", 10.0: "10"}
ROW, TOP, TALL, SECOND = 40, 48, 28, 54
"""Points: of a row, above the first one, of the highest bar, and of a row in two lines."""
STEP = 0.1
"""The logarithm of the width of a bar, as of the histogram of a latency."""
MOST_MODELS = 40
"""Models that are drawn: of more, those with the fewest requests in time."""
LETTERS = {"wide": 22, "narrow": 38}
"""Of the longest name that has room."""
KEYS = (
    ("within", "within its target"),
    ("beyond", "beyond it"),
    ("goal", "the target; the scale is logarithmic"),
)
READING = (
    "Each bar counts requests, the highest of a strip is its most usual latency. Where a model "
    "states no target for a latency, bars are around its median."
)


class Strip(NamedTuple):
    """One latency of one model."""

    name: str
    found: Distribution
    target: float
    """Infinite if there is none."""
    percentile: float | None
    """What the target is about; None for the mean."""

    @property
    def judged(self) -> float:
        """The latency that is held against the target."""
        figures = {None: self.found.mean, 95.0: self.found.p95, 99.0: self.found.p99}
        return figures[self.percentile]

    @property
    def middle(self) -> float:
        """What the strip is drawn around: the target, or the median where there is none."""
        return self.target if isfinite(self.target) else self.found.p50

    @property
    def told(self) -> str:
        """What is held against its target, and the target."""
        if not self.found.count:
            return "-"
        rest = f" / {shown_time(self.target)}" if isfinite(self.target) else ""
        name = "mean" if self.percentile is None else f"p{self.percentile:.0f}"
        return f"{name} {shown_time(self.judged)}{rest}"


class StripRow(NamedTuple):
    """A model with both of its latencies."""

    model: str
    strips: tuple[Strip, Strip]


def strip_figure(models: Sequence[ModelReplay], runs: Sequence[ModelOutcome]) -> Markup:
    """Draw the distributions of all models, of one seed.

    Parameters
    ----------
    models
        What the models are asked.
    runs
        What their users felt in that seed, in the same order.
    """
    pairs = sorted(zip(models, runs, strict=True), key=lambda pair: pair[0].found.attainment.mean)
    rows = [_row(model, run) for model, run in pairs[:MOST_MODELS]]
    others = len(pairs) - len(rows)
    rest = f"{amount(others, 'other model')} with more requests in time not drawn."
    notes = [note(READING), *([note(rest)] if others else [])]
    drawn = (_draw(rows, "wide", WIDE), _draw(rows, "narrow", NARROW))
    return tag("figure", *drawn, tag("figcaption", legend(KEYS), *notes))


def _row(model: ModelReplay, run: ModelOutcome) -> StripRow:
    asked = model.asked
    slo = asked.tpot_slo if run.tpot.count else inf
    tpot = Strip("time per output token", run.tpot, slo, asked.percentile)
    ttft = Strip("time to first token", run.ttft, asked.ttft_slo, asked.percentile)
    return StripRow(one_line(run.name), (tpot, ttft))


def _draw(rows: Sequence[StripRow], name: str, width: int) -> Markup:
    wide = name == "wide"
    left, gap = (190, 36) if wide else (4, 16)
    room = (width - left - gap) / 2 - 4
    tall = ROW if wide else SECOND + TALL
    parts: list[Markup] = []
    for column in range(2):
        x = left + column * (room + gap)
        parts += _axis(x, room, rows[0].strips[column].name)
        for number, row in enumerate(rows):
            base = TOP + tall * (number + 1) - 6
            parts += _bars(row.strips[column], x, room, base)
            if wide or row.strips[column].found.count:
                parts.append(_figure_text(row.strips[column], x, room, base, wide))
    for number, row in enumerate(rows):
        y = TOP + tall * (number + 1) - 10 if wide else TOP + tall * number + 16
        parts.append(label(0, y, cut_in_middle(row.model, LETTERS[name]), "start", "name"))
    told = "; ".join(f"{row.model}: {row.strips[0].told}, {row.strips[1].told}" for row in rows)
    return picture(
        name, (width, TOP + tall * len(rows) + 8), "Latencies against targets", told, *parts
    )


def _axis(x: float, room: float, name: str) -> Iterator[Markup]:
    """Yield the scale of a column.

    Parameters
    ----------
    x, room
        Where the column begins, and how wide it is.
    name
        What it shows.
    """
    yield label(x, 14, name, "start", "name")
    for ratio, text in TICKS.items():
        yield label(x + room * _place(ratio), TOP - 14, text, "middle")


def _bars(strip: Strip, x: float, room: float, base: float) -> Iterator[Markup]:
    """Yield the bars of a strip.

    Parameters
    ----------
    strip
        What to draw.
    x, room
        Where it begins, and how wide it is.
    base
        The foot of the bars.
    """
    lines = "".join(f"M{x + room * _place(ratio):.1f} {base - TALL}V{base}" for ratio in TICKS)
    yield tag("path", d=f"M{x:.1f} {base:.1f}H{x + room:.1f}{lines}", class_="grid")
    goal = f"M{x + room * _place(1.0):.1f} {base - TALL}V{base}"
    yield tag("path", d=goal, class_="goal" if isfinite(strip.target) else "grid")
    if not strip.found.count or strip.middle <= 0.0:
        return
    most = max(count for _, count in strip.found.histogram)
    ends: dict[bool, list[str]] = {True: [], False: []}
    for begin, count in strip.found.histogram:
        first = _place(begin / strip.middle)
        last = _place(begin * exp(STEP) / strip.middle)
        at, wide = x + room * first, max(room * (last - first) - 0.5, 1.5)
        tall = max(TALL * count / most, 0.8)
        beyond = begin * exp(STEP / 2) > strip.target
        ends[beyond].append(f"M{at:.1f} {base:.1f}v{-tall:.1f}h{wide:.1f}v{tall:.1f}z")
    for beyond, paths in ends.items():
        if paths:
            yield tag("path", d="".join(paths), class_="beyond" if beyond else "within")


def _figure_text(strip: Strip, x: float, room: float, base: float, wide: bool) -> Markup:
    """Return the figures of a strip, on its free side.

    Parameters
    ----------
    strip
        What is drawn.
    x, room
        Where it begins, and how wide it is.
    base
        The foot of its bars.
    wide
        Whether there is room beside the bars; otherwise they stand above.
    """
    kind = "figure missed" if strip.judged > strip.target else "figure"
    if not wide:
        return label(x, base - TALL - 10, strip.told, "start", kind)
    return label(x + room, base - TALL + 6, strip.told, "end", kind)


def _place(ratio: float) -> float:
    """Return where on a strip a ratio to its middle is, from 0 to 1."""
    share = log(min(max(ratio, LOWEST), HIGHEST) / LOWEST) / log(HIGHEST / LOWEST)
    return min(max(share, 0.0), 1.0)
