"""Bins of time: fine ones to count in, and few coarse ones in which patterns can be seen."""

import numpy as np

from colocate.inputs.observation.estimate import BinTally, Floats

MOST_COARSE = 120
"""Bins in which bursts and common peaks are looked for, and which a picture shows: finer ones
hold few requests, and chance hides what they have in common."""


def joined(bins: int) -> int:
    """Return how many of so many bins make one coarse bin."""
    return max(-(-bins // MOST_COARSE), 1)


def coarse(tally: BinTally) -> BinTally:
    """Return a tally in coarse bins; one is unknown if most of its parts are."""
    together = joined(len(tally.amount))
    known = np.isfinite(tally.amount) & np.isfinite(tally.per)
    amount, per, parts = (
        _sums(np.where(known, each, 0.0), together) for each in (tally.amount, tally.per, known)
    )
    whole = parts * 2.0 >= _sums(np.ones(len(known)), together)
    return BinTally(np.where(whole, amount, np.nan), np.where(whole, per, np.nan))


def coarse_rates(rates: Floats) -> Floats:
    """Return rates in coarse bins, one row for each model; NaN where most is unknown."""
    together = joined(rates.shape[-1])
    known = np.isfinite(rates)
    total = _sums(np.where(known, rates, 0.0), together)
    parts = _sums(known.astype(np.float64), together)
    whole = parts * 2.0 >= _sums(np.ones(rates.shape), together)
    found: Floats = np.where(whole & (parts > 0), total / np.maximum(parts, 1.0), np.nan)
    return found


def _sums(values: Floats, together: int) -> Floats:
    edges = np.arange(0, values.shape[-1], together)
    found: Floats = np.add.reduceat(values, edges, axis=-1)
    return found
