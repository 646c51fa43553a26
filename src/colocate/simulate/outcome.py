"""From the arrays of a simulation to what it found."""

from math import exp, inf

import numpy as np

from colocate.problem.instance import Floats, Ints
from colocate.problem.problem import Problem
from colocate.simulate.histogram import GROWTH, SHORTEST, quantile
from colocate.simulate.kernel import state as columns
from colocate.simulate.kernel.state import SimulationState
from colocate.simulate.result import (
    CacheShare,
    Distribution,
    GpuOutcome,
    ModelOutcome,
    Simulation,
    Timeline,
)

TOGETHER = 10
"""Intervals of a histogram that are drawn as one, a tenth longer than the one before."""


def outcome_of(
    problem: Problem, state: SimulationState, seconds: float, complete: bool, lifetimes: Floats
) -> Simulation:
    """Return what a simulation found.

    Parameters
    ----------
    problem
        What was simulated.
    state
        Its arrays at the end, all sums up to date.
    seconds
        How long was simulated.
    complete
        Whether all requests were replayed.
    lifetimes
        For how long each engine was there, of the time that counts.
    """
    counted = max(seconds - float(state.spans[columns.WARM_UP]), 0.0)
    late = _late(state, seconds)
    width = float(state.moments[:, columns.WIDTH].max())
    return Simulation(
        seconds,
        complete,
        tuple(
            _model(model.name, number, state, counted, int(late[number]), lifetimes)
            for number, model in enumerate(problem.models)
        ),
        tuple(
            _gpu(gpu.name, number, state, seconds, counted, width)
            for number, gpu in enumerate(problem.gpus)
        ),
    )


def _live(state: SimulationState) -> columns.Small:
    """Return the rows of requests that wait or are in work."""
    in_use = np.ones(len(state.requests), bool)
    row = int(state.settings[columns.FREE_REQUEST])
    while row != columns.NOBODY:
        in_use[row] = False
        row = int(state.requests[row, columns.NEXT_REQUEST])
    found: columns.Small = np.flatnonzero(in_use).astype(np.int32)
    return found


def _late(state: SimulationState, seconds: float) -> columns.Small:
    """Return how many unfinished requests of each model missed the target for the first token."""
    rows = _live(state)
    models = state.requests[rows, columns.OF_MODEL]
    arrival, first = state.times[rows].T
    so_far = np.where(first >= 0.0, first, seconds) - arrival
    late = (so_far > state.targets[models, columns.TTFT_SLO]) & (
        arrival >= state.spans[columns.WARM_UP]
    )
    return np.bincount(models[late], minlength=len(state.models)).astype(np.int32)


def _model(
    name: str, number: int, state: SimulationState, counted: float, late: int, lifetimes: Floats
) -> ModelOutcome:
    """Return what the users of a model felt.

    Parameters
    ----------
    name, number
        Its name and number.
    state, lifetimes
        The arrays at the end, and for how long each engine was there.
    counted
        The seconds that count.
    late
        Unfinished requests that missed their target.
    """
    rows = np.flatnonzero(state.engines[:, columns.MODEL] == number)
    whole = state.models[number]
    arrived, finished, refused, attained = (
        int(whole[column])
        for column in (columns.ARRIVED, columns.FINISHED, columns.REFUSED, columns.ATTAINED)
    )
    judged = finished + refused + late
    sums = state.speeds[rows].sum(axis=0)
    over_time = sums / (counted or inf)
    there = [int(row) for row in rows if lifetimes[row] > 0.0]
    used = [_cache(state, row, float(lifetimes[row])) for row in there] or [(0.0, 0.0)]
    ttft, tpot, end_to_end = (_distribution(state, number, what) for what in range(3))
    return ModelOutcome(
        name,
        arrived,
        finished,
        arrived - finished - refused,
        refused,
        int(state.engines[rows, columns.PREEMPTIONS].sum()),
        ttft,
        tpot,
        end_to_end,
        attainment=attained / judged if judged else 1.0,
        judged=judged,
        goodput=attained / counted if counted else 0.0,
        busy=float(sums[columns.BUSY_TIME]) / (float(lifetimes[rows].sum()) or inf),
        in_flight=float(over_time[columns.IN_FLIGHT_TIME]),
        cache=CacheShare(float(np.mean([mean for mean, _ in used])), max(most for _, most in used)),
        queue=float(over_time[columns.WAITING_TIME]),
        tokens_in=int(whole[columns.TOKENS_IN]),
        tokens_out=int(whole[columns.TOKENS_OUT]),
        woken=_woken(state, rows),
    )


def _woken(state: SimulationState, rows: Ints) -> int | None:
    """Return how often requests woke engines of a model; None where they cannot."""
    if not state.settings[columns.WAKES] or not len(rows):
        return None
    return int(state.engines[rows, columns.WOKEN].sum())


def _cache(state: SimulationState, engine: int, counted: float) -> tuple[float, float]:
    """Return the shares of its pool that an engine used: on average, and at most."""
    block = int(state.engines[engine, columns.BLOCK_BYTES])
    pool = state.parts[state.engines[engine, columns.FIRST_PART], columns.PART_POOL]
    capacity = int(state.pools[pool, columns.LARGEST])
    if not block or not capacity or not counted:
        return 0.0, 0.0
    mean = float(state.speeds[engine, columns.HELD_TIME]) / counted
    most = int(state.engines[engine, columns.MOST_HELD])
    return mean * block / capacity, most * block / capacity


def _distribution(state: SimulationState, model: int, what: int) -> Distribution:
    counts = state.counts[model, what]
    count = int(counts.sum())
    total, largest = (float(value) for value in state.sums[model, what])
    p50, p95, p99 = (quantile(counts, share, largest) for share in (0.5, 0.95, 0.99))
    mean = total / count if count else 0.0
    return Distribution(count, mean, p50, p95, p99, largest, _coarse(counts))


def _coarse(counts: Ints) -> tuple[tuple[float, int], ...]:
    """Return where wider intervals begin and what they count, those that count something."""
    wide = counts.reshape(-1, TOGETHER).sum(axis=1)
    return tuple(
        (SHORTEST * exp(int(place) * TOGETHER * GROWTH), int(wide[place]))
        for place in np.flatnonzero(wide)
    )


def _gpu(
    name: str, gpu: int, state: SimulationState, seconds: float, counted: float, width: float
) -> GpuOutcome:
    """Return what a GPU did.

    Parameters
    ----------
    name, gpu
        Its name and number.
    state
        The arrays at the end.
    seconds, counted
        How long was simulated, and how much of that counts.
    width
        Of the intervals of all timelines.
    """
    sums, own = state.timelines[gpu], float(state.moments[gpu, columns.WIDTH])
    while own < width:
        pairs = sums.reshape(-1, 2, columns.TIMELINES).sum(axis=1)
        sums = np.concatenate([pairs, np.zeros_like(pairs)])
        own *= 2.0
    begins: Floats = np.arange(float(columns.INTERVALS)) * width
    shown = begins < seconds
    begins, sums = begins[shown], sums[shown].copy()
    lengths = np.minimum(begins + width, seconds) - begins
    sums[:, columns.CACHE_BYTES] /= 1e9
    busy = float(state.moments[gpu, columns.GPU_BUSY]) / counted if counted else 0.0
    return GpuOutcome(name, busy, *(Timeline(begins, sums[:, each] / lengths) for each in range(4)))
