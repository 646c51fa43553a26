"""Rates of requests from what has arrived so far, with how sure they are.

Counts of a long window are steady, those of a short one are quick. The short one decides as soon as
it differs from the time before it by more than chance explains, in both of its halves: a change
lasts, and a burst does not. Chance is what the counts show: where requests come in bursts, they
differ more from one interval to the next, and a rate is less sure.
"""

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from colocate.errors import InputError
from colocate.problem.quantity import checked_number
from colocate.replan.policy.settings import PolicySettings

SURE = 3.0
"""Standard errors by which a rate has to differ in each half: by chance, once in many thousands."""
LIKELY = 1.5
"""Standard errors to either side within which a rate is taken to be."""
MOST_VARIATION = 4.0
"""Of gaps between requests: what looks more bursty than this is a change of the rate."""


class RateEstimate(NamedTuple):
    """How often a model is asked."""

    model: str
    rate: float
    """Requests each second."""
    low: float
    high: float
    """What it is likely to be at least, and at most."""
    variation: float = 1.0
    """The standard deviation of the time between two requests, over its mean."""
    seconds: float = 0.0
    """How long it has been so, as far as is known."""


def estimated_rates(
    models: Sequence[str],
    counts: NDArray[np.int64],
    interval: float,
    settings: PolicySettings | None = None,
) -> tuple[RateEstimate, ...]:
    """Return the rates of models from counts of requests that arrived.

    Parameters
    ----------
    models
        Their names.
    counts
        counts[t, m]: requests to a model in each interval, the oldest first.
    interval
        The length of an interval in seconds.
    settings
        How far back to look.
    """
    chosen, length = settings or PolicySettings(), checked_number(interval, ("interval",))
    if counts.ndim != 2 or counts.shape[1] != len(models) or not length > 0.0:
        expected = f"a row of {len(models)} numbers for each interval of more than 0 seconds"
        raise InputError.of("counts", list(counts.shape), expected)
    window = counts[-max(int(chosen.window / length), 1) :]
    recent = max(int(chosen.recent / length), 2)
    return tuple(
        _estimate(name, window[:, number].astype(float), length, recent)
        for number, name in enumerate(models)
    )


def _estimate(name: str, counts: NDArray[np.float64], interval: float, recent: int) -> RateEstimate:
    """Return the rate of one model.

    Parameters
    ----------
    name
        The model.
    counts
        Of the window.
    interval
        The length of an interval.
    recent
        How many intervals are recent.
    """
    if not len(counts):
        return RateEstimate(name, 0.0, 0.0, np.inf)
    used = counts
    if len(counts) > recent and _changed(counts[:-recent], counts[-recent:]):
        used = counts[-recent:]
    mean, dispersion = float(used.mean()), _dispersion(used)
    error = LIKELY * sqrt(max(mean, 1.0 / len(used)) * dispersion / len(used))
    variation = min(sqrt(dispersion), MOST_VARIATION)
    low, high = max(mean - error, 0.0) / interval, (mean + error) / interval
    return RateEstimate(name, mean / interval, low, high, variation, len(used) * interval)


def _changed(before: NDArray[np.float64], after: NDArray[np.float64]) -> bool:
    """Return whether counts differ from earlier ones, in both halves and in the same direction."""
    old, middle = float(before.mean()), len(after) // 2
    spread = max(old, 1.0 / len(before)) * _dispersion(before)
    signs = []
    for half in (after[:middle], after[middle:]):
        error = sqrt(spread * (1.0 / len(before) + 1.0 / len(half)))
        signs.append((float(half.mean()) - old) / error)
    return min(signs) > SURE or max(signs) < -SURE


def _dispersion(counts: NDArray[np.float64]) -> float:
    """Return the variance of counts over their mean, at least that of chance, which is 1."""
    mean = float(counts.mean())
    if len(counts) < 2 or mean <= 0.0:
        return 1.0
    return max(float(counts.var(ddof=1)) / mean, 1.0)
