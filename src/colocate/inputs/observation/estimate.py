"""Figures from counts over time, and how sure they are.

Every figure is a ratio of two sums over bins of time: requests over seconds, tokens over requests,
seconds over tokens. Its error comes from how the ratio differs between stretches of time, so it
holds where requests come in bursts and lengths change together, which counting requests alone
would not see (ratio estimator: Cochran 1977, "Sampling Techniques", chapter 6).
"""

from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from colocate.latency.calibration import NORMAL, student

Floats = NDArray[np.float64]

STRETCHES = 20
"""Stretches of time that are compared: long enough to be independent, enough for an error."""
LEAST_STRETCHES = 5
"""With fewer, the error is itself not known."""
NONE_SEEN = 3.0
"""Events that may be expected where none came, with 95% confidence: the rule of three."""


class BinTally(NamedTuple):
    """What was counted in each bin of time, and what it is divided by; NaN where unknown."""

    amount: Floats
    per: Floats


class Estimate(NamedTuple):
    """A figure that was measured."""

    value: float
    margin: float | None
    """Half of its 95% interval; None where there is too little to tell."""

    @property
    def low(self) -> float:
        """The lower end of its interval, not below 0; the figure itself if that is unknown."""
        return max(self.value - (self.margin or 0.0), 0.0)

    @property
    def high(self) -> float:
        """The upper end of its interval; the figure itself if that is unknown."""
        return self.value + (self.margin or 0.0)


def ratio_estimate(tally: BinTally) -> Estimate | None:
    """Return the ratio of two sums over time, None if nothing was counted."""
    amount, per = _known(tally)
    total = float(per.sum())
    if total <= 0.0:
        return None
    value = float(amount.sum()) / total
    number = min(STRETCHES, int((per > 0.0).sum()))
    if number < LEAST_STRETCHES:
        return Estimate(value, None)
    amounts, pers = (_stretches(each, number) for each in (amount, per))
    squares = float(((amounts - value * pers) ** 2).sum())
    error = sqrt(squares * number / (number - 1)) / total
    return Estimate(value, student(number - 1) * error)


def rate_estimate(tally: BinTally) -> Estimate | None:
    """Return events a second: at least as unsure as events that come independently are."""
    found = ratio_estimate(tally)
    if found is None:
        return None
    amount, per = _known(tally)
    events, seconds = max(float(amount.sum()), 0.0), float(per.sum())
    least = (NORMAL * sqrt(events) if events >= 1.0 else NONE_SEEN) / seconds
    return Estimate(max(found.value, 0.0), max(found.margin or 0.0, least))


def _known(tally: BinTally) -> tuple[Floats, Floats]:
    """Return the bins of which both sums are known."""
    known = np.isfinite(tally.amount) & np.isfinite(tally.per)
    return tally.amount[known], tally.per[known]


def _stretches(values: Floats, number: int) -> Floats:
    """Return the sums over so many stretches of time, as equal as can be."""
    edges = np.linspace(0, len(values), number + 1).astype(np.int64)[:-1]
    return np.add.reduceat(values, edges)
