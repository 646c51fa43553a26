"""Rates of requests from what has arrived so far, with how sure they are.

Counts of a long time are steady, those of a short one are quick. So the last ones count, as far
back as they are alike: until earlier ones differ by more than chance explains, in both of their
halves. A change lasts, and a burst does not. What is far beyond chance counts sooner: a model that
is asked eight times as much shows it in ten seconds, unless the like has passed as soon before. A
fall counts so soon only where demand shifts to another model: alone it may be a pause, and nobody
waits for what comes of it. Chance is what the counts show: where requests come in bursts, they
differ more from one interval to the next, and a rate is less sure.

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
SUDDEN = 6.0
"""Standard errors by which each count has to differ that came since, where a rate has not lasted
as long as others must: by chance, once in many millions."""
TIMES = 4.0
"""How many times as much or as little each such count must be at least. Three times as many
requests may be a burst, and where many come, half as many more is beyond chance."""
LIKELY = 1.5
"""Standard errors to either side within which a rate is taken to be."""
LOOKED_BACK = (2, 5, 15)
"""How many times as many intervals before a change are compared as a rate must last: few see a
change after a short phase, and more see a small one."""
PAST = 30.0
"""Seconds of the intervals of the past, at least: shorter ones show little but chance."""
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
    waiting: float = 0.0
    """Requests in its queue now."""


def estimated_rates(
    models: Sequence[str],
    counts: NDArray[np.int64],
    interval: float,
    settings: PolicySettings | None = None,
    waiting: Sequence[float] | None = None,
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
    waiting
        Requests in the queue of each model now; none where nobody knows.
    """
    chosen, length = settings or PolicySettings(), checked_number(interval, ("interval",))
    if counts.ndim != 2 or counts.shape[1] != len(models) or not length > 0.0:
        expected = f"a row of {len(models)} numbers for each interval of more than 0 seconds"
        raise InputError.of("counts", list(counts.shape), expected)
    window = max(int(chosen.window / length), 1)
    recent = max(int(chosen.recent / length), 2)
    queues = [0.0] * len(models) if waiting is None else waiting
    rows = [counts[:, number].astype(float) for number in range(len(models))]
    found = (
        _estimate(name, row, length, window, _stretches(row, young, recent))
        for name, row, young in zip(models, rows, _young_rates(rows, recent), strict=True)
    )
    return tuple(
        each._replace(waiting=float(queue)) for each, queue in zip(found, queues, strict=True)
    )


