"""What counters and gauges say between moments: growth, restarts, and what is not known.

A row has a value for each moment, NaN where there is none. Counters count on while nobody looks,
so what one grew by in a gap is known, only not when: values in between are on a straight line. If
it began again meanwhile, nothing is known of the gap.

Of rows that belong together, such as the replicas of a model, each counts from its first value to
its last: before and after, there was no such engine. In between, an unknown value makes the sum
unknown, since the engine served on. One that has only just been missed may serve on as well.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from colocate.inputs.observation.estimate import Floats

Flags = NDArray[np.bool_]

LOOK_BACK = 300.0
"""Seconds for which Prometheus shows a sample after which none came."""
GONE_AFTER = 3
"""Bins without a sample after which an engine counts as gone, and a model too."""
MOST_AT_BIRTH = 100.0
"""Requests up to which a counter that appears beside others of its engine began at 0: many
engines print a counter only once it has counted. A higher one was there before, unseen."""


def unseen(row: Floats, step: float) -> Flags:
    """Return the moments between the first value and the last at which there was no sample.

    Prometheus shows a sample for five minutes, if nothing tells it that the engine is gone. So of
    equal values before a gap, those of the last five minutes were no samples.

    Parameters
    ----------
    row
        Its values.
    step
        Seconds between moments.
    """
    found = alive(row) & ~np.isfinite(row)
    shown = int(LOOK_BACK / step)
    for first in np.flatnonzero(found[1:] & ~found[:-1]) + 1:
        last = first - 1
        while last > 0 and first - last <= shown and row[last - 1] == row[first - 1]:
            found[last] = True
            last -= 1
    return found


def bridged(row: Floats, missing: Flags) -> Floats:
    """Return a row with unseen moments on straight lines, but where it fell meanwhile."""
    if not missing.any():
        return row
    known = np.flatnonzero(np.isfinite(row) & ~missing)
    moments = np.arange(len(row))
    filled = np.interp(moments, known, row[known])
    before = row[known[np.maximum(np.searchsorted(known, moments, side="right") - 1, 0)]]
    after = row[known[np.minimum(np.searchsorted(known, moments), len(known) - 1)]]
    found: Floats = np.where(missing, np.where(after >= before, filled, np.nan), row)
    return found


def growth(row: Floats) -> Floats:
    """Return by how much a counter grew between moments; after a restart, from 0 on."""
    grown = np.diff(row)
    found: Floats = np.where(grown < 0.0, row[1:], grown)
    return found


def restarts(row: Floats) -> Flags:
    """Return between which moments a counter began again."""
    found: Flags = np.diff(row) < 0.0
    return found


def from_birth(row: Floats, present: Flags) -> Floats:
    """Return a counter of requests with zeros from when its engine was there, but not yet it.

    Parameters
    ----------
    row
        Its values.
    present
        When its engine was there.
    """
    known = np.flatnonzero(np.isfinite(row))
    if not len(known) or known[0] == 0 or row[known[0]] > MOST_AT_BIRTH:
        return row
    before = np.arange(len(row)) < known[0]
    return np.where(before & present, 0.0, row)


def alive(row: Floats) -> Flags:
    """Return the moments from the first known value to the last."""
    known = np.flatnonzero(np.isfinite(row))
    found = np.zeros(len(row), dtype=np.bool_)
    if len(known):
        found[known[0] : known[-1] + 1] = True
    return found


def _alive_until(row: Floats, missed: int) -> Flags:
    """Return when a row is alive: up to now if only its last values are unknown.

    Parameters
    ----------
    row, missed
        As for `total`.
    """
    found, known = alive(row), np.flatnonzero(np.isfinite(row))
    if len(known) and len(row) - 1 - known[-1] <= missed:
        found[known[-1] :] = True
    return found


def total(rows: Sequence[Floats], missed: int = 0) -> Floats:
    """Return the sum of rows that belong together; NaN where one of them is unknown.

    Parameters
    ----------
    rows
        Their values.
    missed
        How many of the last values of a row may be unknown before it is taken to have ended.
    """
    lives = np.array([_alive_until(row, missed) for row in rows])
    known = np.array([np.isfinite(row) for row in rows])
    values = np.where(known, np.array(rows), 0.0).sum(axis=0)
    whole = lives.any(axis=0) & ~(lives & ~known).any(axis=0)
    found: Floats = np.where(whole, values, np.nan)
    return found
