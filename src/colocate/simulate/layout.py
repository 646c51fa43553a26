"""A placement as the arrays of a simulation, all idle and empty."""

from collections.abc import Sequence
from math import ceil, floor, inf

import numpy as np

from colocate.latency.table import PlacedEngines, placed_engines, replicas_on
from colocate.problem.cache import caches_of
from colocate.problem.instance import Floats, Ints
from colocate.problem.parts import Part, Places
from colocate.problem.problem import Problem
from colocate.problem.requests import Requests
from colocate.problem.sharing import COSTS
from colocate.simulate import state as columns
from colocate.simulate.engine import NEVER
from colocate.simulate.histogram import BINS
from colocate.simulate.options import ROUTERS, SimulateOptions
from colocate.simulate.state import NOBODY, SimulationState

FIRST_ROWS = 1024
"""Rows of requests to begin with; their number doubles when they run out."""
MOST_SLOTS = 16384
"""Requests that an engine works on at once, at most: far more than any engine does."""
FIRST_WIDTH = 2.0**-10
"""Seconds of an interval of a timeline to begin with; it doubles when they run out."""
UNLIMITED = 2**62
"""Bytes of the cache of an engine that keeps nothing, or of which nobody knows what it keeps."""
LAW_BLOCK = 16
"""Tokens of the blocks, and one block more, in which `Requests.request_gb` is stated."""


def first_state(
    problem: Problem, placement: Places, options: SimulateOptions, seed: int
) -> SimulationState:
    """Return the state of a simulation before its first request.

    Parameters
    ----------
    problem, placement
        The models, the GPUs, and who is where.
    options
        What engines do.
    seed
        Of what is random.
    """
    replicas = replicas_on(problem, placement)
    placed = placed_engines(problem, replicas)
    parts, gpus = len(placed.gpus), len(problem.gpus)
    engines = _engines(replicas, placed)
    groups = _groups(placed, gpus)
    slots = int(max(engines[:, columns.SLOTS].max(initial=1), 1))
    pools, pool_of = _pools(problem, placement, replicas, engines, options)
    rows = np.empty((parts, 3), np.int64)
    rows[:, columns.PART_ENGINE] = np.repeat(np.arange(len(replicas)), engines[:, columns.PARTS])
    rows[:, columns.PART_GPU] = placed.gpus
    rows[:, columns.PART_POOL] = pool_of
    members = _members(placed, gpus)
    on_gpu = np.zeros((gpus, columns.GPU_INTS), np.int64)
    on_gpu[:, columns.RUNNING_PART] = on_gpu[:, columns.LAST_PART] = NOBODY
    on_gpu[:, columns.MEMBERS] = np.diff(placed.first_member)
    moments = np.zeros((gpus, columns.GPU_FLOATS))
    moments[:, [columns.NEXT, columns.ALARM]] = inf
    moments[:, columns.WIDTH] = FIRST_WIDTH
    for group, of_group in enumerate(groups):
        for part in np.flatnonzero(np.isin(rows[:, columns.PART_GPU], of_group)):
            engines[rows[part, columns.PART_ENGINE], columns.GROUP] = group
    requests, times = _rows(FIRST_ROWS)
    return SimulationState(
        engines=engines,
        speeds=_speeds(replicas, placed.engines),
        slots=np.zeros((len(replicas), slots), np.int32),
        growing=np.zeros((len(replicas), options.block_tokens), np.int32),
        parts=rows,
        done=np.zeros(parts),
        gpus=on_gpu,
        moments=moments,
        ready=np.zeros_like(members),
        members=members,
        now=np.zeros((gpus, columns.TIMELINES)),
        timelines=np.zeros((gpus, columns.INTERVALS, columns.TIMELINES)),
        pools=pools,
        requests=requests,
        times=times,
        models=_models(problem, replicas, options, seed),
        targets=_targets(problem),
        counts=np.zeros((len(problem.models), 3, BINS), np.int64),
        sums=np.zeros((len(problem.models), 3, 2)),
        groups=np.array([gpu for group in groups for gpu in group], np.int64),
        first_of_group=np.cumsum([0, *map(len, groups)]).astype(np.int64),
        settings=_settings(problem, options),
        spans=np.array([options.warm_up, options.wake_seconds or 0.0, options.idle_seconds]),
        sharing=np.array(COSTS[options.sharing or problem.sharing]),
    )


def with_more_rows(state: SimulationState) -> SimulationState:
    """Return the state with twice as many rows for requests."""
    rows = len(state.requests)
    requests, times = _rows(rows)
    requests[:, columns.NEXT_REQUEST] += rows
    requests[-1, columns.NEXT_REQUEST] = state.settings[columns.FREE_REQUEST]
    state.settings[columns.FREE_REQUEST] = rows
    return state._replace(
        requests=np.concatenate([state.requests, requests]),
        times=np.concatenate([state.times, times]),
    )


def _rows(count: int) -> tuple[columns.Small, Floats]:
    """Return unused rows of requests, each with the next unused one."""
    requests = np.zeros((count, columns.REQUEST_INTS), np.int32)
    requests[:, columns.NEXT_REQUEST] = np.arange(1, count + 1)
    requests[-1, columns.NEXT_REQUEST] = NOBODY
    return requests, np.zeros((count, 2))


def _requests(parts: Sequence[Part]) -> Requests:
    requests = parts[0].model.requests
    assert requests is not None, "the caller has checked that requests are known"
    return requests


