"""What was measured as a picture: rates over time, and which models peak together."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from colocate.inputs.observation.observation import Observation
from colocate.inputs.observation.together import Correlation
from colocate.outputs.observation.strips import DemandStrip, demand_strips, runs_of
from colocate.outputs.observation.words import basis_line, headline, when_line
from colocate.outputs.page.figure import FAINT, INK, SOFT, written_figure
from colocate.outputs.plan.fleet_bars import cut_in_middle
from colocate.outputs.text.sanitise import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE, ROW, LEAST_ROWS, HEAD, FOOT = 11.0, 0.26, 8, 0.95, 0.75
"""Inches: of the picture, of a strip, as many of them as there is room for at the least, and above
and below them."""
SQUARES = 2.5
"""Inches: of a side of the square of pairs."""
LETTERS, SMALL, LARGE = 9.0, 8.0, 12.0
"""Points."""
LINE, BAND = "#2b5ea8", "#c9d7ec"
LONGEST, NAME = 120, 22
"""Letters of a line at the top, and of a name."""
MOST_SQUARES = 40
"""Models of which the picture shows how alike they are."""


def observation_plot(observation: Observation, pairs: Sequence[Correlation], form: str) -> bytes:
    """Draw what was measured as `svg` or `png`; the same facts give the same bytes.

    Parameters
    ----------
    observation, pairs
        What was measured, and which models go together.
    form
        `svg` or `png`.

    Raises
    ------
    InputError
        If matplotlib is not installed.
    """
    return written_figure(partial(_figure, observation, pairs), form)


def _figure(observation: Observation, pairs: Sequence[Correlation]) -> "Figure":
    from matplotlib.figure import Figure  # noqa: PLC0415, an extra

    strips = demand_strips(observation)
    tall = HEAD + FOOT + ROW * max(len(strips), LEAST_ROWS)
    figure = Figure(figsize=(WIDE, tall), facecolor="white")
    low, high = FOOT / tall, (tall - HEAD - FOOT) / tall
    _draw_strips(figure.add_axes((0.13, low, 0.4, high)), strips, observation)
    names = [strip.model for strip in strips][:MOST_SQUARES]
    side = min(SQUARES, high * tall)
    box = (0.98 - side / WIDE, low + high - side / tall, side / WIDE, side / tall)
    _draw_squares(figure.add_axes(box), names, pairs)
    told = f"{when_line(observation)}; {basis_line(observation)}"
    lines = (
        (0.35, headline(observation), LARGE, "bold", INK),
        (0.58, told, LETTERS, "normal", SOFT),
    )
    for y, text, size, weight, shade in lines:
        figure.text(0.02, 1.0 - y / tall, one_line(text, LONGEST), size=size, weight=weight,
                    color=shade, parse_math=False)  # fmt: skip
    return figure


def _draw_strips(axes: "Axes", strips: Sequence[DemandStrip], observation: Observation) -> None:
    hours = observation.seconds >= 7200.0
    unit, name = (3600.0, "hours") if hours else (60.0, "minutes")
    end = observation.seconds / unit
    for number, strip in enumerate(strips):
        foot = len(strips) - 1 - number
        axes.axhline(foot, color=FAINT, linewidth=0.8)
        for first, last in runs_of(strip):
            edges = np.append(strip.begins, observation.seconds)[first : last + 2] / unit
            heights = 0.85 * strip.rates[first : last + 1] / (strip.peak or 1.0)
            axes.stairs(foot + heights, edges, baseline=foot, fill=True, color=BAND)
            axes.stairs(foot + heights, edges, baseline=None, color=LINE, linewidth=0.8)
        axes.text(end * 1.01, foot + 0.2, strip.told, size=SMALL, color=SOFT, parse_math=False)
    axes.set_xlim(0.0, end)
    axes.set_ylim(-0.1, max(len(strips), 1))
    names = [cut_in_middle(one_line(strip.model), NAME) for strip in reversed(strips)]
    axes.set_yticks([number + 0.3 for number in range(len(strips))])
    axes.set_yticklabels(names, size=SMALL, color=INK, parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=SMALL, colors=SOFT)
    axes.set_xlabel(f"{name}; each model to the height of its own peak", size=SMALL, color=SOFT)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(SOFT)


def _draw_squares(axes: "Axes", names: Sequence[str], pairs: Sequence[Correlation]) -> None:
    """Draw how alike the rates of each two models go; clear pairs have a dot."""
    told = [name for name in names if any(name in (pair.first, pair.second) for pair in pairs)]
    places = {name: place for place, name in enumerate(told)}
    grid = np.full((len(told), len(told)), np.nan)
    for pair in pairs:
        if pair.first in places and pair.second in places:
            one, other = places[pair.first], places[pair.second]
            grid[one, other] = grid[other, one] = pair.value
            if pair.clear:
                axes.plot([one, other], [other, one], ".", color=INK, markersize=3.0)
    title = "which peak together: blue alike, red opposite,\na dot where it is no chance"
    axes.set_title(title, size=SMALL, color=SOFT, loc="left")
    for side in axes.spines.values():
        side.set_color(FAINT)
    axes.tick_params(length=0)
    axes.set_xticks([])
    axes.set_yticks(range(len(told)))
    axes.set_yticklabels([cut_in_middle(one_line(name), NAME) for name in told], size=SMALL - 1,
                         color=SOFT, parse_math=False)  # fmt: skip
    if told:
        axes.imshow(grid, cmap="RdBu", vmin=-1.0, vmax=1.0, interpolation="nearest")
    else:
        axes.set_yticks([])
        axes.text(0.5, 0.5, "too few requests to tell", ha="center", size=SMALL, color=SOFT,
                  transform=axes.transAxes)  # fmt: skip
