"""How unevenly requests come."""

from math import sqrt
from typing import NamedTuple

import numpy as np

from colocate.inputs.observation.estimate import BinTally, Floats

LEAST_BINS = 10
"""Bins from which on their differences tell something."""
LEAST_EVENTS = 20
"""Requests from which on they do: with fewer, chance alone makes any pattern."""


class Burstiness(NamedTuple):
    """How unevenly requests of a model came."""

    dispersion: float | None
    """The variance of requests in a bin over their mean: 1 if they come independently of each
    other at a steady rate, more in bursts or if the rate changes."""
    peak: float
    """Requests a second in the busiest bin."""
    variation: float | None = None
    """Of the times between requests: their standard deviation over their mean, as `colocate
    simulate --variation` takes it; from traces alone."""


def burstiness_of(requests: BinTally, variation: float | None = None) -> Burstiness:
    """Return how unevenly requests came.

    Parameters
    ----------
    requests
        In each bin, over the seconds that it was watched for.
    variation
        Of the times between requests, where they are known.
    """
    known = np.isfinite(requests.amount) & (requests.per > 0.0)
    counts, seconds = np.maximum(requests.amount[known], 0.0), requests.per[known]
    if not len(counts):
        return Burstiness(None, 0.0, variation)
    whole = seconds > 0.5 * seconds.max()  # the last bin may be a short one
    peak = float((counts[whole] / seconds[whole]).max())
    return Burstiness(_dispersion(counts, seconds), peak, variation)


def _dispersion(counts: Floats, seconds: Floats) -> float | None:
    if len(counts) < LEAST_BINS or counts.sum() < LEAST_EVENTS:
        return None
    expected = counts.sum() * seconds / seconds.sum()
    return float(((counts - expected) ** 2 / expected).sum() / (len(counts) - 1))


def variation_of(number: float, total: float, squares: float) -> float | None:
    """Return the standard deviation of times between requests over their mean.

    Parameters
    ----------
    number, total, squares
        Of these times: how many, their sum, and the sum of their squares.
    """
    if number < LEAST_EVENTS or total <= 0.0:
        return None
    mean = total / number
    return sqrt(max(squares / number - mean**2, 0.0)) / mean
