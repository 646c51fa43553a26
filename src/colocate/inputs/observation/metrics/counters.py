"""What counters and gauges say between moments: growth, restarts, and what is not known.

A row has a value for each moment, NaN where there is none. Of rows that belong together, such as
the replicas of a model, each counts from its first value to its last: before and after, there was
no such engine. In between, a missing value makes the sum unknown, since the engine served on.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from colocate.inputs.observation.estimate import Floats

Flags = NDArray[np.bool_]

MOST_AT_BIRTH = 100.0
"""Requests up to which a counter that appears beside others of its engine began at 0: many
engines print a counter only once it has counted. A higher one was there before, unseen."""


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


def total(rows: Sequence[Floats]) -> Floats:
    """Return the sum of rows that belong together; NaN where one of them is unknown."""
    lives = np.array([alive(row) for row in rows])
    known = np.array([np.isfinite(row) for row in rows])
    values = np.where(known, np.array(rows), 0.0).sum(axis=0)
    whole = lives.any(axis=0) & ~(lives & ~known).any(axis=0)
    found: Floats = np.where(whole, values, np.nan)
    return found
