"""Ways in which the demand for models moves: curves of rates for all models of a fleet.

Each takes the names of the models and returns a curve for each of them whose mean is 1 or near it,
so that a fleet is asked about as much as its rates say, only not always and not of all alike.
"""

from collections.abc import Mapping, Sequence
from math import pi, sin

import numpy as np

from colocate.errors import InputError
from colocate.problem.quantity import checked_number, checked_seed
from colocate.simulate.demand.rate_curve import RateCurve

STEPS = 48
"""Parts of a smooth curve: from one to the next, nothing changes by more than about a tenth."""

Curves = Mapping[str, RateCurve]


def drifting(models: Sequence[str], seconds: float, times: float) -> Curves:
    """Return curves that rise or fall evenly: every second model rises, the others fall.

    Parameters
    ----------
    models
        The names of the models.
    seconds
        How long it takes.
    times
        How many times the lowest rate of a model the highest is.
    """
    most = _more_than_one("times", times)
    low = 2.0 / (1.0 + most)
    rising = [low + (2.0 - 2.0 * low) * (part + 0.5) / STEPS for part in range(STEPS)]
    return {
        name: _even(rising if number % 2 == 0 else rising[::-1], seconds)
        for number, name in enumerate(models)
    }


def day_and_night(models: Sequence[str], seconds: float, peak: float, groups: int = 2) -> Curves:
    """Return sinusoids of one day, in groups of models that peak at different times of it.

    Parameters
    ----------
    models
        The names of the models.
    seconds
        How long a day is; it is repeated for four days.
    peak
        How many times its mean the highest rate of a model is, at most 2.
    groups
        How many times of day there are at which models peak.
    """
    swing = _more_than_one("peak", peak) - 1.0
    if swing > 1.0:
        raise InputError.of("peak", peak, "at most 2")
    return {
        name: _even(
            [
                1.0
                + swing * sin(2.0 * pi * ((part % STEPS + 0.5) / STEPS + number % groups / groups))
                for part in range(4 * STEPS)
            ],
            4.0 * seconds,
        )
        for number, name in enumerate(models)
    }


def hot_sets(
    models: Sequence[str], seconds: float, period: float, times: float, hot: int, seed: int
) -> Curves:
    """Return curves of a few models that are hot for a while, then others are.

    Parameters
    ----------
    models
        The names of the models.
    seconds, period
        How long all of it is, and for how long a set of models is hot.
    times
        How many times the rate of a cold model that of a hot one is.
    hot
        How many models are hot at once.
    seed
        Decides which; one that was hot is not so in the following period.
    """
    most, rng = _more_than_one("times", times), np.random.default_rng([checked_seed(seed), 7])
    if not 0 < hot <= len(models) // 2:
        raise InputError.of("hot", hot, f"from 1 to {len(models) // 2}, half of the models")
    cold = len(models) / (len(models) + hot * (most - 1.0))
    factors, before = [], set[int]()
    for _ in range(int(np.ceil(seconds / period))):
        others = [number for number in range(len(models)) if number not in before]
        before = set(rng.choice(others, hot, replace=False).tolist())
        factors.append([cold * (most if n in before else 1.0) for n in range(len(models))])
    starts = tuple(period * number for number in range(len(factors)))
    return {
        name: RateCurve(starts, tuple(row[number] for row in factors))
        for number, name in enumerate(models)
    }


def burst_groups(
    models: Sequence[str], seconds: float, length: float, times: float, groups: int, seed: int
) -> Curves:
    """Return curves of models that have short bursts together, at random moments.

    Parameters
    ----------
    models
        The names of the models; each is in one of the groups.
    seconds, length
        How long all of it is, and how long a burst is on average. Bursts of a group are four times
        as far apart on average.
    times
        How many times its rate between bursts a model has in a burst.
    groups
        How many groups there are.
    seed
        Decides when.
    """
    most = _more_than_one("times", times)
    low = 5.0 / (4.0 + most)
    found: dict[str, RateCurve] = {}
    for group in range(groups):
        rng = np.random.default_rng([checked_seed(seed), 11, group])
        starts, factors, moment = [0.0], [low], 0.0
        while moment < seconds:
            for span, factor in ((4.0 * length, most * low), (length, low)):
                moment += max(float(rng.exponential(span)), 1.0)
                starts.append(moment)
                factors.append(factor)
        curve = RateCurve(tuple(starts), tuple(factors))
        found |= {name: curve for number, name in enumerate(models) if number % groups == group}
    return found


def _even(factors: Sequence[float], seconds: float) -> RateCurve:
    """Return a curve of parts of equal length."""
    starts = tuple(seconds * part / len(factors) for part in range(len(factors)))
    return RateCurve(starts, tuple(factors))


def _more_than_one(field: str, value: float) -> float:
    number = checked_number(value, (field,))
    if not number >= 1.0:
        raise InputError.of(field, number, "at least 1")
    return number