def _estimate(
    name: str,
    known: NDArray[np.float64],
    interval: float,
    window: int,
    stretches: Sequence[int],
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
    window
        How many intervals are looked at where the rate is steady.
    stretches
        For how many intervals each rate lasted, the last one first.
    """
    if not len(known):
        return RateEstimate(name, 0.0, 0.0, np.inf)
    lasted, *before = stretches
    used = known[-min(lasted, window) :]
    mean, dispersion = float(used.mean()), _dispersion(used)
    error = LIKELY * sqrt(max(mean, 1.0 / len(used)) * dispersion / len(used))
    variation = min(sqrt(dispersion), MOST_VARIATION)
    low, high = max(mean - error, 0.0) / interval, (mean + error) / interval
    past, length = _coarse(known, interval)
    return RateEstimate(
        name,
        mean / interval,
        low,
        high,
        variation,
        seconds=lasted * interval,
        past=tuple(past.tolist()),
        interval=length,
        phases=tuple(each * interval for each in before),
    )


def _stretches(known: NDArray[np.float64], young: int, recent: int) -> list[int]:
    """Return for how many intervals each steady rate lasted, the last one first.

    Parameters
    ----------
    known
        All counts.
    young
        Where the last rate begins if it is a young one; else the end.
    recent
        How many intervals any other must last to count as one.
    """
    left = known[:young]
    found = [len(known) - len(left)] if len(left) < len(known) else []
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
    places = np.arange(len(counts) - recent, recent - 1, -1)
    if not len(places):
        return 0
    clear = _clearness(_CountSums.of(counts), places, recent)
    best, clearest = 0, 0.0
    for place, found in zip(places.tolist(), clear.tolist(), strict=True):
        if found > clearest:
            best, clearest = place, found
        elif clearest > 0.0 and place < best - recent:
            break
    return best


def _young_rates(rows: Sequence[NDArray[np.float64]], recent: int) -> list[int]:
    """Return where the rate of each model begins that is young, but differs much; else the end.

    Falls count only where another model is asked more.

    Parameters
    ----------
    rows
        All counts of each model.
    recent
        As for `_stretches`.
    """
    rises = [_sudden_change(row, 1, recent) for row in rows]
    if all(place == len(row) for place, row in zip(rises, rows, strict=True)):
        return rises
    falls = (_sudden_change(row, -1, recent) for row in rows)
    return [min(places) for places in zip(rises, falls, strict=True)]


def _sudden_change(counts: NDArray[np.float64], way: int, recent: int) -> int:
    """Return where a rate begins that differs much, though it is younger than others; else the end.

    It must have lasted a third of the time that others must. Where such changes passed more often
    than they lasted, it is a burst until it has lasted as long as others.

    Parameters
    ----------
    counts, recent
        As for `_stretches`.
    way
        Whether it is a rise, 1, or a fall, -1.
    """
    end = len(counts)
    least = -(-recent // 3)
    for place in range(max(end - recent + 1, recent), end - least + 1):
        found = _directions(counts, np.array([place]), end - place, recent)
        if found[0] == way and not _usually_passes(counts[:place], way, recent, least):
            return place
    return end


def _directions(
    counts: NDArray[np.float64], places: NDArray[np.int64], lasted: int, recent: int
) -> NDArray[np.int64]:
    """Return whether all counts from places on are far higher than before, 1, or lower, -1.

    Parameters
    ----------
    counts, places, recent
        As for `_clearness`.
    lasted
        How many counts are looked at.
    """
    sums = _CountSums.of(counts)
    ways = []
    for times in LOOKED_BACK:
        begin = np.maximum(places - times * recent, 0)
        before = np.maximum(sums.mean(begin, places), 1.0 / (places - begin))
        spread = np.sqrt(sums.dispersion(begin, places))
        for count in (counts[places + n] for n in range(lasted)):
            sign = _surprise(count, before) / spread
            higher = (sign > SUDDEN) & (count >= TIMES * before)
            lower = (sign < -SUDDEN) & (count <= before / TIMES)
            ways.append(higher.astype(np.int64) - lower.astype(np.int64))
    found: NDArray[np.int64] = np.where(np.min(ways, axis=0) == np.max(ways, axis=0), ways[0], 0)
    return found


def _usually_passes(counts: NDArray[np.float64], way: int, recent: int, least: int) -> bool:
    """Whether more sudden changes passed than lasted: counts after them were as before.

    Parameters
    ----------
    counts, recent
        As for `_stretches`.
    way
        As for `_sudden_change`.
    least
        How many counts show them.
    """
    places = np.arange(recent, len(counts) - recent + 1)
    if not len(places):
        return False
    places = places[_directions(counts, places, least, recent) == way]
    sums = _CountSums.of(counts)
    before = sums.mean(np.maximum(places - LOOKED_BACK[0] * recent, 0), places)
    first = sums.mean(places, places + least)
    later = sums.mean(places + least, places + recent)
    passed = np.abs(later - before) < np.abs(later - first)
    return int(passed.sum()) > len(places) / 2


def _surprise(found: NDArray[np.float64], expected: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how many standard errors counts differ from what chance lets expect.

    They are signed roots of the deviance (McCullagh and Nelder, 1989), which tell a fall of small
    counts as well as a rise.
    """
    least = np.finfo(np.float64).tiny
    logs = found * np.log(np.maximum(found, least) / expected)
    roots = np.sqrt(np.maximum(2.0 * (logs - found + expected), 0.0))
    signed: NDArray[np.float64] = np.sign(found - expected) * roots
    return signed


class _CountSums(NamedTuple):
    """Sums of counts and of their squares before each place, so that any stretch is looked up."""

    counts: NDArray[np.float64]
    squares: NDArray[np.float64]

    @classmethod
    def of(cls, counts: NDArray[np.float64]) -> "_CountSums":
        return cls(*(np.concatenate(([0.0], np.cumsum(each))) for each in (counts, counts**2)))

    def mean(self, begin: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the means of counts between places."""
        return (self.counts[end] - self.counts[begin]) / (end - begin)

    def dispersion(self, begin: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return variances of counts over their means, at least those of chance, which are 1."""
        number, mean = end - begin, self.mean(begin, end)
        squares = self.squares[end] - self.squares[begin]
        variance = (squares - number * mean**2) / np.maximum(number - 1, 1)
        least = np.finfo(np.float64).tiny
        found: NDArray[np.float64] = np.maximum(variance / np.maximum(mean, least), 1.0)
        return found


def _clearness(sums: _CountSums, places: NDArray[np.int64], recent: int) -> NDArray[np.float64]:
    """Return by how many standard errors counts differ from earlier ones; 0 if it may be chance.

    Both halves must differ, and in the same direction.

    Parameters
    ----------
    sums, places
        The counts, and where those after may begin.
    recent
        As for `_stretches`.
    """
    end = np.full_like(places, len(sums.counts) - 1)
    middle = places + (end - places) // 2
    after = sums.dispersion(places, end)
    best: NDArray[np.float64] = np.zeros(len(places))
    for times in LOOKED_BACK:
        begin = np.maximum(places - times * recent, 0)
        old, number = sums.mean(begin, places), places - begin
        spread = np.maximum(old, 1.0 / number) * np.maximum(sums.dispersion(begin, places), after)
        signs = [
            (sums.mean(first, last) - old) / np.sqrt(spread * (1.0 / number + 1.0 / (last - first)))
            for first, last in ((places, middle), (middle, end), (places, end))
        ]
        halves = np.array(signs[:2])
        sure = (halves.min(axis=0) > SURE) | (halves.max(axis=0) < -SURE)
        best = np.maximum(best, np.where(sure, np.abs(signs[2]), 0.0))
    return best


def _dispersion(counts: NDArray[np.float64]) -> float:
    """Return the variance of counts over their mean, at least that of chance, which is 1."""
    whole = np.array([0]), np.array([len(counts)])
    return float(_CountSums.of(counts).dispersion(*whole)[0])


def _coarse(counts: NDArray[np.float64], interval: float) -> tuple[NDArray[np.float64], float]:
    """Return rates in intervals of `PAST` seconds or more, up to now, and how long these are.

    Parameters
    ----------
    counts, interval
        All counts, and the length of their intervals.
    """
    joined = min(max(round(PAST / interval), 1), len(counts))
    rows = counts[len(counts) % joined :].reshape(-1, joined)
    return rows.mean(axis=1) / interval, joined * interval
