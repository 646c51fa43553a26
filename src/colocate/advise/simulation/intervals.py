"""Means over seeds, and how sure they are: 95% intervals by Student's t."""

from collections.abc import Sequence
from functools import cache
from math import atan, cos, pi, sin, sqrt
from statistics import fmean, stdev
from typing import NamedTuple

SURE = 0.95
"""The chance with which an interval holds the mean over all seeds."""
WIDEST, HALVINGS = 1000.0, 60
"""Where the search for a quantile begins, and how often it halves: to the last digit. With two
seeds the quantile is 12.7, and it falls with every further one."""


class Interval(NamedTuple):
    """A mean over seeds."""

    mean: float
    half: float | None = None
    """Half the width of its 95% interval; None if there was one seed."""

    @property
    def beyond_chance(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.half is not None and abs(self.mean) > self.half


def interval_of(values: Sequence[float]) -> Interval:
    """Return the mean of what independent seeds gave, one value or more."""
    if len(values) == 1:
        return Interval(float(values[0]))
    error = stdev(values) / sqrt(len(values))
    return Interval(fmean(values), student(len(values) - 1) * error)


@cache
def student(freedom: int) -> float:
    """Return the quantile of Student's t that bounds 95% on both sides.

    Parameters
    ----------
    freedom
        Degrees of freedom, at least 1: seeds less one.
    """
    low, high = 0.0, WIDEST
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _within(middle, freedom) < SURE else (low, middle)
    return high


def _within(t: float, freedom: int) -> float:
    """Return the chance of at most t on both sides (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = atan(t / sqrt(freedom))
    odd = freedom % 2
    term = cos(angle) if odd else 1.0
    total = term if freedom > 1 else 0.0
    for number in range(2 + odd, freedom - 1, 2):
        term *= (number - 1) / number * cos(angle) ** 2
        total += term
    return 2.0 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total
