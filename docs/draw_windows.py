"""Draw docs/windows_gain.svg from what `python -m benchmarks.windows_gain` has found.

python -m docs.draw_windows
"""

import csv
from pathlib import Path

from benchmarks.windows_gain import FOUND, WAYS
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from colocate.outputs.page.figure import ALARM, FAINT, INK, SOFT, written_figure

PICTURE = Path(__file__).parent / "windows_gain.svg"
COLOURS = {"windows": "#2b5ea8", "mean": ALARM, "peak": "#c98a1b"}
TOLD = {
    "windows": "planned over windows",
    "mean": "by each model's mean",
    "peak": "by each model's own peak",
}
THICK = 0.26
"""Of a bar; the bars of a fleet are one apart."""
LETTERS, SMALL = 9.0, 8.0
"""Points."""


def draw() -> Figure:
    """Return the picture: worst ratios on the left, requests that came too late on the right."""
    with FOUND.open() as file:
        rows = list(csv.DictReader(file))
    fleets = list(dict.fromkeys(row["fleet"] for row in rows))
    figure = Figure(figsize=(9.6, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for number, way in enumerate(WAYS):
        found = {row["fleet"]: row for row in rows if row["way"] == way}
        places = [place + (number - 1) * THICK for place in range(len(fleets))]
        _bars(left, places, [float(found[fleet]["ratio"]) for fleet in fleets], way)
        _bars(right, places, [1.0 - float(found[fleet]["in_time"]) for fleet in fleets], way)
    left.axvline(1.0, color=INK, linewidth=1.0)
    left.text(1.01, -0.62, "target", fontsize=SMALL, color=INK)
    left.set_xlabel("worst latency / target in any window", fontsize=LETTERS)
    left.set_yticks(range(len(fleets)), fleets, fontsize=LETTERS)
    left.set_ylim(len(fleets) - 0.45, -0.8)
    right.set_xlabel("requests too late, simulated", fontsize=LETTERS)
    right.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    for axes in (left, right):
        axes.tick_params(labelsize=SMALL, colors=SOFT, length=0)
        axes.grid(axis="x", color=FAINT, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
    handles, names = left.get_legend_handles_labels()
    figure.legend(
        handles, names, loc="outside upper left", ncols=3, frameon=False, fontsize=LETTERS
    )
    return figure


def _bars(axes: Axes, places: list[float], values: list[float], way: str) -> None:
    axes.barh(places, values, height=THICK * 0.9, color=COLOURS[way], label=TOLD[way])


if __name__ == "__main__":
    PICTURE.write_bytes(written_figure(draw, "svg"))
