"""What is stored of the study, and the statistics of one fleet."""

import csv
from collections.abc import Iterable, Sequence
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
HIGHER_IS_BETTER = ("kept",)
OUTCOMES = {"goodput": "goodput", "attainment": "attainment", "worst": "worst model"}
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
    for name in HIGHER_IS_BETTER:
        figures[name] *= -1.0
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
