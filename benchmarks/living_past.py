"""The two hours before a condition: the same process, continued backwards.

A fleet that is followed has a past, and Prometheus keeps it. What was asked then is drawn with
seeds of its own, so that it tells how demand moves and not what is to come:

- steady demand and bursts go on as they do, and bursts in groups come at other moments;
- by day and night the clock goes back;
- hot sets were other ones, drawn backwards from the first that counts: none is hot twice in a row;
- what drifts had its first rate before it began to.
"""

from dataclasses import replace

import numpy as np
from benchmarks.living_conditions import Condition
from numpy.typing import NDArray

from colocate.problem.problem import Problem
from colocate.simulate.demand.kinds import Demand
from colocate.simulate.demand.moving import MovingDemand
from colocate.simulate.demand.patterns import burst_groups
from colocate.simulate.demand.rate_curve import RateCurve

PAST = 7200.0
"""Seconds: as far as `colocate watch` looks back."""
OTHER = 1000
"""Is added to the seed of a condition for its past."""


def past_counts(condition: Condition, problem: Problem, interval: float) -> NDArray[np.int64]:
    """Return the requests to each model in each interval of the time before, the oldest first.

    Parameters
    ----------
    condition, problem
        The condition, and its fleet.
    interval
        Seconds.
    """
    edges = np.arange(0.0, PAST + interval / 2.0, interval)
    counts = np.zeros((len(edges) - 1, len(problem.models)), np.int64)
    for piece in past_demand(condition).pieces(problem, PAST, condition.seed + OTHER):
        for number in range(len(problem.models)):
            counts[:, number] += np.histogram(piece.arrival[piece.model == number], edges)[0]
    return counts


def past_demand(condition: Condition) -> Demand:
    """Return who asked what in the time before."""
    coming = condition.demand
    if not isinstance(coming, MovingDemand) or not coming.curves:
        return coming
    names = list(coming.curves)
    if condition.kind == "burst groups":
        curves = burst_groups(names, PAST, seed=condition.seed + OTHER, **condition.pattern)
    elif condition.kind == "hot set":
        curves = _earlier_hot_sets(condition, coming)
    elif condition.kind == "day and night":
        curves = {name: _a_day_earlier(coming.curves[name], condition) for name in names}
    else:
        curves = {
            name: RateCurve((0.0,), curve.factors[:1]) for name, curve in coming.curves.items()
        }
    return replace(coming, curves=curves)


def _earlier_hot_sets(condition: Condition, coming: MovingDemand) -> dict[str, RateCurve]:
    """Return curves of hot sets that were before, drawn from the last to the first."""
    names, period, hot = list(coming.curves), condition.pattern["period"], condition.pattern["hot"]
    first = {name: curve.factors[0] for name, curve in coming.curves.items()}
    high, low = max(first.values()), min(first.values())
    rng = np.random.default_rng([condition.seed + OTHER, 7])
    after = {number for number, name in enumerate(names) if first[name] == high}
    sets: list[set[int]] = []
    while len(sets) * period < PAST:
        others = [number for number in range(len(names)) if number not in after]
        after = set(rng.choice(others, hot, replace=False).tolist())
        sets.insert(0, after)
    late = len(sets) * period - PAST
    starts = (0.0, *(period * number - late for number in range(1, len(sets))))
    return {
        name: RateCurve(starts, tuple(high if number in each else low for each in sets))
        for number, name in enumerate(names)
    }


def _a_day_earlier(curve: RateCurve, condition: Condition) -> RateCurve:
    """Return a curve of day and night that ends where the given one begins."""
    day = condition.pattern["seconds"]
    begin = (-PAST) % day
    days = 1 + int(np.ceil(PAST / day))
    moments = [
        (start + day * number - begin, factor)
        for number in range(days)
        for start, factor in zip(curve.starts, curve.factors, strict=True)
        if start < day
    ]
    before = [factor for moment, factor in moments if moment <= 0.0][-1]
    later = [(moment, factor) for moment, factor in moments if 0.0 < moment < PAST]
    return RateCurve((0.0, *(m for m, _ in later)), (before, *(f for _, f in later)))
