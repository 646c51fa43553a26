"""The latency of every model as a bar against its target: alone, and what its neighbours add."""

from colocate.outputs.page.frame import legend, note
from colocate.outputs.page.markup import Markup, tag
from colocate.outputs.plan.fleet_bars import cut_in_middle
from colocate.outputs.plan.latency_bars import LatencyBar, LatencyBars
from colocate.outputs.report.fleet_figure import LONGEST_COLUMN
from colocate.outputs.text.sanitise import one_line

KEYS = (
    ("alone", "alone on its GPUs"),
    ("added", "added by its neighbours"),
    ("missed", "of a model that misses its target"),
    ("target", "the target"),
)
READING = (
    "Each bar is the predicted latency of a model over its target, by its worst replica. Times are "
    "for each output token, or to the first one for a model that makes no others."
)


def latency_figure(bars: LatencyBars) -> Markup:
    """Draw the latencies, worst first."""
    missed = any(bar.misses for bar in bars.drawn)
    keys = legend((kind, text) for kind, text in KEYS if kind != "missed" or missed)
    rest = [note(bars.rest)] if bars.rest else []
    longest = max(len(bar.worst.model) for bar in bars.drawn)
    return tag(
        "figure",
        tag("ul", *(_row(bar, bars) for bar in bars.drawn), class_="gpus"),
        tag("figcaption", keys, *rest, note(READING)),
        class_="latencies",
        style=f"--names:{min(longest, LONGEST_COLUMN + 1)}ch",
    )


def _row(bar: LatencyBar, bars: LatencyBars) -> Markup:
    name = one_line(bar.worst.model)
    return tag(
        "li",
        tag("span", cut_in_middle(name, LONGEST_COLUMN), class_="name", title=name),
        _track(bar, bars),
        tag("span", bar.figure, class_="pressure"),
        tag("small", bar.told),
        class_="gpu latency worst" if bar.misses else "gpu latency",
    )


def _track(bar: LatencyBar, bars: LatencyBars) -> Markup:
    alone, whole = bars.share(bar.alone), bars.share(bar.ratio)
    return tag(
        "span",
        tag("span", class_="alone over" if bar.alone > 1.0 else "alone", style=_width(alone)),
        tag("span", class_="added", style=_width(whole - alone)),
        tag("span", class_="target", style=f"left:{100 * bars.share(1.0):.2f}%"),
        class_="track versus",
        role="img",
        aria_label=f"{bar.figure} of its target",
    )


def _width(share: float) -> str:
    return f"width:{100 * share:.2f}%"
