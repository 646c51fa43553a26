"""How well the past tells what comes: the same hour of an earlier day, or the last minutes.

A forecast at a moment `t` says how many requests a second will come in the next `horizon` seconds:

- the last minutes: the mean rate of the `recent` seconds before `t`;
- yesterday: the mean rate of the `horizon` seconds from `t` less a day on;
- last week: the same, seven days before.

Each is made at moments a horizon apart, wherever all that it needs is known. The skill of a
forecast is `1 - E / R`: its mean squared error `E` over that of the last minutes, `R`, at the same
moments (Murphy 1988, "Skill scores based on the mean square error"). 1 is perfect, 0 is no better
than the last minutes, below 0 is worse. Without enough moments the skill is unknown.

The last minutes hold few requests, so chance alone can make them worse than a whole hour of
yesterday. Demand follows hours only if these also tell more than the mean of the whole day, or
week, before.
"""

from collections.abc import Iterator
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from colocate.inputs.observation.estimate import BinTally, Estimate, Floats, ratio_estimate

DAY, WEEK = 86400.0, 604800.0
"""Seconds."""
HORIZON, RECENT = 3600.0, 600.0
"""Seconds that a forecast is for, and those before it that count as the last minutes, where the
history is long enough: a plan is to hold for an hour or so."""
MOMENTS = 12
"""Forecasts that a short history is divided into, if it has no place for so many hours."""
LEAST_MOMENTS = 10
"""With fewer forecasts their error is not known."""
MOSTLY = 0.8
"""The share of a day or week that must be known for its mean; an hour must be known whole."""
LEAST_DAYS_OF_FORECASTS = 0.9
"""Days that forecasts must cover: nearly every hour of the day once, since the first one may lack
the minutes before it."""


class Predictability(NamedTuple):
    """How well forecasts of a model's rate do."""

    horizon: float
    """Seconds that they are for."""
    recent: float
    """Seconds before them that are the last minutes."""
    error: float | None
    """How far the last minutes are off: the root of their mean squared error over the mean rate;
    None if it is unknown."""
    yesterday: Estimate | None
    """The skill of the same hour of yesterday; None if the history is too short."""
    last_week: Estimate | None
    """The skill of the same hour of last week."""
    yesterday_over_mean: Estimate | None
    """The skill of the same hour of yesterday against the mean of the last day."""
    last_week_over_mean: Estimate | None
    """The skill of the same hour of last week against the mean of the last week."""

    @property
    def follows_hours(self) -> bool | None:
        """Whether hours of earlier days tell more than the last minutes, and than days as a whole.

        None if that is unknown.
        """
        found = [_is_clear(skill) and _is_clear(over_mean) for skill, over_mean in self._known()]
        return any(found) if found else None

    @property
    def skill(self) -> float | None:
        """How much hours of earlier days tell, as fleet files state it; None if that is unknown.

        That is their skill against the last minutes or against the mean of the day, whichever is
        lower; at most 0 where it may be chance.
        """
        found = [min(skill.value, over_mean.value) for skill, over_mean in self._known()]
        if not found:
            return None
        return max(found) if self.follows_hours else min(max(found), 0.0)

    def _known(self) -> Iterator[tuple[Estimate, Estimate]]:
        """Yield the skills of days and of weeks that are known, over minutes and over the mean."""
        for skill, over_mean in (
            (self.yesterday, self.yesterday_over_mean),
            (self.last_week, self.last_week_over_mean),
        ):
            if skill is not None and over_mean is not None:
                yield skill, over_mean


def _is_clear(skill: Estimate) -> bool:
    """Say whether a skill is more than chance."""
    return skill.margin is not None and skill.value > skill.margin


def predictability_of(requests: BinTally, bin_seconds: float) -> Predictability:
    """Return how well forecasts of a series do.

    Parameters
    ----------
    requests
        In each bin, over the seconds that it was watched for.
    bin_seconds
        How long a bin is.
    """
    span = len(requests.amount) * bin_seconds
    horizon = _whole(min(HORIZON, span / MOMENTS), bin_seconds)
    recent = _whole(min(RECENT, horizon), bin_seconds)
    series = _RateSums(requests, bin_seconds)
    ahead = round(horizon / bin_seconds)
    back = round(recent / bin_seconds)
    moments = np.arange(ahead, len(requests.amount) - ahead + 1, ahead)
    actual = series.mean(moments, ahead)
    last = (series.mean(moments - back, back) - actual) ** 2
    known = last[np.isfinite(last)]
    mean = float(np.nanmean(actual)) if np.isfinite(actual).any() else 0.0
    error = sqrt(float(known.mean())) / mean if len(known) >= LEAST_MOMENTS and mean > 0.0 else None
    skills, over_means = [], []
    for lag in (DAY, WEEK):
        shift = round(lag / bin_seconds)
        off = (series.mean(moments - shift, ahead) - actual) ** 2
        mean_off = (series.mean(moments - shift, shift) - actual) ** 2
        skills.append(_skill(off, last, horizon))
        over_means.append(_skill(off, mean_off, horizon))
    return Predictability(horizon, recent, error, *skills, *over_means)


def _whole(seconds: float, bin_seconds: float) -> float:
    return max(round(seconds / bin_seconds), 1) * bin_seconds


def _skill(off: Floats, last: Floats, horizon: float) -> Estimate | None:
    """Return one less the ratio of squared errors, over the moments that both are known at."""
    known = np.isfinite(off) & np.isfinite(last)
    number = int(known.sum())
    if number < LEAST_MOMENTS or number * horizon < LEAST_DAYS_OF_FORECASTS * DAY:
        return None
    ratio = ratio_estimate(BinTally(off[known], last[known]))
    return None if ratio is None else Estimate(1.0 - ratio.value, ratio.margin)


class _RateSums:
    """Mean rates over any bins, by sums from the beginning on."""

    def __init__(self, requests: BinTally, bin_seconds: float) -> None:
        known = np.isfinite(requests.amount) & (requests.per > 0.5 * bin_seconds)
        self._number, self._bin = len(known), bin_seconds
        filled = (np.where(known, each, 0.0) for each in (requests.amount, requests.per, known))
        self._sums = [np.concatenate(([0.0], np.cumsum(each))) for each in filled]

    def mean(self, first: NDArray[np.int64], number: int) -> Floats:
        """Return the mean rates over so many bins from each first one on; NaN where unknown."""
        low = np.clip(first, 0, self._number)
        high = np.clip(first + number, 0, self._number)
        amount, seconds, known = (each[high] - each[low] for each in self._sums)
        most = number * (MOSTLY if number * self._bin > HORIZON else 1.0)
        whole = (first >= 0) & (known >= most) & (seconds > 0.0)
        found: Floats = np.where(whole, amount / np.where(whole, seconds, 1.0), np.nan)
        return found
