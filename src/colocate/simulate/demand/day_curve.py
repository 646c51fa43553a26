"""How demand rises and falls over a day."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import pi, sin
from typing import Self

import numpy as np

from colocate.errors import InputError
from colocate.problem.quantity import checked_number
from colocate.simulate.demand.requests import Floats

DAY = 86_400.0
"""Seconds."""
HOURS = 24.0
INTERVALS = 288
"""Of a smooth curve: in five minutes no rate changes by more than about 2% of its mean."""
MOST_FACTORS = 86_400
"""Of a curve: one for each second."""


@dataclass(frozen=True)
class DayCurve:
    """Factors by which requests are more or fewer than on average, over and over each day.

    Parameters
    ----------
    factors
        One for each part of the day from midnight on, all parts equally long: 24 are hours. At a
        factor of 1 a model has its own rate.
    begin_hour
        The time of day at which requests begin.
    """

    factors: tuple[float, ...]
    begin_hour: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < len(self.factors) <= MOST_FACTORS:
            expected = f"1 to {MOST_FACTORS} factors"
            raise InputError.of("factors", len(self.factors), expected)
        factors = tuple(
            checked_number(factor, ("factors", number))
            for number, factor in enumerate(self.factors)
        )
        if not 0.0 < sum(factors) < np.inf:
            raise InputError.of("factors", factors, "finite, and more than 0 at some time of day")
        begin = checked_number(self.begin_hour, ("begin_hour",))
        if begin >= HOURS:
            raise InputError.of("begin_hour", begin, "from 0 to less than 24")
        object.__setattr__(self, "factors", factors)
        object.__setattr__(self, "begin_hour", begin)

    @classmethod
    def smooth(cls, peak_to_mean: float, peak_hour: float = 14.0, begin_hour: float = 0.0) -> Self:
        """Return a sinusoid whose mean is the rate of each model.

        Parameters
        ----------
        peak_to_mean
            How many times the mean the highest rate is: 1 (always the same) to 2 (at night none).
        peak_hour
            The time of day that has it.
        begin_hour
            The time of day at which requests begin.
        """
        peak = checked_number(peak_to_mean, ("peak_to_mean",))
        if not 1.0 <= peak <= 2.0:
            raise InputError.of("peak_to_mean", peak, "from 1 to 2")
        hour = checked_number(peak_hour, ("peak_hour",))
        turns = [2.0 * pi * (step / INTERVALS - hour / HOURS) for step in range(INTERVALS + 1)]
        swing = (peak - 1.0) * INTERVALS / (2.0 * pi)
        factors = [1.0 + swing * (sin(late) - sin(early)) for early, late in pairwise(turns)]
        return cls(tuple(max(factor, 0.0) for factor in factors), begin_hour)

    @property
    def mean(self) -> float:
        """The mean of the factors over a day."""
        return sum(self.factors) / len(self.factors)

    def times(self, steady: Floats) -> Floats:
        """Return the moments at which a steady demand would have had as many requests.

        Parameters
        ----------
        steady
            Times of a demand whose factor is always 1, never falling.
        """
        knots, moments = self._whole_day
        days, rest = np.divmod(steady + self._before, knots[-1])
        begin = self.begin_hour / HOURS * DAY
        times = days * DAY + np.interp(rest, knots, moments) - begin
        return np.maximum.accumulate(np.maximum(times, 0.0))

    @cached_property
    def _whole_day(self) -> tuple[Floats, Floats]:
        """The steady time that has passed at the begin of each part of the day, and its end."""
        parts = np.concatenate(([0.0], np.cumsum(self.factors)))
        passed = parts * (DAY / len(self.factors))
        return passed, np.linspace(0.0, DAY, len(passed))

    @cached_property
    def _before(self) -> float:
        """The steady time that has passed since midnight when requests begin."""
        knots, moments = self._whole_day
        return float(np.interp(self.begin_hour / HOURS * DAY, moments, knots))
