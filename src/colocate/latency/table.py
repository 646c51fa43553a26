"""The engines of a placement as arrays for the law: one for every replica of a model."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from math import log
from typing import NamedTuple

import numpy as np

from colocate.latency.law import ENGINE_COLUMNS, RATE, TPOT_SLO, TTFT_SLO
from colocate.problem.gpu import Gpu
from colocate.problem.instance import Floats, Ints
from colocate.problem.parts import Part, Places, parts_of
from colocate.problem.problem import Problem
from colocate.problem.requests import EngineSpeed, Requests


class PlacedEngines(NamedTuple):
    """Engines on GPUs, by number; an engine with shards is on several GPUs."""

    engines: Floats
    """engines[n, ENGINE_COLUMNS]: see `law.RATE` and the others."""
    gpus: Ints
    """The GPUs of all engines, one engine after the other."""
    first_gpu: Ints
    """first_gpu[n + 1]: where those of an engine begin."""
    members: Ints
    """The engines on all GPUs, one GPU after the other."""
    first_member: Ints
    """first_member[g + 1]: where those of a GPU begin."""
    joined: Ints
    """All engines, those that are joined by GPUs and shards one after the other."""
    first_joined: Ints
    """first_joined[lots + 1]: where those of each such lot begin."""


def spread_of(percentile: float | None) -> float:
    """Return how many times its mean an exponential is at a percentile; 1 for the mean."""
    return 1.0 if percentile is None else -log(1.0 - percentile / 100.0)


def engine_row(requests: Requests, engine: EngineSpeed) -> list[float]:
    """Return the columns of an engine, in its busiest window."""
    return [
        requests.rate,
        requests.decode_tokens,
        engine.step,
        engine.step_per_request,
        engine.prefill,
        engine.prefill_work,
        engine.layers,
        requests.slots,
        requests.tpot_slo,
        requests.ttft_slo,
        spread_of(requests.percentile),
    ]


def replicas_on(problem: Problem, placement: Places) -> list[list[Part]]:
    """Return the parts of every replica of a placement, in the order of the problem."""
    by_replica = groupby(parts_of(problem, placement), key=lambda part: (part.number, part.replica))
    return [list(parts) for _, parts in by_replica]


def placed_engines(problem: Problem, replicas: Sequence[Sequence[Part]]) -> PlacedEngines:
    """Return the engines of a placement's replicas, each in its busiest window."""
    number = {gpu.name: place for place, gpu in enumerate(problem.gpus)}
    named = {gpu.name: gpu for gpu in problem.gpus}
    engines = np.zeros((len(replicas), ENGINE_COLUMNS))
    on_gpu: list[list[int]] = [[] for _ in problem.gpus]
    for row, parts in enumerate(replicas):
        engines[row] = _row(parts, named)
        for part in parts:
            on_gpu[number[part.gpu]].append(row)
    gpus = [number[part.gpu] for parts in replicas for part in parts]
    lots = _lots([[number[part.gpu] for part in parts] for parts in replicas], len(problem.gpus))
    return PlacedEngines(
        engines,
        np.array(gpus, np.int64),
        _starts([len(parts) for parts in replicas]),
        np.array([row for rows in on_gpu for row in rows], np.int64),
        _starts([len(rows) for rows in on_gpu]),
        np.array([row for rows in lots for row in rows], np.int64),
        _starts([len(rows) for rows in lots]),
    )


def rates_in(replicas: Sequence[Sequence[Part]], windows: int) -> Floats:
    """Return rates[T, n]: the requests each second to every replica in every window."""
    rates = np.zeros((windows, len(replicas)))
    for row, parts in enumerate(replicas):
        requests = parts[0].model.requests
        assert requests is not None, "the caller has checked that requests are known"
        rates[:, row] = requests.rates or requests.rate
    return rates


def rows_in_window(rows: Floats, rates: Floats, window: int) -> Floats:
    """Return the columns of engines in a time window; who is not asked there misses no target.

    Parameters
    ----------
    rows
        rows[..., n, ENGINE_COLUMNS]: the engines.
    rates
        rates[T, n]: requests each second, in all windows.
    window
        The window.
    """
    found = rows.copy()
    found[..., RATE] = rates[window]
    idle = (rates[window] == 0.0) & (rates.max(axis=0) > 0.0)
    found[..., idle, TPOT_SLO] = found[..., idle, TTFT_SLO] = np.inf
    return found


def _lots(gpus_of: Sequence[Sequence[int]], gpus: int) -> list[list[int]]:
    """Return the engines that GPUs and shards join; no lot feels anything of another one."""
    first = list(range(gpus))

    def first_of(gpu: int) -> int:
        while first[gpu] != gpu:
            first[gpu] = first[first[gpu]]
            gpu = first[gpu]
        return gpu

    for mine in gpus_of:
        for gpu in mine[1:]:
            first[first_of(gpu)] = first_of(mine[0])
    lots: dict[int, list[int]] = {}
    for row, mine in enumerate(gpus_of):
        lots.setdefault(first_of(mine[0]), []).append(row)
    return list(lots.values())


def _row(parts: Sequence[Part], named: Mapping[str, Gpu]) -> Floats:
    """Return the columns of a replica; on GPUs of several kinds it is as slow as the slowest."""
    requests = parts[0].model.requests
    assert requests is not None, "the caller has checked that requests are known"
    by_kind = dict(requests.engines)
    rows = [engine_row(requests, by_kind[named[part.gpu].kind]) for part in parts]
    slowest: Floats = np.max(np.array(rows), axis=0)
    return slowest


def _starts(counts: Sequence[int]) -> Ints:
    return np.cumsum([0, *counts]).astype(np.int64)
