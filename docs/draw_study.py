"""Draw the pictures of docs/study.md from the stored results of the study.

python -m docs.draw_study
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from benchmarks.study import DATA
from benchmarks.study_results import FIGURES, StoredFleet, interval, spearman, stored_fleets
from benchmarks.study_tables import REGIMES, regrets
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from colocate.outputs.page.figure import ALARM, FAINT, INK, SOFT, written_figure

HERE = Path(__file__).parent
LETTERS, SMALL, LARGE = 9.0, 8.0, 12.0
"""Points."""
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
EXAMPLES = ("pressure", "ratio")
"""The figures whose placements of one fleet are shown."""


def _figure_of_regrets(fleets: Sequence[StoredFleet]) -> Figure:
    figure = Figure(figsize=(9.0, 4.4), facecolor="white")
    axes = figure.add_axes((0.07, 0.13, 0.91, 0.66))
    for number, regime in enumerate(REGIMES):
        some = [fleet for fleet in fleets if fleet.regime == regime]
        for place, name in enumerate(FIGURES):
            mean, low, high = interval(regrets(some, name))
            at = number + (place - 1.5) * 0.2
            axes.bar(at, max(mean, 0.0), width=0.18, color=COLOURS[name], zorder=2)
            axes.plot([at, at], [max(low, 0.0), high], color=INK, linewidth=0.9, zorder=3)
            axes.text(
                at, high + 0.002, f"{100 * max(mean, 0.0):.1f}", size=SMALL, color=INK, ha="center"
            )
    axes.set_xticks(range(len(REGIMES)), [TOLD[regime] for regime in REGIMES], size=LETTERS)
    axes.set_ylabel("goodput lost", size=LETTERS, color=INK)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    for place, (name, told) in enumerate(FIGURES.items()):
        axes.text(0.005 + 0.19 * place, 1.04, f"■ {told}", size=LETTERS, color=COLOURS[name],
                  transform=axes.transAxes, weight="bold")  # fmt: skip
    below = "against the best placement found, mean over 60 fleets each; lines are 95% intervals"
    _title(figure, "What is lost by choosing a placement with one figure", below)
    _frame(axes)
    return figure


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
        axes = figure.add_axes((0.07 + 0.48 * number, 0.14, 0.41, 0.64))
        values = fleet.figures[name]
        finite = values[np.isfinite(values)]
        shown = np.where(np.isfinite(values), values, 1.25 * finite.max())
        axes.scatter(shown, kept, s=34, color=COLOURS[name], alpha=0.55, linewidths=0, zorder=2)
        best = fleet.best_by(name)
        axes.scatter(shown[best], kept[best], s=120, facecolors="none", edgecolors=INK,
                     linewidths=1.6, zorder=3)  # fmt: skip
        where = (float(shown[best[0]]), float(kept[best].mean()))
        axes.annotate(f"chosen: {kept[best].mean():.0%}", where, xytext=(12, -4), size=LETTERS,
                      textcoords="offset points", color=INK, weight="bold")  # fmt: skip
        if len(finite) < len(values):
            ticks = [tick for tick in axes.get_xticks() if 0.0 <= tick <= finite.max()]
            axes.set_xticks(
                [*ticks, 1.25 * finite.max()], [*(f"{t:g}" for t in ticks), "queue grows"]
            )
        rho = spearman(values, kept)
        told = f"{FIGURES[name]} (rank correlation {rho:.2f})"
        axes.set_xlabel(told, size=LETTERS, color=INK)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        axes.set_ylim(kept.min() - 0.05, 1.02)
        if not number:
            axes.set_ylabel("requests in time", size=LETTERS, color=INK)
        _frame(axes)
    kinds = fleet.facts["kinds"].replace("x", " ")
    told = (
        f"{fleet.name}: {fleet.facts['models']} models on {kinds}, {offered:.0f} requests a second"
    )
    title = f"One fleet, {len(kept)} placements: what each figure chooses"
    _title(figure, title, f"{told}; each dot is a placement")
    return figure


def typical(fleets: Sequence[StoredFleet]) -> StoredFleet:
    """Return the fleet in which pressure misleads as it does when it misleads: the median one."""
    lost = {fleet.name: fleet.regret(fleet.best_by("pressure")) for fleet in fleets}
    misled = sorted((f for f in fleets if lost[f.name] > 0.05), key=lambda f: lost[f.name])
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
        "study_regrets": partial(_figure_of_regrets, fleets),
        "study_plans": partial(_figure_of_plans, fleets),
        "study_fleet": partial(_figure_of_one, typical(fleets)),
    }
    for name, draw in drawn.items():
        (pictures / f"{name}.{form}").write_bytes(written_figure(draw, form))


if __name__ == "__main__":
    main()
