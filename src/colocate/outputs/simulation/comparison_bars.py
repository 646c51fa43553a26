"""Placements beside each other: goodput and requests in time, with their intervals."""

from collections.abc import Iterator, Sequence

from colocate.advise.simulation.comparison import SimulatedWay
from colocate.advise.simulation.intervals import Interval
from colocate.outputs.page.frame import legend, note
from colocate.outputs.page.markup import Markup, tag
from colocate.outputs.page.svg import label, picture
from colocate.outputs.plan.fleet_bars import cut_in_middle
from colocate.outputs.simulation.words import rate_interval, share_interval
from colocate.outputs.text.sanitise import one_line

WIDE, NARROW = 912, 360
"""Widths of the figure, since letters that shrink with it could not be read."""
ROW, BAR, TOP = 34, 16, 30
"""Points: of a row, of a bar, and above the first row."""
LETTERS = 26
"""Of the longest name that has room."""
ROOM = 1.08
"""Of a bar beyond the longest one, for the end of its interval."""


def comparison_figure(ways: Sequence[SimulatedWay]) -> Markup:
    """Draw the goodput of every way, and its share of requests in time."""
    pictures = [_draw(ways, name, width) for name, width in (("wide", WIDE), ("narrow", NARROW))]
    several = len(ways[0].found.runs) > 1
    keys = [legend([("whisker", "95% interval over seeds")])] if several else []
    told = "The same requests on every placement. Differences are judged seed by seed, so they can "
    told += "be certain where these intervals overlap."
    return tag("figure", *pictures, tag("figcaption", *keys, *([note(told)] if several else [])))


def _draw(ways: Sequence[SimulatedWay], name: str, width: int) -> Markup:
    wide = name == "wide"
    goodputs, shares = [w.found.goodput for w in ways], [w.found.attainment for w in ways]
    columns = (
        ("goodput, requests a second", goodputs, [rate_interval(each) for each in goodputs]),
        ("requests in time", shares, [share_interval(each) for each in shares]),
    )
    left, gap = (200.0, 24.0) if wide else (0.0, 16.0)
    room = (width - left - gap) / 2
    row = ROW if wide else ROW + 20
    parts: list[Markup] = []
    for number, (title, values, texts) in enumerate(columns):
        x = left + number * (room + gap)
        parts.append(label(x, 14, title if wide else title.split(",")[0], "start", "name"))
        longest = ROOM * max(each.mean + (each.half or 0.0) for each in values) or 1.0
        for place, (value, text) in enumerate(zip(values, texts, strict=True)):
            y = TOP + row * place + (0 if wide else 20)
            parts += _bar(value, text, (x, y), room - 84.0, longest)
    for place, way in enumerate(ways):
        y = TOP + row * place + (13 if wide else 12)
        parts.append(label(0, y, cut_in_middle(one_line(way.name), LETTERS), "start", "name"))
    told = "; ".join(
        f"{one_line(way.name)}: {goodput} a second, {share} in time"
        for way, goodput, share in zip(ways, columns[0][2], columns[1][2], strict=True)
    )
    size = (width, TOP + row * len(ways) + 4)
    return picture(f"{name} compared-{name}", size, "Placements beside each other", told, *parts)


def _bar(
    value: Interval, text: str, at: tuple[float, float], room: float, longest: float
) -> Iterator[Markup]:
    """Yield a bar, its interval, and its value.

    Parameters
    ----------
    value, text
        What it shows, in figures and as text.
    at
        Where it begins: left and top.
    room
        How wide the longest may be.
    longest
        The value that would be as wide.
    """
    x, y = at
    end = x + room * max(value.mean, 0.0) / longest
    yield tag("path", d=f"M{x:.1f} {y}H{end:.1f}V{y + BAR}H{x:.1f}z", class_="within")
    reach = end
    if value.half:
        half = room * value.half / longest
        low, reach = max(end - half, x), end + half
        middle = y + BAR / 2
        ends = "".join(f"M{each:.1f} {middle - 4}V{middle + 4}" for each in (low, reach))
        yield tag("path", d=f"M{low:.1f} {middle}H{reach:.1f}{ends}", class_="whisker")
    yield label(reach + 6, y + BAR - 4, text, "start", "figure")
