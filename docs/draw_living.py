"""Draw the picture of docs/living.md from the stored results, and print its table.

python -m docs.draw_living
"""

import csv
from functools import partial
from pathlib import Path

from benchmarks.living_fleets import STORED
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from colocate.outputs.page.figure import ALARM, FAINT, INK, SOFT, written_figure

HERE = Path(__file__).parent
LETTERS, SMALL, LARGE = 9.0, 8.0, 12.0
"""Points."""
SHOWN = {
    "static": ("best plan in hindsight", INK, "|"),
    "file": ("plan of the fleet file, stays", SOFT, "o"),
    "naive": ("replan every ten minutes", ALARM, "X"),
    "policy": ("watch", "#2b5ea8", "D"),
}
PLACES = (-0.15, 0.15, 0.52, 0.86)
"""Where the marks of the ways are, as shares of the width."""
HIGH, GAP = 1.045, 0.015
"""Their height, as a share of that of the axes, and from a mark to its name."""

Row = dict[str, str]


def stored_rows() -> list[Row]:
    """Return what was measured, a row for each condition."""
    with STORED.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def figure_of(rows: list[Row]) -> Figure:
    """Draw the requests in time of all conditions."""
    figure = Figure(figsize=(9.0, 6.4), facecolor="white")
    axes = figure.add_axes((0.17, 0.08, 0.80, 0.76))
    for number, row in enumerate(rows):
        axes.plot([0.0, 1.0], [number, number], color=FAINT, linewidth=0.8, zorder=1)
        for name, (_, colour, mark) in SHOWN.items():
            axes.scatter(
                float(row[name]), number, s=_size(mark), color=colour, marker=mark, zorder=3
            )
    axes.set_yticks(range(len(rows)), [row["condition"] for row in rows], size=LETTERS)
    axes.invert_yaxis()
    lowest = min(float(row[name]) for row in rows for name in SHOWN)
    axes.set_xlim(max(lowest - 0.03, 0.0), 1.005)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_xlabel("requests in time", size=LETTERS, color=INK)
    for spine in ("top", "right", "left"):
        axes.spines[spine].set_visible(False)
    axes.tick_params(length=0, labelcolor=INK)
    for place, (told, colour, mark) in zip(PLACES, SHOWN.values(), strict=True):
        axes.scatter(place, HIGH, s=_size(mark), color=colour, marker=mark, clip_on=False,
                     transform=axes.transAxes)  # fmt: skip
        axes.text(place + GAP, HIGH, told, size=LETTERS, color=colour, va="center",
                  transform=axes.transAxes, weight="bold")  # fmt: skip
    figure.text(0.02, 0.95, "Twenty kinds of demand: what following it brings", size=LARGE,
                color=INK, weight="bold")  # fmt: skip
    figure.text(0.02, 0.915, "90 minutes of requests each, replayed on the same fleet in four ways",
                size=LETTERS, color=SOFT)  # fmt: skip
    return figure


def _size(mark: str) -> int:
    """Return the area of a mark; a tick has only a length."""
    return 130 if mark == "|" else 34


def table_of(rows: list[Row]) -> str:
    """Return the table of the page."""
    head = "| condition | best plan in hindsight | plan of the file | `watch` | against the best | "
    lines = [
        head + "loads | undone | every ten minutes | undone |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        shares = [f"{float(row[name]):.1%}" for name in ("static", "file", "policy")]
        lines.append(
            f"| {row['condition']} | {' | '.join(shares)} | {float(row['over_static']):.1%} | "
            f"{row['loads']} | {row['undone']} | {float(row['naive']):.1%} | "
            f"{row['naive_undone']} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    stored = stored_rows()
    (HERE / "living.svg").write_bytes(written_figure(partial(figure_of, stored), "svg"))
    print(table_of(stored))
