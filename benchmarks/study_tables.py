"""What the study found: its tables, from the stored results alone."""

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FIGURES = {
    "pressure": "peak pressure",
    "busy": "busy share",
    "ratio": "worst ratio",
    "kept": "predicted goodput",
}
HIGHER_IS_BETTER = "kept"
OUTCOMES = {"goodput": "goodput", "attainment": "attainment", "worst": "worst model"}
PLANS = ("greedy", "bisection", "pressure plan", "first by latency", "latency plan")
REGIMES = ("short", "long", "mixed")
PUBLISHED = ("chatlmsys", "prism24")
MATTERS = 0.01
"""Placement matters where the best and the worst differ by more than this share of goodput."""
MISLED = 0.05
"""A figure misleads where it loses more than this share of goodput."""
SURE = 2.571
"""Standard errors of a mean of six streams within which it is, in 95 of 100 cases (Student's t)."""
RESAMPLED = 2000
"""Resampled sets of fleets behind an interval."""
SAME = 1e-6
"""Figures that differ by less than this share of each other are tied; they are stored with six
digits."""


@dataclass(frozen=True)
class StoredFleet:
    """What is stored of a fleet: a row for each placement in all arrays."""

    name: str
    regime: str
    sharing: str
    level: float
    facts: dict[str, str]
    names: tuple[tuple[str, ...], ...]
    figures: dict[str, Floats]
    """The lower the better, so predicted goodput has a minus."""
    outcomes: dict[str, Floats]
    """By placement and stream of requests."""
    waits: Floats

    def number_of(self, plan: str) -> int | None:
        """Return which placement a way to place found, None if it found none."""
        return next((row for row, names in enumerate(self.names) if plan in names), None)

    def best_by(self, figure: str) -> NDArray[np.int64]:
        """Return the placements that a figure likes best."""
        values = self.figures[figure]
        if not np.isfinite(values.min()):
            return np.arange(len(values))
        return np.flatnonzero(values <= values.min() + SAME * abs(values.min()))

    @property
    def spread(self) -> float:
        """How much goodput the worst placement loses against the best."""
        return self.regret([int(self.outcomes["goodput"].mean(axis=1).argmin())])

    @property
    def matters(self) -> bool:
        """Whether it makes a difference how the models are placed."""
        return self.spread > MATTERS

    def regret(self, chosen: Sequence[int] | NDArray[np.int64], what: str = "goodput") -> float:
        """Return what is lost against the best placement, as a share of what that one has.

        The best is chosen by one half of the streams and judged by the other.

        Parameters
        ----------
        chosen
            Placements, whose mean counts.
        what
            The outcome.
        """
        found = self.outcomes[what]
        halves = found[:, ::2].mean(axis=1), found[:, 1::2].mean(axis=1)
        lost, whole = 0.0, 0.0
        for choosing, judging in (halves, halves[::-1]):
            best = judging[choosing.argmax()]
            lost += best - judging[list(chosen)].mean()
            whole += best
        return float(lost / whole) if whole else 0.0


