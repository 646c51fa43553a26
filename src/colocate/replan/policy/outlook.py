"""How many requests would be in time, by replays of what the rates let expect."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from colocate.problem.cache import caches_of
from colocate.problem.parts import Places
from colocate.problem.problem import Problem
from colocate.replan.policy.rates import RateEstimate
from colocate.replan.policy.settings import PolicySettings
from colocate.simulate.demand.moving import MovingDemand
from colocate.simulate.demand.rate_curve import RateCurve
from colocate.simulate.demand.requests import Floats, RequestStream
from colocate.simulate.engine_life import EngineLife
from colocate.simulate.live.run import simulate_lives
from colocate.simulate.options import Cache, SimulateOptions
from colocate.simulate.result import Simulation

SAMPLE = 30.0
"""Seconds for which a rate to come is steady: as short as counts usually are."""
QUEUED = 1.0
"""Seconds at the beginning of a replay in which requests come that wait already."""


class Outlook(NamedTuple):
    """What a replay of some time to come found."""

    arrived: float
    in_time: float
    """Requests that kept all targets."""
    lost: Mapping[str, float]
    """Requests of each model that did not, or that wait."""


class DrawnDemand(NamedTuple):
    """Requests as estimated rates would have them, drawn once for all ways that are compared."""

    problem: Problem
    pieces: tuple[RequestStream, ...]
    options: SimulateOptions


def with_rates(problem: Problem, rates: Mapping[str, float]) -> Problem:
    """Return the fleet with other rates of requests, the same in all time windows."""
    models = tuple(
        model.changed(requests=replace(model.requests, rate=rates.get(model.name, 0.0), rates=()))
        if model.requests
        else model
        for model in problem.models
    )
    return replace(problem, models=models)


def expected_demand(
    problem: Problem,
    rates: Sequence[RateEstimate],
    bound: str,
    settings: PolicySettings,
    seed: int,
    moments: Floats | None = None,
) -> DrawnDemand:
    """Return requests to a fleet until the horizon, with bursts that come together as before.

    Parameters
    ----------
    problem, rates
        The fleet, and how often its models are asked.
    bound
        `low`, `rate` or `high`: which of the estimates holds.
    settings
        How far the horizon is, and how the engines of a GPU share its memory.
    seed
        Decides when they come.
    moments
        Samples of the time to come that follow each other, each for `SAMPLE` seconds; None for all
        of it.
    """
    asked = {
        each.model: float(getattr(each, bound)) if each.rate > 0.0 else each.waiting / QUEUED
        for each in rates
    }
    served = {model.name for model in problem.models if model.requests}
    fleet, lasting = with_rates(problem, asked), _lasting(rates, settings)
    sampled = np.arange(0.0, settings.horizon, SAMPLE) if moments is None else moments
    curves = {
        each.model: _curve(each, lasting, settings.horizon, sampled)
        for each in rates
        if each.model in served
    }
    pieces = MovingDemand(curves=curves).pieces(fleet, QUEUED + SAMPLE * len(sampled), seed)
    cache: Cache = "elastic" if settings.memory == "elastic" else "blocks"
    options = SimulateOptions(cache=cache, router="least-requests", warm_up=QUEUED)
    return DrawnDemand(fleet, tuple(pieces), options)


def _lasting(rates: Sequence[RateEstimate], settings: PolicySettings) -> float:
    """Return for how long rates last: as earlier ones did, and for the horizon if there are none.

    The mean is that of orders of magnitude, since phases last from minutes to days.
    """
    seen = [seconds for each in rates for seconds in each.phases]
    return float(np.exp(np.mean(np.log(seen)))) if seen else settings.horizon


def _curve(known: RateEstimate, lasting: float, horizon: float, moments: Floats) -> RateCurve:
    """Return how a rate goes on: as it has been while it lasted, then as in all that is known.

    It lasts as long again as it has lasted, or as rates usually do if that is longer. Where nobody
    comes any more, those come who wait.

    Parameters
    ----------
    known, lasting
        What is known of the rate, and how long rates last.
    horizon
        The seconds to come. They repeat as many seconds of the past, or all of it again and again.
    moments
        Those that the curve shows, one after the other.
    """
    past = np.array(known.past)
    if not known.rate > 0.0:
        return RateCurve((0.0, QUEUED), (1.0, 0.0))
    queued = known.waiting / (QUEUED * known.rate)
    if not len(past):
        return RateCurve((0.0, QUEUED), (queued, 1.0))
    now = max(int(known.seconds / known.interval), 1)
    steps = (moments / known.interval).astype(int)
    again = (steps - int(horizon / known.interval)) % len(past)
    as_now = len(past) - now + steps % now
    still = (moments < max(known.seconds, lasting)) & (now < len(past))
    factors = past[np.where(still, as_now, again)] / known.rate
    starts = (QUEUED + SAMPLE * n for n in range(len(moments)))
    return RateCurve((0.0, *starts), (queued, *factors.tolist()))


def settled_lives(problem: Problem, places: Places) -> list[EngineLife]:
    """Return the engines of a placement as lives without an end."""
    return [EngineLife(each.model, each.gpus, each.cache_gb) for each in caches_of(problem, places)]


def outlook(demand: DrawnDemand, lives: Iterable[EngineLife]) -> Outlook:
    """Return what becomes of drawn requests with some engines."""
    found: Simulation = simulate_lives(demand.problem, lives, demand.pieces, demand.options)
    in_time = {each.name: each.attainment * each.judged for each in found.models}
    lost = {each.name: each.arrived - in_time[each.name] for each in found.models}
    return Outlook(float(sum(m.arrived for m in found.models)), sum(in_time.values()), lost)
