"""The pressure over the number of GPUs, or over the price, as a picture.

Each mix that was tried is a point at the lowest pressure found, above its bound: between
the bound and the point lies the optimum. Where latency targets alone decide, the worst ratio of a
latency to its target takes the place of the pressure.
"""

from functools import partial
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from colocate.advise.capacity.objective import By
from colocate.advise.capacity.trials import Decision, MixTrial
from colocate.outputs.capacity.words import CapacityReport, headline, proof
from colocate.outputs.page.figure import ALARM, FAINT, INK, SOFT, written_figure
from colocate.outputs.plan.words import as_sentence
from colocate.outputs.text.sanitise import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (8.0, 5.2)
"""Inches."""
LETTERS, SMALL, LARGE = 9.0, 8.5, 12.0
"""Points."""
LINE, BAND, TARGET = "#2b5ea8", "#c9d7ec", "#2f7d4f"
WIDE = 50.0
"""Where the highest pressure is more than so many times the lowest, the scale is logarithmic."""
LONGEST = 110
"""Letters of a line at the top."""
MOST_ROWS = 3
"""Rows of the legend that there is room for."""


class _Point(NamedTuple):
    """A mix in the picture."""

    x: float
    trial: MixTrial


def capacity_plot(report: CapacityReport, form: str) -> bytes:
    """Draw an answer as `svg` or `png`; the same answer gives the same bytes.

    Raises
    ------
    InputError
        If matplotlib is not installed.
    """
    return written_figure(partial(_figure, report), form)


def _figure(report: CapacityReport) -> "Figure":
    from matplotlib.figure import Figure  # noqa: PLC0415, an extra

    figure = Figure(figsize=SIZE, facecolor="white")
    _draw(figure.add_axes((0.1, 0.24, 0.86, 0.59)), report)
    return figure


def _draw(axes: "Axes", report: CapacityReport) -> None:
    points = _points(report)
    found = [point for point in points if isfinite(point.trial.value)]
    if len(report.kinds) == 1:
        _draw_line(axes, found, _noun(report))
    else:
        _draw_ranges(axes, found, _noun(report))
    _draw_points(axes, report, found)
    without = [point.x for point in points if not isfinite(point.trial.value)]
    target = _target(report)
    label = f"asked for: {target:.6g} or less"
    axes.axhline(target, color=TARGET, linestyle=(0, (5, 4)), linewidth=1.4, label=label)
    _scale(axes, report, found)
    if without:
        top = [0.97] * len(without)
        label = "no placement, or an endless queue" if report.by_ratio else "no placement"
        axes.plot(without, top, "x", color=ALARM, transform=axes.get_xaxis_transform(),
                  clip_on=False, label=label)  # fmt: skip
    _write(axes, report)


def _noun(report: CapacityReport) -> str:
    return "ratio" if report.by_ratio else "pressure"


def _target(report: CapacityReport) -> float:
    return 1.0 if report.by_ratio else report.answer.target


def _points(report: CapacityReport) -> list[_Point]:
    points = []
    for trial in report.answer.trials:
        price = report.price(trial.mix)
        x = float(report.total(trial.mix)) if report.by is By.GPUS else price
        if x is not None:
            points.append(_Point(x, trial))
    return sorted(points, key=lambda point: (point.x, -point.trial.value))


def _draw_line(axes: "Axes", points: list[_Point], noun: str) -> None:
    """Draw the pressure of one kind over its number, and the band between it and the bounds.

    The line is broken where a number in between was not tried.
    """
    label: str | None = f"between bound and {noun}"
    for left, right in pairwise(points):
        step = right.x - left.x
        usual = min(b.x - a.x for a, b in pairwise(points))
        if step > usual * 1.5:
            continue
        xs = [left.x, right.x]
        high = [left.trial.value, right.trial.value]
        low = [left.trial.bound, right.trial.bound]
        axes.fill_between(xs, low, high, color=BAND, linewidth=0, label=label)
        axes.plot(xs, high, color=LINE, linewidth=1.6)
        label = None


def _draw_ranges(axes: "Axes", points: list[_Point], noun: str) -> None:
    """Draw for each mix where its optimum lies."""
    xs = [point.x for point in points]
    low = [point.trial.bound for point in points]
    high = [point.trial.value for point in points]
    axes.vlines(xs, low, high, color=BAND, linewidth=4, label=f"between bound and {noun}")


def _draw_points(axes: "Axes", report: CapacityReport, points: list[_Point]) -> None:
    lowest = f"lowest {_noun(report)} found"
    names = {
        Decision.REACHED: (f"{lowest}, low enough", LINE, LINE),
        Decision.EXCLUDED: (f"{lowest}, proven too high", "white", ALARM),
        Decision.OPEN: (f"{lowest}, too high so far", "white", SOFT),
    }
    for verdict, (label, face, edge) in names.items():
        some = [p for p in points if p.trial.decision is verdict]
        if some:
            axes.plot([p.x for p in some], [p.trial.value for p in some], "o", markersize=5.5,
                      markerfacecolor=face, markeredgecolor=edge, label=label)  # fmt: skip
    best = [point for point in points if report.is_best(point.trial)]
    for point in best:
        axes.plot(point.x, point.trial.value, "o", markersize=13, markerfacecolor="none",
                  markeredgecolor=INK, markeredgewidth=1.4, label="the answer")  # fmt: skip


def _scale(axes: "Axes", report: CapacityReport, points: list[_Point]) -> None:
    """Choose scales on which the answer and its neighbours can be told apart."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator  # noqa: PLC0415, an extra

    values = [point.trial.value for point in points] + [_target(report)]
    lowest, highest = min((v for v in values if v > 0.0), default=1.0), max(values) or 1.0
    if highest > WIDE * lowest:
        axes.set_yscale("log")
        axes.set_ylim(lowest / 1.5, highest * 2.0)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        axes.set_ylim(0.0, highest * 1.12)
    if report.by is By.GPUS:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))
        axes.margins(x=0.06)


def _write(axes: "Axes", report: CapacityReport) -> None:
    axes.set_xlabel(
        "GPUs" if report.by is By.GPUS else "US dollars per hour", size=LETTERS, color=INK
    )
    value = "worst latency / target" if report.by_ratio else "peak pressure"
    axes.set_ylabel(value, size=LETTERS, color=INK)
    axes.tick_params(labelsize=SMALL, colors=SOFT)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(SOFT)
    axes.grid(color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    lines = [(1.15, headline(report), LARGE, "bold", INK)]
    if report.answer.best:
        lines.append((1.07, proof(report), LETTERS, "normal", SOFT))
    for y, text, points, weight, shade in lines:
        axes.text(-0.06, y, one_line(as_sentence(text), LONGEST), transform=axes.transAxes,
                  size=points, weight=weight, color=shade, parse_math=False)  # fmt: skip
    columns = 2 if len(axes.get_legend_handles_labels()[1]) <= 2 * MOST_ROWS else 3
    axes.legend(fontsize=SMALL, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.17),
                ncols=columns)  # fmt: skip