def stored_fleets(folder: Path) -> list[StoredFleet]:
    """Return what a folder holds."""
    rows: dict[str, list[dict[str, str]]] = {}
    with (folder / "study_placements.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rows.setdefault(row["fleet"], []).append(row)
    with (folder / "study_fleets.csv").open(newline="", encoding="utf-8") as file:
        return [_stored(facts, rows[facts["fleet"]]) for facts in csv.DictReader(file)]


def _stored(facts: dict[str, str], rows: list[dict[str, str]]) -> StoredFleet:
    figures = {name: np.array([float(row[name]) for row in rows]) for name in FIGURES}
    figures[HIGHER_IS_BETTER] *= -1.0
    streams = [column for column in rows[0] if column.startswith("goodput_")]
    outcomes = {
        name: np.array([[float(r[f"{name}_{n}"]) for n in range(len(streams))] for r in rows])
        for name in OUTCOMES
    }
    return StoredFleet(
        facts["fleet"],
        facts["regime"],
        facts["sharing"],
        float(facts["level"]),
        facts,
        tuple(tuple(row["names"].split("|")) for row in rows),
        figures,
        outcomes,
        np.array([float(row["waits"]) for row in rows]),
    )


def ranks(values: Floats) -> Floats:
    """Return ranks from 0 on, tied ones with their mean."""
    finite = np.where(np.isfinite(values), values, 1e300)
    below = (finite[None, :] < finite[:, None]).sum(axis=1)
    equal = (finite[None, :] == finite[:, None]).sum(axis=1)
    return np.asarray(below + (equal - 1) / 2.0)


def spearman(figure: Floats, outcome: Floats) -> float:
    """Return the rank correlation; 1 if the lowest figure has the highest outcome, and so on."""
    one, other = ranks(figure), ranks(-outcome)
    if np.ptp(one) == 0.0 or np.ptp(other) == 0.0:
        return float("nan")
    return float(np.corrcoef(one, other)[0, 1])


def kendall(figure: Floats, outcome: Floats) -> float:
    """Return Kendall's tau b: the same by pairs."""
    one, other = (np.sign(r[:, None] - r[None, :]) for r in (ranks(figure), ranks(-outcome)))
    pairs = np.sqrt(float((one != 0).sum()) * float((other != 0).sum()))
    return float((one * other).sum() / pairs) if pairs else float("nan")


def right_pairs(fleet: StoredFleet, figure: str, what: str) -> tuple[float, int]:
    """Return how many pairs of placements a figure has right, ties half, and how many there are.

    Only pairs count whose outcomes surely differ.

    Parameters
    ----------
    fleet
        Whose placements.
    figure, what
        The figure and the outcome.
    """
    values, found = fleet.figures[figure], fleet.outcomes[what]
    right, pairs = 0.0, 0
    for one in range(len(values)):
        gains = found[one] - found[one + 1 :]
        mean = gains.mean(axis=1)
        error = gains.std(axis=1, ddof=1) / np.sqrt(gains.shape[1])
        sure = np.abs(mean) > np.maximum(SURE * error, MATTERS * found.mean(axis=1).max())
        with np.errstate(invalid="ignore"):
            ahead = np.sign(np.nan_to_num(values[one + 1 :] - values[one], nan=0.0))
        right += float(((ahead * np.sign(mean) + 1.0) / 2.0)[sure].sum())
        pairs += int(sure.sum())
    return right, pairs


def interval(values: Iterable[float]) -> tuple[float, float, float]:
    """Return a mean, and between which values it is in 95 of 100 resampled sets of fleets."""
    found = np.array(list(values))
    rng = np.random.default_rng(0)
    means = found[rng.integers(len(found), size=(RESAMPLED, len(found)))].mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(found.mean()), float(low), float(high)


def as_good(fleet: StoredFleet, plan: str, other: str) -> bool | None:
    """Return whether a plan serves as well as another, within chance; None if one is missing.

    Parameters
    ----------
    fleet
        What was placed.
    plan, other
        Names of placements.
    """
    one, two = fleet.number_of(plan), fleet.number_of(other)
    if one is None or two is None:
        return None
    lost = fleet.outcomes["goodput"][two] - fleet.outcomes["goodput"][one]
    sure = SURE * lost.std(ddof=1) / np.sqrt(len(lost))
    return bool(lost.mean() <= max(sure, MATTERS * fleet.outcomes["goodput"][two].mean()))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"|{'|'.join(f' {cell} ' for cell in line)}|" for line in lines).replace(
        " --- ", "---"
    )


def percent(value: float) -> str:
    """Return a share as text."""
    return f"{100.0 * value:.1f}%"


def tables_of(folder: Path) -> str:
    """Return all tables of the study."""
    every = stored_fleets(folder)
    drawn = [fleet for fleet in every if fleet.regime in REGIMES]
    parts = {
        "What matters": matters_table(drawn),
        "Ranks": ranks_table([fleet for fleet in drawn if fleet.matters]),
        "Regrets": regret_table(drawn),
        "By regime": regime_table(drawn),
        "By level": level_table(drawn),
        "Plans": plan_table(drawn),
        "Published": published_table(every),
    }
    return "\n\n".join(f"## {title}\n\n{text}" for title, text in parts.items() if text)


def matters_table(fleets: Sequence[StoredFleet]) -> str:
    """Return how much placement matters at each level."""
    rows = []
    for level in sorted({fleet.level for fleet in fleets}):
        some = [fleet for fleet in fleets if fleet.level == level]
        spreads = [fleet.spread for fleet in some]
        best = [f.outcomes["goodput"].mean(axis=1).max() / float(f.facts["offered"]) for f in some]
        matter = sum(fleet.matters for fleet in some)
        cells = [f"{level:g}", f"{len(some)}", percent(float(np.mean(best))), f"{matter}"]
        rows.append([*cells, percent(float(np.median(spreads))), percent(max(spreads))])
    head = ("level", "fleets", "best placement: requests in time", "placement matters")
    return table((*head, "worst loses, median", "at most"), rows)


def ranks_table(fleets: Sequence[StoredFleet]) -> str:
    """Return how well each figure ranks the placements of fleets."""
    rows = []
    for figure, name in FIGURES.items():
        for what, told in OUTCOMES.items():
            means = [(f.figures[figure], f.outcomes[what].mean(axis=1)) for f in fleets]
            rho = np.array([spearman(*pair) for pair in means])
            tau = np.array([kendall(*pair) for pair in means])
            pairs = [right_pairs(fleet, figure, what) for fleet in fleets]
            right = sum(r for r, _ in pairs) / max(sum(n for _, n in pairs), 1)
            low, middle, high = np.nanquantile(rho, (0.25, 0.5, 0.75))
            cells = [name, told, f"{middle:.2f}", f"{low:.2f} to {high:.2f}"]
            rows.append([*cells, f"{np.nanmedian(tau):.2f}", percent(right)])
    return table(("figure", "outcome", "Spearman", "middle half", "Kendall", "right pairs"), rows)


