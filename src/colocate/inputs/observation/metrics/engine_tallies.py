"""From the series of the engines of one model to what was counted in bins of time."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from colocate.inputs.observation.estimate import BinTally, Floats
from colocate.inputs.observation.measured_model import REQUESTS
from colocate.inputs.observation.metrics.counters import GONE_AFTER, Flags, alive, total
from colocate.inputs.observation.metrics.engine_series import EngineSeries
from colocate.inputs.observation.observation import Basis

FIELDS = {"prompt": "prompt_tokens", "output": "output_tokens", "ttft": "ttft", "tpot": "tpot"}
"""What observations call the means of engines."""


class ModelTally(NamedTuple):
    """What the engines of one model counted."""

    basis: Basis
    tallies: dict[str, BinTally]
    replicas: int
    restarts: int
    """How often a counter of requests began again."""
    growth: float
    """Requests a second by which those in work and in the queue grew."""
    unseen: Flags
    """The bins of which only the sum with their neighbours is known, or what a restart left."""
    last: int
    """The number of the last bin in which requests are known, from 1 on; 0 for none."""


def tallies_of(engines: Sequence[EngineSeries], step: float) -> ModelTally | None:
    """Return what the engines of a model counted, None if none of them counts requests.

    Where a gateway stands before them, its requests count, and not theirs. Engines that nobody has
    asked yet count none.

    Parameters
    ----------
    engines
        All that serve the model.
    step
        Seconds of a bin.
    """
    counting = [each for each in engines if each.way("started") or each.way("completed")]
    gateways = [each for each in counting if each.metrics.gateway]
    workers = [each for each in engines if not each.metrics.gateway]
    asked = gateways or counting or [each for each in engines if each.idle]
    if not asked:
        return None
    basis = _basis(asked)
    requests = total([_requests(each, basis) for each in asked], missed=GONE_AFTER - 1)
    known = np.isfinite(requests)
    tallies = {REQUESTS: BinTally(requests, np.where(known, step, np.nan))}
    for quantity, name in FIELDS.items():
        means = [mean for each in asked if (mean := each.mean(quantity)) is not None]
        if means:
            sums, counts = (total([mean[side] for mean in means]) for side in (0, 1))
            tallies[name] = BinTally(sums, counts)
    tallies |= _shares(workers or asked, asked)
    name = "started" if basis is Basis.STARTED else "completed"
    own = [each for each in asked if each.way(name)]
    hidden = [np.zeros(len(requests), np.bool_)]
    hidden += [each.unseen(name) | each.restarted(name) for each in own]
    return ModelTally(
        basis,
        tallies,
        len([each for each in workers if each.way("completed") or each.way("started")]),
        sum(int(each.restarted(name).sum()) for each in own),
        _queue_growth(asked, step),
        np.asarray(np.array(hidden).any(axis=0)),
        int(np.flatnonzero(known)[-1]) + 1 if known.any() else 0,
    )


def _basis(engines: Sequence[EngineSeries]) -> Basis:
    """Return the best that all engines of a model tell."""
    if all(each.way("started") for each in engines):
        return Basis.STARTED
    if any(each.in_system is not None for each in engines) and all(
        each.in_system is not None or not each.way("completed") for each in engines
    ):
        return Basis.QUEUE
    return Basis.COMPLETED


def _requests(engine: EngineSeries, basis: Basis) -> Floats:
    """Return the requests of an engine in each bin."""
    started = engine.counted("started")
    if basis is Basis.STARTED and started is not None:
        return started
    completed, inside = engine.counted("completed"), engine.in_system
    if completed is None and started is not None:
        return started
    if completed is None:
        assert inside is not None, "the engine counts requests, or is known to have none"
        return np.diff(inside)
    if basis is Basis.COMPLETED or inside is None:
        return completed
    grown = np.where(engine.restarted("completed"), inside[1:], np.diff(inside))
    return completed + grown


def _shares(workers: Sequence[EngineSeries], asked: Sequence[EngineSeries]) -> dict[str, BinTally]:
    """Return means over engines: how often they are busy, how full their caches are, queues."""
    found = {}
    running = [gauge for each in workers if (gauge := each.gauge("running")) is not None]
    if running:
        busy = [np.where(np.isfinite(row), row > 0.0, np.nan) for row in running]
        found["busy"] = _mean_of(busy)
    caches = [gauge for each in workers if (gauge := each.gauge("cache")) is not None]
    if caches:
        found["cache"] = _mean_of(caches)
    waiting = [gauge for each in asked if (gauge := each.gauge("waiting")) is not None]
    if waiting:
        queue = total(waiting, missed=1)[1:]
        found["waiting"] = BinTally(queue, np.where(np.isfinite(queue), 1.0, np.nan))
    return found


def _mean_of(rows: Sequence[Floats]) -> BinTally:
    """Return the sums over engines at the end of each bin, and how many are known there."""
    values = np.array(rows)[:, 1:]
    known = np.isfinite(values)
    return BinTally(np.where(known, values, 0.0).sum(axis=0), known.sum(axis=0).astype(np.float64))


def _queue_growth(engines: Sequence[EngineSeries], step: float) -> float:
    """Return by how many requests a second those in the system grew, from first to last."""
    inside = [row for each in engines if (row := each.in_system) is not None]
    grown = 0.0
    for row in inside:
        known = row[alive(row) & np.isfinite(row)]
        if len(known) > 1:
            grown += float(known[-1] - known[0]) / ((len(row) - 1) * step)
    return grown
