"""Latencies counted in intervals that grow by one in a hundred, so that memory does not grow."""

from math import exp, log

import numpy as np

from colocate.problem.instance import Ints
from colocate.problem.kernel import leaf_kernel

SHORTEST = 1e-5
"""Seconds: what is shorter counts as this long. No GPU makes a token in a hundredth of it."""
GROWTH = 0.01
"""Each interval ends at so much more of its beginning, in logarithms."""
BINS = 2600
"""Intervals, up to some weeks."""


@leaf_kernel
def bin_of(seconds: float) -> int:
    """Return the interval that a latency is in."""
    if seconds <= SHORTEST:
        return 0
    place = int(log(seconds / SHORTEST) / GROWTH)
    return min(place, BINS - 1)


def quantile(counts: Ints, share: float, largest: float) -> float:
    """Return the latency that a share of the requests does not exceed; 0 if there are none.

    Between two requests it is taken to be even, as usual.

    Parameters
    ----------
    counts
        Requests in each interval.
    share
        Such as 0.99.
    largest
        The largest latency, which no quantile exceeds.
    """
    ends = np.cumsum(counts)
    if ends[-1] == 0:
        return 0.0
    rank = share * float(ends[-1] - 1)
    below = int(rank)
    low, high = (_of_rank(ends, min(n, int(ends[-1]) - 1), largest) for n in (below, below + 1))
    return min(low + (high - low) * (rank - below), largest)


def _of_rank(ends: Ints, rank: int, largest: float) -> float:
    """Return the middle of the interval that the request of a rank is in, from 0 on.

    The last interval has no end; the largest latency stands for all of it.

    Parameters
    ----------
    ends, rank, largest
        Requests up to the end of each interval, the rank, and the largest latency.
    """
    place = int(np.searchsorted(ends, rank, side="right"))
    if place == BINS - 1:
        return largest
    return SHORTEST * exp((place + 0.5) * GROWTH)
