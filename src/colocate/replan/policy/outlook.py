"""How many requests would be in time, by replays of what the rates let expect.

Engines that share no GPU and no model do not notice each other. So a replay is made of its parts,
and a part is replayed only once for all placements that have it: a change on two GPUs costs no more
in a fleet of a hundred.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
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
    busy: Mapping[str, float] = MappingProxyType({})
    """The share of time for which each GPU with an engine computes."""


class _PartOutlook(NamedTuple):
    """What a replay of engines found that notice no others."""

    arrived: dict[str, float]
    in_time: dict[str, float]
    """Requests of each model, and those of them that kept all targets."""
    busy: dict[str, float]
    """As of an `Outlook`."""


@dataclass(frozen=True)
class DrawnDemand:
    """Requests as estimated rates would have them, drawn once for all ways that are compared.

    Parameters
    ----------
    problem
        The fleet, with these rates.
    pieces
        The requests.
    options
        How engines serve them.
    """

    problem: Problem
    pieces: tuple[RequestStream, ...]
    options: SimulateOptions
    _known: dict[tuple[EngineLife, ...], _PartOutlook] = field(default_factory=dict, repr=False)
    """What was found for each part that was replayed."""

    def of_part(self, part: tuple[EngineLife, ...]) -> _PartOutlook:
        """Return what becomes of the requests to engines that share GPUs or models."""
        if part not in self._known:
            self._known[part] = self._replayed(part, {life.model for life in part})
        return self._known[part]

    def without_engine(self, models: Iterable[str]) -> _PartOutlook:
        """Return what becomes of the requests to models that nobody serves."""
        return self._replayed((), set(models))

    def _replayed(self, lives: Sequence[EngineLife], models: set[str]) -> _PartOutlook:
        numbers = [n for n, model in enumerate(self.problem.models) if model.name in models]
        if not numbers:
            return _PartOutlook({}, {}, {})
        alone = tuple(self.problem.models[number] for number in numbers)
        fleet = replace(self.problem, models=alone, apart=(), together=())
        asked = (_only(piece, numbers) for piece in self.pieces)
        found: Simulation = simulate_lives(fleet, lives, asked, self.options)
        here = {gpu for life in lives for gpu in life.gpus}
        return _PartOutlook(
            {each.name: float(each.arrived) for each in found.models},
            {each.name: each.attainment * each.judged for each in found.models},
            {each.name: each.busy for each in found.gpus if each.name in here},
        )


def _only(stream: RequestStream, models: Sequence[int]) -> RequestStream:
    """Return the requests to some models, given by rising numbers; they are numbered anew."""
    rows = np.isin(stream.model, models)
    return RequestStream(
        stream.arrival[rows],
        np.searchsorted(models, stream.model[rows]).astype(stream.model.dtype),
        stream.prompt[rows],
        stream.output[rows],
        stream.seconds,
    )


def with_rates(problem: Problem, rates: Mapping[str, float]) -> Problem:
    """Return the fleet with other rates of requests, the same in all time windows.

    A model without another rate keeps its own.
    """
    models = tuple(
        model.changed(
            requests=replace(
                model.requests, rate=rates.get(model.name, model.requests.rate), rates=()
            )
        )
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
    if known.seconds < known.interval:  # the last interval is of two rates
        factors = np.where(still, 1.0, factors)
    starts = (QUEUED + SAMPLE * n for n in range(len(moments)))
    return RateCurve((0.0, *starts), (queued, *factors.tolist()))


def settled_lives(problem: Problem, places: Places) -> list[EngineLife]:
    """Return the engines of a placement as lives without an end."""
    return [EngineLife(each.model, each.gpus, each.cache_gb) for each in caches_of(problem, places)]


def outlook(demand: DrawnDemand, lives: Iterable[EngineLife]) -> Outlook:
    """Return what becomes of drawn requests with some engines."""
    parts = [demand.of_part(part) for part in parts_of(lives)]
    names = [model.name for model in demand.problem.models]
    served = {name for part in parts for name in part.arrived}
    parts.append(demand.without_engine(name for name in names if name not in served))
    arrived, in_time, busy = (_joined(each) for each in zip(*parts, strict=True))
    lost = {name: arrived[name] - in_time[name] for name in names}
    return Outlook(
        sum(arrived[name] for name in names), sum(in_time[name] for name in names), lost, busy
    )


def _joined(parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    return {name: number for part in parts for name, number in part.items()}


def parts_of(lives: Iterable[EngineLife]) -> list[tuple[EngineLife, ...]]:
    """Return the engines in parts that share neither a GPU nor a model, in the order they have."""
    parts: list[tuple[set[str], set[str], list[int]]] = []
    ordered = list(lives)
    for number, life in enumerate(ordered):
        models, gpus, own = {life.model}, set(life.gpus), [number]
        apart = []
        for part in parts:
            if models.isdisjoint(part[0]) and gpus.isdisjoint(part[1]):
                apart.append(part)
            else:
                models, gpus, own = models | part[0], gpus | part[1], own + part[2]
        parts = [*apart, (models, gpus, own)]
    return [tuple(ordered[number] for number in sorted(own)) for _, _, own in parts]
