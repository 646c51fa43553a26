"""The frontier as a picture: the value over what is loaded, with the bound below it."""

from collections.abc import Iterator
from math import ceil, floor, isfinite, log10
from typing import NamedTuple

from colocate.outputs.page.markup import Markup, tag
from colocate.outputs.page.svg import label, picture, steps
from colocate.outputs.replan.words import noun, value_text
from colocate.outputs.text.wording import gigabytes
from colocate.replan.replanning import FrontierPoint, Replanning

FILE, WIDE, NARROW = ("frontier", 640), ("wide", 912), ("narrow", 360)
"""Names and widths of the picture in a file and on a page, since letters that shrink with it could
not be read."""
HEIGHT = 310
"""In points, without a title."""
LEFT, RIGHT, TOP, BOTTOM = 60, 26, 54, 46
"""Margins for the figures beside the axes, and for what stands above them."""
TITLE, KEYS, AXIS = 26, 14, 40
"""The room of a title, and where below it the legend and the name of the upright axis stand."""
KEY, BETWEEN, LETTER = 20, 16, 6.8
"""Widths in the legend: of a mark, between two of them, and of a letter."""
TICKS = 5
"""Figures on each axis, at most: more would touch each other."""
ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
"""What people count in, times a power of ten."""
WHAT = {"pressure": "highest pressure", "ratio": "worst latency over its target"}
STYLE = """
.frontier .frame{fill:none;stroke:#8884}
.frontier .value{fill:none;stroke:var(--best,#2b5ea8);stroke-width:6;stroke-opacity:.35}
.frontier .bound{fill:none;stroke:var(--optimum,#2f7d4f);stroke-width:1.75;stroke-dasharray:5 4}
.frontier .point{fill:var(--best,#2b5ea8)}.frontier .chosen{fill:var(--failed,#b3361b)}
.frontier .heading{font-weight:600}
"""
ALONE = "svg{color:#222;background:#fff;font:13px system-ui,sans-serif}text{fill:currentColor}"
"""What a page says for all its pictures, for a picture in a file."""


class _Scale(NamedTuple):
    """Where values are drawn."""

    most_gb: float
    high: float
    width: int
    head: int
    """The room above it all."""

    def x(self, gb: float) -> float:
        return LEFT + (self.width - LEFT - RIGHT) * gb / self.most_gb

    def y(self, value: float) -> float:
        return self.head + TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - value / self.high)


def frontier_picture(found: Replanning, size: tuple[str, int] = FILE) -> Markup:
    """Draw the points of a replan that are finite.

    Parameters
    ----------
    found
        The replan.
    size
        The name of the picture, and its width. That for a file has a title; on a page one stands
        above it.
    """
    name, width = size
    points = [point for point in found.points if isfinite(point.value)]
    most = max((point.moved_gb for point in points), default=0.0) or 1.0
    high = max((point.value for point in points), default=0.0) or 1.0
    scale = _Scale(most, _last(high), width, TITLE if size == FILE else 0)
    told = f"{len(points)} points, from {value_text(high)} without a move"
    title = f"{noun(found)} over what is loaded"
    chosen = found.points[found.chosen] in points
    parts = [*_axes(scale, noun(found)), *_legend(chosen, scale.head), *_curves(points, scale)]
    if scale.head:
        parts.append(label(0, 16, f"What moving brings: {noun(found)}", "start", "heading"))
    for place, point in ((p, n) for p, n in enumerate(found.points) if isfinite(n.value)):
        kind = "chosen" if place == found.chosen else "point"
        text = f"{gigabytes(point.moved_gb)}: {value_text(point.value)}"
        x, y = scale.x(point.moved_gb), scale.y(point.value)
        dot = tag("circle", tag("title", text), cx=f"{x:.1f}", cy=f"{y:.1f}", r=4.5, class_=kind)
        parts.append(dot)
    return picture(name, (width, HEIGHT + scale.head), title, told, *parts)


def frontier_figure(found: Replanning) -> Markup:
    """Return the picture for a page, at two widths, one of which is shown."""
    drawn = (frontier_picture(found, size) for size in (WIDE, NARROW))
    return tag("figure", *drawn, class_="frontier")


def frontier_svg(found: Replanning) -> str:
    """Return the picture as a file of its own."""
    drawn = str(frontier_picture(found))
    styled = drawn.replace(">", f"><style>{STYLE}{ALONE}</style>", 1)
    return styled.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + "\n"


def _axes(scale: _Scale, value: str) -> Iterator[Markup]:
    """Yield the frame with its figures, and what they are of."""
    wide, tall = scale.width - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    yield tag("rect", x=LEFT, y=scale.head + TOP, width=wide, height=tall, class_="frame")
    for tick in _round_figures(scale.high):
        yield label(LEFT - 6, scale.y(tick) + 4, f"{tick:g}", "end")
    for tick in _round_figures(scale.most_gb):
        yield label(scale.x(tick), scale.y(0.0) + 17, gigabytes(tick), "middle")
    yield label(0, scale.head + AXIS, WHAT[value], "start")
    yield label(LEFT + wide / 2, scale.y(0.0) + 38, "weights to load", "middle")


def _legend(chosen: bool, head: int) -> Iterator[Markup]:
    """Yield the marks, each with its meaning."""
    keys = [("value", "best found"), ("bound", "lower bound")]
    at = 0.0
    for kind, told in [*keys, ("chosen", "chosen")] if chosen else keys:
        middle = head + KEYS - 4
        if kind == "chosen":
            yield tag("circle", cx=f"{at + KEY / 2:.1f}", cy=middle, r=4.5, class_=kind)
        else:
            yield tag("path", d=f"M{at:.1f} {middle}h{KEY}", class_=kind)
        yield label(at + KEY + 5, head + KEYS, told, "start")
        at += KEY + 5 + LETTER * len(told) + BETWEEN


def _curves(points: list[FrontierPoint], scale: _Scale) -> Iterator[Markup]:
    """Yield the best found, and the bound upon it.

    A placement may always load less than is allowed, so what was found holds from its point on. A
    bound is about all that load no more, so it holds up to its point.
    """
    if not points:
        return
    right = scale.width - RIGHT
    yield steps([(scale.x(p.moved_gb), scale.y(p.value)) for p in points], right, "value")
    starts = [LEFT, *(scale.x(point.moved_gb) for point in points[:-1])]
    bounds = [(x, scale.y(point.bound)) for x, point in zip(starts, points, strict=True)]
    yield steps(bounds, scale.x(points[-1].moved_gb), "bound")


def _step(most: float) -> float:
    """Return the distance of figures that people can read."""
    least = most / TICKS
    power: float = 10.0 ** floor(log10(least))
    return next(each * power for each in ROUND if each * power >= least * 0.999)


def _last(most: float) -> float:
    """Return the first round figure that is not below a value."""
    step = _step(most)
    return step * ceil(most / step * 0.999)


def _round_figures(most: float) -> list[float]:
    """Return the round figures from 0 to a value."""
    step = _step(most)
    return [round(step * number, 12) for number in range(floor(most / step * 1.001) + 1)]