def regrets(fleets: Sequence[StoredFleet], figure: str, what: str = "goodput") -> list[float]:
    """Return what is lost in each fleet by choosing with a figure.

    Parameters
    ----------
    fleets
        What was placed.
    figure, what
        The figure and the outcome.
    """
    return [fleet.regret(fleet.best_by(figure), what) for fleet in fleets]


def regret_table(fleets: Sequence[StoredFleet]) -> str:
    """Return what choosing by each figure loses."""
    rows = []
    for figure, name in FIGURES.items():
        lost = regrets(fleets, figure)
        rows.append([name, *_lost_cells(lost), *_others(fleets, figure)])
    blind = [fleet.regret(range(len(fleet.names))) for fleet in fleets]
    rows.append(["any placement, blindly", *_lost_cells(blind), "", ""])
    head = ("chosen by", "goodput lost", "95% interval", "p90", "worst", "more than 5%")
    return table((*head, "attainment lost", "of the worst model"), rows)


def _lost_cells(lost: Sequence[float]) -> list[str]:
    mean, low, high = interval(lost)
    p90, most = float(np.quantile(lost, 0.9)), max(lost)
    misled = float(np.mean(np.array(lost) > MISLED))
    between = f"{100.0 * low:.1f} to {percent(high)}"
    return [percent(mean), between, percent(p90), percent(most), percent(misled)]


def _others(fleets: Sequence[StoredFleet], figure: str) -> list[str]:
    return [
        percent(float(np.mean(regrets(fleets, figure, what)))) for what in ("attainment", "worst")
    ]


def _by(
    fleets: Sequence[StoredFleet], head: str, groups: dict[str, Callable[[StoredFleet], bool]]
) -> str:
    rows = []
    for name, belongs in groups.items():
        some = [fleet for fleet in fleets if belongs(fleet)]
        if not some:
            continue
        cells = [percent(float(np.mean(regrets(some, figure)))) for figure in FIGURES]
        rho = [
            np.nanmedian(
                [spearman(f.figures[figure], f.outcomes["goodput"].mean(axis=1)) for f in some]
            )
            for figure in FIGURES
        ]
        told = [f"{cell} ({r:.2f})" for cell, r in zip(cells, rho, strict=True)]
        rows.append([name, f"{len(some)}", *told])
    return table((head, "fleets", *FIGURES.values()), rows)


def regime_table(fleets: Sequence[StoredFleet]) -> str:
    """Return what each figure loses by regime and sharing, with its rank correlation."""
    groups: dict[str, Callable[[StoredFleet], bool]] = {
        f"{regime}, {sharing}": lambda f, r=regime, s=sharing: f.regime == r and f.sharing == s  # type: ignore[misc]
        for regime in REGIMES
        for sharing in ("slices", "mps")
    }
    return _by([fleet for fleet in fleets if fleet.matters], "regime", groups)


def level_table(fleets: Sequence[StoredFleet]) -> str:
    """Return the same by level."""
    levels = sorted({fleet.level for fleet in fleets})
    groups: dict[str, Callable[[StoredFleet], bool]] = {
        f"{level:g}": lambda f, at=level: f.level == at  # type: ignore[misc]
        for level in levels
    }
    return _by([fleet for fleet in fleets if fleet.matters], "level", groups)


def plan_table(fleets: Sequence[StoredFleet]) -> str:
    """Return what each way to place loses, and how often it is as good as the latency plan."""
    rows = []
    for plan in PLANS:
        some = [fleet for fleet in fleets if fleet.number_of(plan) is not None]
        lost = [fleet.regret([fleet.number_of(plan) or 0]) for fleet in some]
        good = [bool(as_good(fleet, plan, "latency plan")) for fleet in some]
        better = [not as_good(fleet, "latency plan", plan) for fleet in some]
        mean, low, high = interval(lost)
        cells = [plan, f"{len(some)}", percent(mean), f"{100 * low:.1f} to {percent(high)}"]
        cells += [percent(float(np.mean(np.array(lost) > MISLED)))]
        rows.append([*cells, percent(float(np.mean(good))), percent(float(np.mean(better)))])
    head = ("placed by", "fleets", "goodput lost", "95% interval", "more than 5%")
    return table((*head, "as good as the latency plan", "better than it"), rows)


def published_table(fleets: Sequence[StoredFleet]) -> str:
    """Return the same for the published fleets."""
    rows = []
    for regime in PUBLISHED:
        for level in sorted({fleet.level for fleet in fleets if fleet.regime == regime}):
            some = [f for f in fleets if f.regime == regime and f.level == level]
            spread = float(np.mean([fleet.spread for fleet in some]))
            named = [
                [fleet.regret([fleet.number_of(plan) or 0]) for fleet in some]
                for plan in ("greedy", "pressure plan", "latency plan")
            ]
            cells = [regime, f"{level:g}" if level else "as published", f"{len(some)}"]
            cells += [percent(spread), *(percent(float(np.mean(lost))) for lost in named)]
            rows.append(cells)
    head = ("fleet", "level", "runs", "worst placement loses", "greedy", "pressure plan")
    return table((*head, "latency plan"), rows) if rows else ""
