"""What users of a placement would feel: the law, applied to all of its replicas."""

from collections.abc import Mapping
from math import inf, isinf, sqrt
from typing import NamedTuple

import numpy as np

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.latency.law import (
    BUSY,
    PREFILLED,
    STATE_COLUMNS,
    STRETCHED,
    TPOT,
    interruption,
    queueing,
    ratio_of,
    saturated,
    wait_for_slot,
)
from colocate.latency.placed import rate_all, settle_all
from colocate.latency.table import (
    PlacedEngines,
    placed_engines,
    rates_in,
    replicas_on,
    rows_in_window,
    spread_of,
)
from colocate.problem.cache import caches_of
from colocate.problem.instance import Floats
from colocate.problem.parts import Part, Places
from colocate.problem.problem import Problem
from colocate.problem.requests import Requests
from colocate.problem.sharing import COSTS

NORMAL_99 = 2.326
"""Standard deviations up to which 99 in 100 values of a normal distribution are."""


class Spread(NamedTuple):
    """A latency as its mean and its percentiles."""

    mean: float
    p95: float
    p99: float

    def at(self, percentile: float | None) -> float:
        """Return the mean, or the percentile that a target is about."""
        return self.mean if percentile is None else self.p95 if percentile == 95.0 else self.p99


class Latency(NamedTuple):
    """What one replica of a model does, beside its neighbours or alone; times in seconds."""

    tpot: Spread
    """For each output token; 0 for a model that makes none."""
    ttft: Spread
    """To the first token; infinite if saturated."""
    busy: float
    """The chance that it has a request in work."""
    in_flight: float
    """Requests in work on average; all slots if saturated."""
    in_flight_p99: float
    cache_gb: float
    """The cache that they hold, over all shards."""
    cache_gb_p99: float
    ratio: float
    """The worst latency over its target; infinite if saturated, 0 without a target."""

    @property
    def saturated(self) -> bool:
        """Whether its queue grows without end."""
        return isinf(self.ttft.mean)


class Prediction(NamedTuple):
    """What users of one replica feel, and what they would feel if it had its GPUs for itself."""

    model: str
    replica: int
    """Which of its replicas, from 0 on."""
    gpus: tuple[str, ...]
    shared: Latency
    alone: Latency
    slots: float
    """Requests that it works on at once, by its settings and by its cache."""
    requests: Requests
    """What it is asked, and how fast it must answer."""
    window: int = 0
    """The time window that all of this is about: the one in which it is furthest from its target.
    """
    window_name: str = ""
    """What that window is called; empty where there is only one."""

    @property
    def slower(self) -> float:
        """How many times slower tokens come than alone; first ones for a model without others."""
        if self.alone.tpot.mean > 0.0:
            return self.shared.tpot.mean / self.alone.tpot.mean
        return self.shared.ttft.mean / self.alone.ttft.mean if self.alone.ttft.mean > 0.0 else 1.0

    @property
    def keeps_targets(self) -> bool:
        """Whether every target holds; so it is where there is none and the queue stays finite."""
        return self.shared.ratio <= 1.0


def predict_placement(
    problem: Problem, placement: Places, sharing: str | None = None
) -> tuple[Prediction, ...]:
    """Predict what users of every replica feel in its worst window, in the order of the problem.

    Parameters
    ----------
    problem
        The models, with their requests, and the GPUs.
    placement
        The GPUs of every model; a model without any is asleep and left out.
    sharing
        How engines share a GPU; None for the way that the problem states.

    Raises
    ------
    InputError
        If the problem does not say what the models are asked.
    """
    if not problem.has_requests:
        advice = "give prompt_tokens, output_tokens, a rate and a known kind of GPU"
        raise InputError(Fault("has no requests to predict from", advice=advice))
    replicas = replicas_on(problem, placement)
    engines = placed_engines(problem, replicas)
    cache = {(c.model, c.replica): c for c in caches_of(problem, placement)}
    slots = np.array([_slots(parts, cache[_key(parts)].cache_gb) for parts in replicas])
    rates = rates_in(replicas, problem.windows)
    with np.errstate(over="ignore"):  # more requests than a float holds saturate an engine
        worst = _worst_windows(engines, sharing or problem.sharing, rates, slots)
        found: dict[int, Prediction] = {}
        for window in sorted(set(worst)):
            here = _in_window(engines, rates, window)
            shared, alone = (_settled(here, way) for way in (sharing or problem.sharing, "alone"))
            for row in (row for row, of_row in enumerate(worst) if of_row == window):
                parts = replicas[row]
                found[row] = Prediction(
                    parts[0].model.name,
                    parts[0].replica,
                    tuple(part.gpu for part in parts),
                    _latency(here, row, shared, slots[row], parts[0]),
                    _latency(here, row, alone, slots[row], parts[0]),
                    float(slots[row]),
                    _requests(parts[0]).in_window(window),
                    window,
                    problem.named_windows[window].name if problem.windows > 1 else "",
                )
    return tuple(found[row] for row in range(len(replicas)))


