"""Draw the pictures of docs/study.md from the stored results of the study.

python -m docs.draw_study
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from benchmarks.study import DATA
from benchmarks.study_results import (
    FIGURES,
    HIGHER_IS_BETTER,
    Floats,
    StoredFleet,
    interval,
    spearman,
    stored_fleets,
)
from benchmarks.study_tables import KEEPS, REGIMES, regrets
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from colocate.outputs.page.figure import ALARM, FAINT, INK, SOFT, written_figure

HERE = Path(__file__).parent
LETTERS, SMALL, LARGE = 9.0, 8.0, 12.0
"""Points."""
SHOWN = ("pressure", "busy", "ratio", "kept")
"""The figures that are compared by regime."""
COLOURS = {"pressure": ALARM, "busy": "#c98a1b", "ratio": "#2b5ea8", "kept": "#2f7d4f"}
PLANS = {
    "greedy": ("greedy", "#8a8a85"),
    "pressure plan": ("pressure plan", ALARM),
    "latency plan": ("latency plan", "#2b5ea8"),
}
TOLD = {
    "short": "short prompts:\ncompute runs out",
    "mixed": "mixed",
    "long": "long prompts,\nlittle memory",
    "full": "long prompts, patient\nusers: cache runs out",
}
TOLD_LEVEL = {0.4: "(light)", 0.9: "(nearly full)", 1.4: "(overload)"}
EXAMPLES = ("pressure", "ratio", "kept")
"""The figures whose placements of one fleet are shown."""
HIGHEST = 3.0
"""The worst ratio that a picture tells from higher ones."""


def _figure_of_regrets(
    groups: dict[str, list[StoredFleet]], title: str, below: str, figures: Sequence[str] = SHOWN
) -> Figure:
    """Draw what is lost in groups of fleets.

    Parameters
    ----------
    groups
        The fleets, by what is written below them.
    title, below
        What is written above.
    figures
        By which placements are chosen.
    """
    figure = Figure(figsize=(9.0, 4.4), facecolor="white")
    axes = figure.add_axes((0.07, 0.13, 0.91, 0.66))
    for number, some in enumerate(groups.values()):
        for place, name in enumerate(figures):
            mean, low, high = interval(regrets(some, name))
            at = number + (place - 1.5) * 0.2
            axes.bar(at, max(mean, 0.0), width=0.18, color=COLOURS[name], zorder=2)
            axes.plot([at, at], [max(low, 0.0), high], color=INK, linewidth=0.9, zorder=3)
            told = f"{100 * max(mean, 0.0):.1f}"
            axes.text(at, high + 0.003, told, size=SMALL, color=INK, ha="center")
    axes.set_xticks(range(len(groups)), list(groups), size=LETTERS)
    axes.set_ylabel("goodput lost", size=LETTERS, color=INK)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    for place, name in enumerate(figures):
        told = f"■ {FIGURES[name]}"
        axes.text(0.005 + 0.19 * place, 1.04, told, size=LETTERS, color=COLOURS[name],
                  transform=axes.transAxes, weight="bold")  # fmt: skip
    _title(figure, title, below)
    _frame(axes)
    return figure


def _by_level(fleets: Sequence[StoredFleet]) -> Figure:
    levels = sorted({fleet.level for fleet in fleets})
    groups = {
        f"{level:g} {TOLD_LEVEL.get(level, '')}": [f for f in fleets if f.level == level]
        for level in levels
    }
    title = "What is lost by choosing a placement with one figure, from light load to overload"
    below = (
        "mean over the fleets of each level, against the best placement; lines are 95% intervals"
    )
    return _figure_of_regrets(groups, title, below)


def _by_regime(fleets: Sequence[StoredFleet]) -> Figure:
    groups = {
        TOLD[regime]: [f for f in fleets if f.regime == regime and f.level <= KEEPS]
        for regime in REGIMES
    }
    title = "The same by regime, where targets can be kept"
    below = "mean over the fleets of each regime at levels up to 0.9; lines are 95% intervals"
    return _figure_of_regrets(groups, title, below)


def _figure_of_plans(fleets: Sequence[StoredFleet]) -> Figure:
    figure = Figure(figsize=(9.0, 4.4), facecolor="white")
    axes = figure.add_axes((0.07, 0.13, 0.70, 0.68))
    for plan, (told, colour) in PLANS.items():
        lost = sorted((_lost(fleet, plan) for fleet in fleets), reverse=True)
        share = np.arange(len(lost) + 1) / len(lost)
        axes.step(share, [lost[0], *lost], where="pre", color=colour, linewidth=2.0)
        misled = float(np.mean(np.array(lost) > 0.05))
        at = list(PLANS).index(plan)
        axes.text(1.02, 0.85 - 0.22 * at, f"{told}:\nmore than 5% lost\nin {misled:.0%} of fleets",
                  size=LETTERS, color=colour, transform=axes.transAxes, va="center")  # fmt: skip
    axes.axhline(0.05, color=SOFT, linewidth=0.9, linestyle=(0, (5, 4)))
    axes.text(0.995, 0.056, "5%", size=SMALL, color=SOFT, ha="right")
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(0.0, None)
    axes.set_xlabel("share of fleets, worst first", size=LETTERS, color=INK)
    axes.set_ylabel("goodput lost", size=LETTERS, color=INK)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    _title(figure, "In how many fleets a plan loses how much",
           f"{len(fleets)} random fleets, against the best placement found of each")  # fmt: skip
    _frame(axes)
    return figure


def _lost(fleet: StoredFleet, plan: str) -> float:
    number = fleet.number_of(plan)
    assert number is not None, f"{fleet.name} has no {plan}"
    return max(fleet.regret([number]), 0.0)


def _figure_of_one(fleet: StoredFleet) -> Figure:
    figure = Figure(figsize=(9.0, 4.2), facecolor="white")
    offered = float(fleet.facts["offered"])
    kept = fleet.outcomes["goodput"].mean(axis=1) / offered
    for number, name in enumerate(EXAMPLES):
        axes = figure.add_axes((0.07 + 0.315 * number, 0.14, 0.275, 0.64))
        _draw_placements(axes, fleet, name, kept)
        if number:
            axes.set_yticklabels([])
        else:
            axes.set_ylabel("requests in time", size=LETTERS, color=INK)
    kinds = fleet.facts["kinds"].replace("x", " ")
    told = (
        f"{fleet.name}: {fleet.facts['models']} models on {kinds}, {offered:.1f} requests a second"
    )
    title = f"One fleet, {len(kept)} placements: what each figure chooses"
    _title(figure, title, f"{told}; each dot is a placement, the ring is the choice")
    return figure


def _draw_placements(axes: Axes, fleet: StoredFleet, name: str, kept: Floats) -> None:
    """Draw the placements of a fleet over one figure.

    Parameters
    ----------
    axes
        Where to.
    fleet
        Whose placements.
    name
        The figure.
    kept
        The share of requests in time of each placement.
    """
    better = -1.0 if name in HIGHER_IS_BETTER else 1.0
    shown = np.minimum(better * fleet.figures[name], HIGHEST)
    axes.scatter(shown, kept, s=34, color=COLOURS[name], alpha=0.55, linewidths=0, zorder=2)
    best = fleet.best_by(name)
    axes.scatter(shown[best], kept[best], s=120, facecolors="none", edgecolors=INK,
                 linewidths=1.6, zorder=3)  # fmt: skip
    where = (float(shown[best[0]]), float(kept[best].mean()))
    axes.annotate(f"{kept[best].mean():.0%}", where, xytext=(11, -17), size=LARGE, ha="left",
                  textcoords="offset points", color=INK, weight="bold")  # fmt: skip
    if name == "ratio":
        axes.set_xticks([0.0, 1.0, 2.0, HIGHEST], ["0", "1", "2", f"{HIGHEST:g} or more"])
    if better < 0.0:
        axes.invert_xaxis()
    rho = spearman(fleet.figures[name], kept)
    axes.set_xlabel(f"{FIGURES[name]} (rank correlation {rho:.2f})", size=SMALL, color=INK)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_ylim(max(kept.min() - 0.05, 0.0), 1.02)
    _frame(axes)


def typical(fleets: Sequence[StoredFleet]) -> StoredFleet:
    """Return the median one of the nearly full fleets in which pressure misleads."""
    lost = {fleet.name: fleet.regret(fleet.best_by("pressure")) for fleet in fleets}
    some = (f for f in fleets if lost[f.name] > 0.05 and f.level == KEEPS and len(f.names) == 20)
    misled = sorted(some, key=lambda f: lost[f.name])
    return misled[len(misled) // 2]


def _title(figure: Figure, title: str, below: str) -> None:
    figure.text(0.02, 0.93, title, size=LARGE, weight="bold", color=INK)
    figure.text(0.02, 0.875, below, size=LETTERS, color=SOFT)


def _frame(axes: Axes) -> None:
    axes.tick_params(labelsize=SMALL, colors=SOFT, length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)


def main(folder: Path = DATA, pictures: Path = HERE, form: str = "svg") -> None:
    """Draw them.

    Parameters
    ----------
    folder
        Of the stored results.
    pictures
        Where to.
    form
        `svg` or `png`.
    """
    fleets = [fleet for fleet in stored_fleets(folder) if fleet.regime in REGIMES]
    drawn = {
        "study_levels": partial(_by_level, fleets),
        "study_regimes": partial(_by_regime, fleets),
        "study_plans": partial(_figure_of_plans, fleets),
        "study_fleet": partial(_figure_of_one, typical(fleets)),
    }
    for name, draw in drawn.items():
        (pictures / f"{name}.{form}").write_bytes(written_figure(draw, form))


if __name__ == "__main__":
    main()