def _engines(replicas: Sequence[Sequence[Part]], placed: PlacedEngines) -> Ints:
    engines = np.zeros((len(replicas), columns.ENGINE_INTS), np.int64)
    engines[:, columns.FIRST_PART] = placed.first_gpu[:-1]
    engines[:, columns.PARTS] = np.diff(placed.first_gpu)
    for row, parts in enumerate(replicas):
        engines[row, columns.MODEL] = parts[0].number
        engines[row, columns.SLOTS] = min(floor(_requests(parts).slots), MOST_SLOTS)
    for column in (columns.HEAD, columns.TAIL, columns.CURRENT):
        engines[:, column] = NOBODY
    engines[:, columns.NEXT_FINISH] = NEVER
    return engines


def _speeds(replicas: Sequence[Sequence[Part]], rows: Floats) -> Floats:
    """Return the constants of lone engines; all else is 0."""
    speeds = np.zeros((len(replicas), columns.ENGINE_FLOATS))
    speeds[:, : columns.MEAN_PROMPT] = rows[:, 2:7]
    for row, parts in enumerate(replicas):
        speeds[row, columns.MEAN_PROMPT] = _requests(parts).prompt_tokens
    return speeds


def _groups(placed: PlacedEngines, gpus: int) -> list[list[int]]:
    """Return groups of GPUs, each joined by engines with shards on several of them."""
    group_of = list(range(gpus))
    for engine in range(len(placed.engines)):
        mine = placed.gpus[placed.first_gpu[engine] : placed.first_gpu[engine + 1]]
        joined = {group_of[gpu] for gpu in mine}
        group_of = [min(joined) if group in joined else group for group in group_of]
    found: dict[int, list[int]] = {}
    for gpu, group in enumerate(group_of):
        found.setdefault(group, []).append(gpu)
    return list(found.values())


def _members(placed: PlacedEngines, gpus: int) -> Ints:
    """Return the parts on every GPU."""
    on_gpu: list[list[int]] = [[] for _ in range(gpus)]
    for part, gpu in enumerate(placed.gpus):
        on_gpu[gpu].append(part)
    members = np.zeros((gpus, max([len(parts) for parts in on_gpu] + [1]) + 1), np.int64)
    for gpu, parts in enumerate(on_gpu):
        members[gpu, : len(parts)] = parts
    return members


def _pools(
    problem: Problem,
    placement: Places,
    replicas: Sequence[Sequence[Part]],
    engines: Ints,
    options: SimulateOptions,
) -> tuple[Ints, Ints]:
    """Return the pools of cache, and which of them each part takes from.

    Parameters
    ----------
    problem, placement, options
        What is simulated.
    replicas
        The parts of every engine.
    engines
        Their columns; the bytes of a block are written here.
    """
    elastic = options.cache == "elastic"
    number = {gpu.name: place for place, gpu in enumerate(problem.gpus)}
    capacity: list[float] = [0.0] * len(problem.gpus) if elastic else []
    pool_of = []
    for row, (parts, cache) in enumerate(zip(replicas, caches_of(problem, placement), strict=True)):
        requests = _requests(parts)
        block = _block_bytes(requests, options.block_tokens) / len(parts)
        engines[row, columns.BLOCK_BYTES] = ceil(block)
        for part in parts:
            if elastic:
                pool_of.append(number[part.gpu])
                capacity[number[part.gpu]] += cache.cache_gb * 1e9
            else:
                pool_of.append(len(capacity))
                capacity.append(cache.cache_gb * 1e9 if block else UNLIMITED)
    pools = np.repeat(np.array([[int(size)] for size in capacity], np.int64), 3, axis=1)
    return pools.reshape(-1, 3), np.array(pool_of, np.int64)


def _block_bytes(requests: Requests, tokens: int) -> float:
    """Return the bytes of a block of a replica, on all shards; 0 where nobody knows them.

    The cache of a mean request is stated in whole blocks, and one more.
    """
    mean = ceil(requests.prompt_tokens + requests.output_tokens / 2)
    blocks = ceil(mean / LAW_BLOCK) + 1
    return requests.request_gb * 1e9 / (blocks * LAW_BLOCK) * tokens if mean else 0.0


def _models(
    problem: Problem, replicas: Sequence[Sequence[Part]], options: SimulateOptions, seed: int
) -> Ints:
    models = np.zeros((len(problem.models), columns.MODEL_INTS), np.int64)
    for row, parts in enumerate(replicas):
        model = parts[0].number
        if models[model, columns.ENGINES] == 0:
            models[model, columns.FIRST_ENGINE] = row
        models[model, columns.ENGINES] += 1
    if options.router == "random-two":
        for model in range(len(models)):
            rng = np.random.default_rng([seed, model])
            models[model, columns.ROUND] = rng.integers(1, 2**31 - 1)
    return models


def _targets(problem: Problem) -> Floats:
    stated = [model.requests for model in problem.models]
    return np.array([[each.tpot_slo, each.ttft_slo] if each else [inf, inf] for each in stated])


def _settings(problem: Problem, options: SimulateOptions) -> Ints:
    settings = np.zeros(columns.SETTINGS, np.int64)
    slices = (options.sharing or problem.sharing) == "slices"
    settings[columns.SHARING] = columns.SLICES if slices else columns.SIDE_BY_SIDE
    settings[columns.CHUNKED] = options.prefill == "chunked"
    settings[columns.BUDGET] = min(options.token_budget, 2**31)
    settings[columns.ELASTIC] = options.cache == "elastic"
    settings[columns.BLOCK] = options.block_tokens
    settings[columns.ROUTER] = ROUTERS.index(options.router)
    settings[columns.WAKES] = options.wake_seconds is not None
    return settings