def _worst_windows(engines: PlacedEngines, sharing: str, rates: Floats, slots: Floats) -> list[int]:
    """Return the window in which the ratio of every replica is highest; of equal ones, the busiest.

    Without a target, or where all queues grow, that is the window with most requests.
    """
    if len(rates) == 1:
        return [0] * len(slots)
    ratios = np.zeros(rates.shape)
    for window in range(len(rates)):
        here = _in_window(engines, rates, window)
        rate_all(here, _settled(here, sharing), slots, ratios[window])
    busiest = np.where(ratios == ratios.max(axis=0), rates, -1.0)
    return [int(window) for window in busiest.argmax(axis=0)]


def _in_window(engines: PlacedEngines, rates: Floats, window: int) -> PlacedEngines:
    return engines._replace(engines=rows_in_window(engines.engines, rates, window))


def ratios_of(predictions: tuple[Prediction, ...], gpus: Mapping[str, object]) -> dict[str, float]:
    """Return the worst ratio on every GPU; 0 for those without models."""
    ratios = dict.fromkeys(gpus, 0.0)
    for each in predictions:
        for gpu in each.gpus:
            ratios[gpu] = max(ratios[gpu], each.shared.ratio)
    return ratios


def _key(parts: list[Part]) -> tuple[str, int]:
    return parts[0].model.name, parts[0].replica


def _requests(part: Part) -> Requests:
    assert part.model.requests is not None, "the problem has requests"
    return part.model.requests


def _slots(parts: list[Part], cache_gb: float) -> float:
    """Return how many requests a replica can work on at once."""
    requests = _requests(parts[0])
    if requests.request_gb <= 0.0:
        return requests.slots
    return min(requests.slots, cache_gb * len(parts) / requests.request_gb)


def _settled(engines: PlacedEngines, sharing: str) -> Floats:
    state = np.zeros((len(engines.engines), STATE_COLUMNS))
    settle_all(engines, np.array(COSTS[sharing]), state)
    return state


def _latency(engines: PlacedEngines, row: int, state: Floats, slots: float, part: Part) -> Latency:
    requests = _requests(part)
    tpot, step, prefill = (float(state[row, column]) for column in (TPOT, STRETCHED, PREFILLED))
    of_engine = engines.engines, row, state, row
    full = bool(saturated(*of_engine, slots))
    queue = inf if full else float(queueing(*of_engine))
    wait = inf if full else queue + float(wait_for_slot(*of_engine, slots))
    between = tpot - step if full else float(interruption(*of_engine, queue))
    in_flight = slots if full else requests.rate * (requests.decode_tokens * tpot + prefill)
    at_most = min(in_flight + NORMAL_99 * sqrt(in_flight), slots)
    return Latency(
        _spread(step, between) if requests.decode_tokens else Spread(0.0, 0.0, 0.0),
        _spread(prefill, wait),
        float(state[row, BUSY]),
        in_flight,
        at_most,
        in_flight * requests.request_gb,
        at_most * requests.request_gb,
        float(ratio_of(*of_engine, slots)),
    )


def _spread(fixed: float, waiting: float) -> Spread:
    """Return a latency whose waiting part is spread like an exponential."""
    if isinf(waiting):
        return Spread(inf, inf, inf)
    return Spread(*(fixed + spread_of(p) * waiting for p in (None, 95.0, 99.0)))
