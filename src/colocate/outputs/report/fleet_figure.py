"""The fleet as stacked bars of memory, with the pressure of every GPU beside its bar."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from colocate.outputs.page.frame import legend, note
from colocate.outputs.page.markup import Markup, tag
from colocate.outputs.plan.fleet_bars import Bar, BarPart, Bars, cut_in_middle
from colocate.outputs.report.gauge import colouring, described, gauge
from colocate.outputs.text.sanitise import LONGEST_NAME, one_line
from colocate.outputs.text.wording import gigabytes

LEGIBLE_FREE = 0.12
"""The share of the longest bar that an amount needs."""
LETTERS, LETTERS_NARROW = 100, 40
"""Letters that the longest bar has room for, on a wide screen and on that of a phone."""
PADDING, ENOUGH = 2, 9
"""Letters that the edges of a tile take, and those of a cut name that can still be recognised."""
LONGEST_COLUMN = 22
"""Letters of the names beside the bars; longer ones are cut."""
KEYS = (
    ("models", "models, each in its colour"),
    ("free", "free memory: KV cache"),
    ("reserve", "kept in reserve"),
    ("worst", "the highest, marked ◀"),
)
READING = (
    "All bars of memory have one scale. Pressure is load over free memory; its bar is relative to "
    "the highest."
)
READING_BY_LATENCY = (
    "All bars of memory have one scale. Beside them is the worst latency on each GPU over its "
    "target; its bar is relative to the highest."
)


def fleet_figure(bars: Bars) -> Markup:
    """Draw all GPUs, those of a node together."""
    groups = (
        _group(node, tuple(members), bars)
        for node, members in groupby(_by_node(bars.drawn), key=lambda bar: bar.gpu.node)
    )
    reserved = any(bar.reserve_gb for bar in bars.drawn)
    keys = legend((kind, text) for kind, text in KEYS if kind != "reserve" or reserved)
    rest = [note(bars.rest)] if bars.rest else []
    longest = max(len(bar.gpu.name) for bar in bars.drawn)
    return tag(
        "figure",
        *groups,
        tag("figcaption", keys, *rest, note(READING_BY_LATENCY if bars.by_latency else READING)),
        class_="fleet",
        style=f"--names:{min(longest, LONGEST_COLUMN + 1)}ch",
    )


def _by_node(bars: tuple[Bar, ...]) -> list[Bar]:
    """Return the bars of each node in a row, nodes in the order in which they come."""
    order = {node: place for place, node in enumerate(dict.fromkeys(b.gpu.node for b in bars))}
    return sorted(bars, key=lambda bar: order[bar.gpu.node])


def _group(node: str, members: Sequence[Bar], bars: Bars) -> Markup:
    """Draw the GPUs of a node, and say how many it has in all."""
    rows = tag("ul", *(_row(bar, bars.largest_gb) for bar in members), class_="gpus")
    everywhere = (*bars.drawn, *bars.left_out)
    if all(not bar.gpu.node for bar in everywhere):
        return rows
    here = [bar for bar in everywhere if bar.gpu.node == node]
    kinds = Counter(bar.gpu.kind or gigabytes(bar.memory_gb) for bar in here)
    told = ", ".join(f"{count} × {one_line(kind, LONGEST_NAME)}" for kind, count in kinds.items())
    hidden = len(here) - len(members)
    name = one_line(node, LONGEST_NAME) or "on no named node"
    small = tag("small", f"{told}, {hidden} not shown" if hidden else told)
    return tag("div", tag("h3", name, " ", small), rows, class_="node")


def _row(bar: Bar, largest_gb: float) -> Markup:
    name = one_line(bar.gpu.name)
    return tag(
        "li",
        tag("span", cut_in_middle(name, LONGEST_COLUMN), class_="name", title=name),
        tag("span", _bar(bar, largest_gb), *_beside(bar, largest_gb), class_="track"),
        tag("span", bar.shown, " ◀" if bar.worst else "", class_="pressure"),
        gauge(bar.of_peak, bar.worst),
        class_="gpu worst" if bar.worst else "gpu",
    )


def _bar(bar: Bar, largest_gb: float) -> Markup:
    told = f"{gigabytes(bar.used_gb)} of {gigabytes(bar.gpu.memory_gb)} held by models"
    return tag(
        "span",
        *_segments(bar, largest_gb),
        class_="bar",
        style=f"width:{100 * bar.memory_gb / largest_gb:.2f}%",
        role="img",
        aria_label=told,
    )


def _segments(bar: Bar, largest_gb: float) -> Iterator[Markup]:
    for part in bar.largest:
        yield _segment(
            bar,
            part.size_gb,
            _label(part) if _has_room(part, largest_gb, LETTERS) else [],
            "part",
            described(part),
            colouring(part),
        )
    if others := bar.others:
        size = sum(part.size_gb for part in others)
        yield _segment(bar, size, [f"+{len(others)}"], "others", f"{len(others)} smaller models")
    free = f"{gigabytes(bar.free_gb)} free"
    label = [tag("span", free)] if bar.free_gb >= LEGIBLE_FREE * largest_gb else []
    yield _segment(bar, bar.free_gb, label, "free", f"{free} for KV cache")
    if bar.reserve_gb:
        told = f"{gigabytes(bar.reserve_gb)} kept in reserve"
        yield _segment(bar, bar.reserve_gb, [], "reserve", told)


def _segment(
    bar: Bar, size_gb: float, label: Sequence[str], kind: str, told: str, style: str = ""
) -> Markup:
    width = f"width:{100 * size_gb / max(bar.memory_gb, size_gb):.3f}%"
    return tag("span", *label, class_=kind, title=told, style=f"{width};{style}".rstrip(";"))


def _has_room(part: BarPart, largest_gb: float, letters: int) -> bool:
    """Return whether the tile of a model has room for its label, in a bar of so many letters."""
    needed = min(len(part.name), ENOUGH) + len(part.which)
    return letters * part.size_gb / largest_gb >= needed + PADDING


def _beside(bar: Bar, largest_gb: float) -> Iterator[Markup]:
    """Name the models whose tiles are too small for a label, below the bar of their GPU."""
    names = [
        tag(
            "span",
            tag("span", class_="swatch", style=colouring(part)),
            *_label(part),
            class_="narrow" if _has_room(part, largest_gb, LETTERS) else "always",
            title=described(part),
        )
        for part in bar.largest
        if not _has_room(part, largest_gb, LETTERS_NARROW)
    ]
    if names:
        yield tag("span", *names, class_="beside")


def _label(part: BarPart) -> list[Markup]:
    """Name a model; which replica or shard it is stays visible where the name is cut."""
    which = [tag("span", part.which, class_="which")] if part.which else []
    return [tag("span", one_line(part.name, LONGEST_NAME)), *which]
