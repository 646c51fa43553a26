"""What each GPU did over time: busy engines, waiting requests, cache in use."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from colocate.outputs.page.frame import note
from colocate.outputs.page.markup import Markup, tag
from colocate.outputs.page.svg import label, picture
from colocate.outputs.simulation.words import shown_span
from colocate.outputs.text.sanitise import one_line
from colocate.outputs.text.wording import amount, listed, percent
from colocate.problem.instance import Floats
from colocate.simulate.result import GpuOutcome, Timeline

WIDE, NARROW = 912, 360
"""Widths of a figure, since letters that shrink with it could not be read."""
PANEL, GAP, TOP, BOTTOM = 46, 24, 18, 24
"""Points: of a panel, between two, above the first and below the last."""
LEFT, RIGHT = 44, 6
"""Margins beside the panels."""
POINTS = {WIDE: 300, NARROW: 100}
"""Intervals that are drawn: no more than can be told apart."""
MOST_GPUS = 16
"""GPUs that are drawn: of more, those with the most waiting requests."""
ROUND = (1, 2, 3, 4, 5, 6, 8, 10)
"""First digits of the end of a scale."""


class _Panel(NamedTuple):
    name: str
    kind: str
    timeline: Timeline
    unit: str = ""


def timeline_figures(
    gpus: Sequence[GpuOutcome], seconds: float, models: Mapping[str, Sequence[str]]
) -> Iterator[Markup]:
    """Yield a figure for each GPU.

    Parameters
    ----------
    gpus
        What they did.
    seconds
        How long was simulated.
    models
        The models on each GPU, by its name.
    """
    used = [gpu for gpu in gpus if models.get(gpu.name)]
    busiest = sorted(used, key=lambda gpu: -float(gpu.waiting.values.mean()))[:MOST_GPUS]
    drawn = [gpu for gpu in used if gpu in busiest] if len(used) > MOST_GPUS else used
    for number, gpu in enumerate(drawn):
        names = listed([one_line(name) for name in models[gpu.name]])
        told = tag("small", f"{percent(gpu.busy)} busy: {names}")
        yield tag(
            "figure",
            tag("h3", one_line(gpu.name), told),
            *(draw_timeline(gpu, seconds, f"{name} {name}-{number}", width)
              for name, width in (("wide", WIDE), ("narrow", NARROW))),
            class_="timeline",
        )  # fmt: skip
    if len(used) > len(drawn):
        rest = f"{amount(len(used) - len(drawn), 'other GPU')} with fewer waiting requests"
        yield note(f"Not drawn: {rest}.")


def draw_timeline(gpu: GpuOutcome, seconds: float, name: str, width: int) -> Markup:
    """Draw one GPU at a width.

    Parameters
    ----------
    gpu
        What it did.
    seconds
        How long was simulated.
    name
        Tells this picture from others.
    width
        In points.
    """
    panels = (
        _Panel("busy engines", "engines", gpu.busy_engines),
        _Panel("requests waiting", "waiting", gpu.waiting),
        _Panel("cache in use", "cache", gpu.cache_gb, " GB"),
    )
    parts: list[Markup] = []
    for number, panel in enumerate(panels):
        top = TOP + number * (PANEL + GAP)
        parts += _panel(panel, seconds, top, width)
    bottom = TOP + len(panels) * (PANEL + GAP) - GAP
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        x = LEFT + share * (width - LEFT - RIGHT)
        parts.append(label(x, bottom + 16, _moment(share * seconds, seconds), anchor))
    told = "; ".join(
        f"{panel.name} {panel.timeline.values.mean():.2g}{panel.unit} on average, at most "
        f"{panel.timeline.values.max():.2g}{panel.unit}"
        for panel in panels
    )
    title = f"{one_line(gpu.name)} over {shown_span(seconds)}"
    return picture(name, (width, bottom + BOTTOM), title, told, *parts)


def _panel(panel: _Panel, seconds: float, top: float, width: int) -> Iterator[Markup]:
    """Yield one line over time with the area below it.

    Parameters
    ----------
    panel
        What to draw.
    seconds
        How long the time is.
    top
        Where the panel begins.
    width
        Of the whole picture.
    """
    begins, values = _thinned(panel.timeline, POINTS[width])
    highest = _round_end(float(values.max()))
    foot, right = top + PANEL, width - RIGHT
    xs = LEFT + (right - LEFT) * begins / seconds
    ys = foot - PANEL * values / highest
    line = "".join(f"H{x:.1f}V{y:.1f}" for x, y in zip(xs[1:], ys[1:], strict=True))
    path = f"V{ys[0]:.1f}{line}H{right}"
    yield tag("path", d=f"M{LEFT} {top:.1f}H{right}M{LEFT} {foot:.1f}H{right}", class_="grid")
    yield tag("path", d=f"M{LEFT} {foot:.1f}{path}V{foot:.1f}z", class_=f"area {panel.kind}")
    yield tag("path", d=f"M{LEFT} {ys[0]:.1f}{path}", class_=f"curve {panel.kind}")
    yield label(LEFT, top - 5, panel.name, "start", "name")
    yield label(LEFT - 6, top + 5, f"{highest:g}{panel.unit}", "end")
    yield label(LEFT - 6, foot + 4, "0", "end")


def _thinned(timeline: Timeline, most: int) -> tuple[Floats, Floats]:
    """Return a timeline in at most so many intervals, each the mean of those that it joins."""
    together = -(-len(timeline.values) // most)
    begins = timeline.seconds[::together]
    groups = np.arange(0, len(timeline.values), together)
    counts = np.diff(np.append(groups, len(timeline.values)))
    return begins, np.add.reduceat(timeline.values, groups) / counts


def _round_end(highest: float) -> float:
    """Return the end of a scale that holds a value and is easy to read."""
    if highest <= 0.0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(highest))
    return float(next(power * digit for digit in ROUND if power * digit >= highest * 0.999))


def _moment(seconds: float, whole: float) -> str:
    """Return a moment in the unit that suits the whole time."""
    if whole < 120.0:
        return f"{seconds:.3g} s"
    minutes = seconds / 60.0
    return f"{minutes:.3g} min" if whole < 7200.0 else f"{minutes / 60.0:.3g} h"
