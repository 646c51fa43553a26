"""How many requests would be in time if rates stayed as they are: by replays."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from colocate.problem.cache import caches_of
from colocate.problem.parts import Places
from colocate.problem.problem import Problem
from colocate.problem.tolerance import TINY
from colocate.replan.policy.rates import RateEstimate
from colocate.replan.policy.settings import PolicySettings
from colocate.simulate.demand.kinds import BurstDemand
from colocate.simulate.demand.requests import RequestStream
from colocate.simulate.engine_life import EngineLife
from colocate.simulate.live.run import simulate_lives
from colocate.simulate.options import Cache, SimulateOptions
from colocate.simulate.result import Simulation


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
    """Return the fleet with other rates of requests."""
    models = tuple(
        model.changed(requests=replace(model.requests, rate=rates.get(model.name, 0.0)))
        if model.requests
        else model
        for model in problem.models
    )
    return replace(problem, models=models)


def drawn_demand(
    problem: Problem,
    rates: Sequence[RateEstimate],
    bound: str,
    seconds: float,
    settings: PolicySettings,
    seed: int,
) -> DrawnDemand:
    """Return requests to a fleet for some time to come.

    Parameters
    ----------
    problem, rates
        The fleet, and how often its models are asked.
    bound
        `low`, `rate` or `high`: which of the estimates holds.
    seconds, seed
        For how long, and what decides when they come.
    settings
        How the engines of a GPU share its memory.
    """
    asked = {each.model: float(getattr(each, bound)) for each in rates}
    weights = np.array([each.rate for each in rates]) + TINY
    variation = float(np.average([each.variation for each in rates], weights=weights))
    fleet = with_rates(problem, asked)
    pieces = tuple(BurstDemand(variation=variation).pieces(fleet, seconds, seed))
    cache: Cache = "elastic" if settings.memory == "elastic" else "blocks"
    return DrawnDemand(fleet, pieces, SimulateOptions(cache=cache, router="least-requests"))


def settled_lives(problem: Problem, places: Places) -> list[EngineLife]:
    """Return the engines of a placement as lives without an end."""
    return [EngineLife(each.model, each.gpus, each.cache_gb) for each in caches_of(problem, places)]


def outlook(demand: DrawnDemand, lives: Iterable[EngineLife]) -> Outlook:
    """Return what becomes of drawn requests with some engines."""
    found: Simulation = simulate_lives(demand.problem, lives, demand.pieces, demand.options)
    in_time = {each.name: each.attainment * each.judged for each in found.models}
    lost = {each.name: each.arrived - in_time[each.name] for each in found.models}
    return Outlook(float(sum(m.arrived for m in found.models)), sum(in_time.values()), lost)
