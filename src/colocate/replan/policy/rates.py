"""Rates of requests from what has arrived so far, with how sure they are.

Counts of a long time are steady, those of a short one are quick. So the last ones count, as far
back as they are alike: until earlier ones differ by more than chance explains, in both of their
halves. A change lasts, and a burst does not. Chance is what the counts show: where requests come in
bursts, they differ more from one interval to the next, and a rate is less sure.

The time before is cut in the same way into phases, which tell how long rates last.
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
LOOKED_BACK = (2, 5)
"""How many times as many intervals before a change are compared as a rate must last: few see a
change after a short phase, and more see a small one."""
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
    past: tuple[float, ...] = ()
    """Requests each second in all intervals that are known, the oldest first."""
    interval: float = 0.0
    """The length of those intervals in seconds."""
    phases: tuple[float, ...] = ()
    """Seconds that earlier rates lasted."""


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
    window = max(int(chosen.window / length), 1)
    recent = max(int(chosen.recent / length), 2)
    return tuple(
        _estimate(name, counts[:, number].astype(float), length, window, recent)
        for number, name in enumerate(models)
    )


def _estimate(
    name: str, known: NDArray[np.float64], interval: float, window: int, recent: int
) -> RateEstimate:
    """Return the rate of one model.

    Parameters
    ----------
    name
        The model.
    known
        All counts of it.
    interval
        The length of an interval.
    window, recent
        How many intervals are looked at where the rate is steady, and where it changed.
    """
    if not len(known):
        return RateEstimate(name, 0.0, 0.0, np.inf)
    lasted, *before = _stretches(known, recent)
    used = known[-min(lasted, window) :]
    mean, dispersion = float(used.mean()), _dispersion(used)
    error = LIKELY * sqrt(max(mean, 1.0 / len(used)) * dispersion / len(used))
    variation = min(sqrt(dispersion), MOST_VARIATION)
    low, high = max(mean - error, 0.0) / interval, (mean + error) / interval
    return RateEstimate(
        name,
        mean / interval,
        low,
        high,
        variation,
        seconds=lasted * interval,
        past=tuple((known / interval).tolist()),
        interval=interval,
        phases=tuple(each * interval for each in before),
    )


def _stretches(known: NDArray[np.float64], recent: int) -> list[int]:
    """Return for how many intervals each steady rate lasted, the last one first.

    Parameters
    ----------
    known
        All counts.
    recent
        How many intervals a rate must last to count as one.
    """
    found, left = [], known
    while (changed := _last_change(left, recent)) > 0:
        found.append(len(left) - changed)
        left = left[:changed]
    return [*found, len(left)]


def _last_change(counts: NDArray[np.float64], recent: int) -> int:
    """Return where the last steady rate begins: the latest clear change that is clearest around it.

    Parameters
    ----------
    counts, recent
        As for `_stretches`.
    """
    best, clearest = 0, 0.0
    for place in range(len(counts) - recent, recent - 1, -1):
        after = counts[place:]
        clear = max(
            _clearness(counts[max(place - times * recent, 0) : place], after)
            for times in LOOKED_BACK
        )
        if clear > clearest:
            best, clearest = place, clear
        elif clearest > 0.0 and place < best - recent:
            break
    return best


def _clearness(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Return by how many standard errors counts differ from earlier ones; 0 if it may be chance.

    Both halves must differ, and in the same direction.

    Parameters
    ----------
    before, after
        The counts.
    """
    old, middle = float(before.mean()), len(after) // 2
    spread = max(old, 1.0 / len(before)) * max(_dispersion(before), _dispersion(after))
    signs = []
    for half in (after[:middle], after[middle:], after):
        error = sqrt(spread * (1.0 / len(before) + 1.0 / len(half)))
        signs.append((float(half.mean()) - old) / error)
    *halves, whole = signs
    return abs(whole) if min(halves) > SURE or max(halves) < -SURE else 0.0


def _dispersion(counts: NDArray[np.float64]) -> float:
    """Return the variance of counts over their mean, at least that of chance, which is 1."""
    mean = float(counts.mean())
    if len(counts) < 2 or mean <= 0.0:
        return 1.0
    return max(float(counts.var(ddof=1)) / mean, 1.0)
