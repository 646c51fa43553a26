"""The engines of a problem's items, as arrays: what the law needs to rate a GPU.

A model that must stay together with others is an engine of its own in their item. The shards of a
replica are several items, with one engine.
"""

from typing import NamedTuple

import numpy as np

from colocate.latency.law import (
    BUSY,
    ENGINE_COLUMNS,
    STATE_COLUMNS,
    STEP_TURN,
    settle_one,
)
from colocate.latency.table import engine_row, rows_in_window
from colocate.problem.instance import Bools, Floats, Ints
from colocate.problem.kernel import entry_kernel
from colocate.problem.model import Model
from colocate.problem.reduction import Reduction
from colocate.problem.sharing import COSTS
from colocate.problem.tolerance import ARRIVED
from colocate.problem.verify import highest_pressure
from colocate.problem.window import telling_windows

LEAST, WEIGHT, EQUAL, REQUEST = 0, 1, 2, 3
"""Columns of `cache`, for one part of an engine: its least cache, its load, whether it has a share
where nobody has load, and the cache that a request takes from the part."""


class EngineTable(NamedTuple):
    """What is known of e engines, in T windows, on k kinds of GPU, in n items.

    Of the windows of a problem only those are here that ask more of some engine than each other
    one: latencies rise with the requests of every engine, so no other window can be the worst.
    """

    rows: Floats
    """rows[T, k, e, ENGINE_COLUMNS]: as `latency.law` takes them."""
    lone: Floats
    """lone[T, k, e, STATE_COLUMNS]: the state of an engine without neighbours."""
    push: Floats
    """push[T, e]: seconds that its neighbours wait each turn, where that is least."""
    cache: Floats
    """cache[e, 4]: see `LEAST` and the others."""
    harm: Floats
    """harm[e]: the same in the window where it is most."""
    binding: Bools
    """binding[e]: whether its targets must hold."""
    items: Ints
    """items[e, 2]: its first item, and how many it has, one after the other."""
    engine: Ints
    """The engines of all items, one item after the other."""
    first: Ints
    """first[n + 1]: where those of an item begin."""
    memory: Floats
    """memory[g]: GB of a GPU."""
    sharing: Floats
    """The constants of the way to share."""
    highest: float
    """The highest pressure that a GPU may have."""
    by_pressure: bool
    """Whether a GPU costs its pressure, or its ratio."""
    joined: bool
    """Whether some engine has shards, which join GPUs."""
    left_out: float
    """The share of a latency that ratings may leave out."""


def engine_table(reduction: Reduction) -> EngineTable:
    """Write down the engines of a problem with fixed numbers of replicas."""
    problem = reduction.whole
    kinds = sorted({gpu.kind for gpu in problem.gpus})
    engines: list[Model] = []
    items: list[tuple[int, int]] = []
    engine: list[int] = []
    first = [0]
    group = -1
    for number, item in enumerate(reduction.items):
        follows = item.shard_group >= 0 and item.shard_group == group
        if not follows:
            engines += [model.part(model.replicas) for model in item.models]
            items += [(number, model.shards) for model in item.models]
        engine += range(len(engines) - len(item.models), len(engines))
        first.append(len(engine))
        group = item.shard_group
    rows = np.array([[_row(part, kind) for part in engines] for kind in kinds])
    rows = _in_windows(rows.reshape(len(kinds), len(engines), ENGINE_COLUMNS), engines)
    sharing = np.array(COSTS[problem.sharing])
    lone = np.zeros((*rows.shape[:-1], STATE_COLUMNS))
    settle_alone(rows, sharing, lone)
    push = np.ascontiguousarray((lone[..., BUSY] * lone[..., STEP_TURN]).min(axis=1))
    return EngineTable(
        rows,
        lone,
        push,
        np.array([_cache(part, shards) for part, (_, shards) in zip(engines, items, strict=True)]),
        push.max(axis=0),
        np.array([_binds(part) for part in engines]),
        np.array(items, np.int64),
        np.array(engine, np.int64),
        np.array(first, np.int64),
        np.array([gpu.memory_gb for gpu in problem.gpus]),
        sharing,
        highest_pressure(problem),
        problem.objective == "pressure",
        any(model.shards > 1 for model in problem.models),
        ARRIVED,
    )


def _in_windows(rows: Floats, engines: list[Model]) -> Floats:
    """Return the rows of engines in every window that can be the worst."""
    asked = [part.requests for part in engines]
    windows = max(len(each.rates) if each else 0 for each in asked)
    if windows < 2:
        return rows[np.newaxis]
    rates = np.zeros((windows, len(engines)))
    for number, each in enumerate(asked):
        assert each is not None, "the caller has checked that requests are known"
        rates[:, number] = each.rates or each.rate
    telling = telling_windows(rates)
    return np.array([rows_in_window(rows, rates, window) for window in telling])


def _row(part: Model, kind: str) -> list[float]:
    assert part.requests is not None, "the caller has checked that requests are known"
    speed = part.requests.engine_on(kind)
    assert speed is not None, "a problem has engines for all kinds of its GPUs"
    return engine_row(part.requests, speed)


def _binds(part: Model) -> bool:
    stated = part.requests
    return stated is not None and stated.binding and stated.has_target


def _cache(part: Model, shards: int) -> list[float]:
    assert part.requests is not None, "the caller has checked that requests are known"
    equal = 0.0 if part.least_cache_gb == 0.0 else 1.0
    return [part.least_cache_gb or 0.0, max(part.load), equal, part.requests.request_gb / shards]


@entry_kernel
def settle_alone(rows: Floats, sharing: Floats, lone: Floats) -> None:
    """Write the state of every engine without neighbours.

    Parameters
    ----------
    rows : rows[T, k, e, ENGINE_COLUMNS], the engines
    sharing : the constants of the way to share
    lone : lone[T, k, e, STATE_COLUMNS], written here
    """
    for window in range(rows.shape[0]):
        for kind in range(rows.shape[1]):
            for engine in range(rows.shape[2]):
                settle_one(
                    rows[window, kind], engine, 0.0, 0.0, sharing, lone[window, kind], engine
                )
