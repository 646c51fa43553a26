"""Draw the picture of docs/living.md from the stored results, and print its tables.

python -m docs.draw_living
"""

import csv
from functools import partial
from pathlib import Path

from benchmarks.living_conditions import conditions
from benchmarks.living_fleets import HOUR, STORED
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
    """Return what was measured with the requests of the twenty conditions, a row for each."""
    known = {(row["condition"], *_requests_of(row)): row for row in _all_rows()}
    return [known[each.name, each.seed, each.seconds / HOUR] for each in conditions()]


def rows_of_other_requests() -> list[Row]:
    """Return what was measured with other requests of the same kinds, and for longer."""
    own = stored_rows()
    return [row for row in _all_rows() if row not in own]


def _all_rows() -> list[Row]:
    with STORED.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _requests_of(row: Row) -> tuple[int, float]:
    """Return the seed and the hours of a row."""
    return int(row["seed"]), float(row["hours"])


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
    lines += [f"| {row['condition']} | {_cells(row)} |" for row in rows]
    return "\n".join(lines)


def table_of_other_requests(rows: list[Row]) -> str:
    """Return the table of other requests and of longer times."""
    head = "| condition | hours | seed | best plan in hindsight | plan of the file | `watch` | "
    lines = [
        head + "against the best | loads | undone | every ten minutes | undone |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=lambda row: (float(row["hours"]), _number(row), int(row["seed"]))):
        asked = f"{row['condition']} | {float(row['hours']):g} | {row['seed']}"
        lines.append(f"| {asked} | {_cells(row)} |")
    return "\n".join(lines)


def _number(row: Row) -> int:
    """Return the number of a condition."""
    return int(row["condition"].split()[-1])


def _cells(row: Row) -> str:
    """Return what was measured, as cells of a table."""
    shares = [f"{float(row[name]):.1%}" for name in ("static", "file", "policy", "over_static")]
    followed = [*shares, row["loads"], row["undone"]]
    return " | ".join([*followed, f"{float(row['naive']):.1%}", row["naive_undone"]])


if __name__ == "__main__":
    stored = stored_rows()
    (HERE / "living.svg").write_bytes(written_figure(partial(figure_of, stored), "svg"))
    print(table_of(stored))
    print(table_of_other_requests(rows_of_other_requests()))
