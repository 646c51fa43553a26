"""Which models peak together: correlations of their rates over time."""

from math import atanh, sqrt, tanh
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from colocate.inputs.observation.bins import coarse_rates
from colocate.inputs.observation.burstiness import LEAST_EVENTS
from colocate.inputs.observation.estimate import Floats
from colocate.inputs.observation.observation import Observation

Flags = NDArray[np.bool_]

LEAST_BINS = 12
"""Independent bins from which on a correlation is told at all."""
SURE = 0.95
"""The chance that all pairs that are called alike or opposite really are."""
MOST_MODELS = 300
"""Models that are compared, those with the highest rates: 45,000 pairs."""
HIGHEST = 0.999999
"""A correlation counts as no higher, since its interval would vanish."""
MOST_MEMORY = 0.95
"""How much of a bin's rate the one before it can tell, at most, for bins to count at all."""


class Correlation(NamedTuple):
    """How alike the rates of two models go."""

    first: str
    second: str
    value: float
    """From -1, always opposite, to 1, always alike."""
    low: float
    high: float
    """The ends of its 95% interval."""
    clear: bool
    """Whether it is not chance, with all pairs counted in."""


def correlations(observation: Observation) -> tuple[Correlation, ...]:
    """Return the correlations of pairs of models that were asked often enough, strongest first.

    Rates over time remember themselves, so bins are fewer independent ones than there are: `n
    (1 - a b) / (1 + a b)` for the correlations `a` and `b` of each rate with itself a bin earlier
    (Bartlett 1946). Intervals are those of Fisher's z.
    """
    models = [
        model
        for model in observation.models[:MOST_MODELS]
        if model.rate.value * observation.seconds >= LEAST_EVENTS
    ]
    names = [model.name for model in models]
    if len(models) < 2 or not observation.bins:
        return ()
    series = coarse_rates(np.array([model.rates for model in models], dtype=np.float64))
    known = np.isfinite(series)
    memory = np.array([_memory(row) for row in series])
    pairs = len(models) * (len(models) - 1) // 2
    strict = NormalDist().inv_cdf(1.0 - (1.0 - SURE) / (2.0 * pairs))
    found = []
    for one in range(len(models)):
        others = slice(one + 1, len(models))
        values, numbers = _row(series[one], known[one], series[others], known[others])
        for place, (value, number) in enumerate(zip(values, numbers, strict=True)):
            other = one + 1 + place
            both = min(memory[one] * memory[other], MOST_MEMORY)
            independent = number * (1.0 - both) / (1.0 + both)
            if np.isfinite(value) and independent >= LEAST_BINS:
                found.append(_correlation(names[one], names[other], value, independent, strict))
    return tuple(sorted(found, key=lambda pair: (-abs(pair.value), pair.first, pair.second)))


def _row(one: Floats, known: Flags, others: Floats, theirs: Flags) -> tuple[Floats, Floats]:
    """Return the correlations of one series with others, over the bins that both are known in."""
    both = known & theirs
    numbers = both.sum(axis=1).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.where(both, one, 0.0)
        right = np.where(both, others, 0.0)
        left = np.where(both, left - (left.sum(axis=1) / numbers)[:, None], 0.0)
        right = np.where(both, right - (right.sum(axis=1) / numbers)[:, None], 0.0)
        scale = np.sqrt((left**2).sum(axis=1) * (right**2).sum(axis=1))
        values = np.where(scale > 0.0, (left * right).sum(axis=1) / scale, np.nan)
    return values, numbers


def _memory(row: Floats) -> float:
    """Return how much a rate is like that of the bin before, not below 0."""
    before, after = row[:-1], row[1:]
    known = np.isfinite(before) & np.isfinite(after)
    if known.sum() < LEAST_BINS:
        return 0.0
    before, after = before[known] - before[known].mean(), after[known] - after[known].mean()
    scale = sqrt(float((before**2).sum() * (after**2).sum()))
    return max(float((before * after).sum()) / scale, 0.0) if scale > 0.0 else 0.0


def _correlation(
    first: str, second: str, value: float, independent: float, strict: float
) -> Correlation:
    middle = atanh(min(max(float(value), -HIGHEST), HIGHEST))
    error = 1.0 / sqrt(independent - 3.0)
    half = NormalDist().inv_cdf((1.0 + SURE) / 2.0) * error
    clear = abs(middle) > strict * error
    return Correlation(first, second, float(value), tanh(middle - half), tanh(middle + half), clear)
