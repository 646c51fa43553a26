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
from colocate.simulate.gpu_groups import joined_gpus
from colocate.simulate.histogram import BINS
from colocate.simulate.kernel import state as columns
from colocate.simulate.kernel.sleepers import sleeping_engines, speeds_elsewhere
from colocate.simulate.kernel.slots import NEVER
from colocate.simulate.kernel.state import NOBODY, SimulationState
from colocate.simulate.options import ROUTERS, SimulateOptions
from colocate.simulate.request_rows import FIRST_ROWS, unused_rows

MOST_SLOTS = 16384
"""Requests that an engine works on at once, at most: far more than any engine does."""
FIRST_WIDTH = 2.0**-10
"""Seconds of an interval of a timeline to begin with; it doubles when they run out."""
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
    awake = replicas_on(problem, placement)
    sleeping = sleeping_engines(problem, placement) if options.wake_seconds is not None else []
    caches = [cache.cache_gb for cache in caches_of(problem, placement)]
    return state_of(problem, awake, caches, sleeping, options, seed)


def state_of(
    problem: Problem,
    awake: Sequence[Sequence[Part]],
    caches_gb: Sequence[float],
    sleeping: Sequence[Sequence[Part]],
    options: SimulateOptions,
    seed: int,
) -> SimulationState:
    """Return the state of some engines before their first request.

    Parameters
    ----------
    problem
        The models and the GPUs.
    awake, caches_gb
        The parts of every engine, those of a model in a row, and its cache on each of its GPUs.
    sleeping
        Engines on no GPU.
    options, seed
        As for `first_state`.
    """
    replicas = [*awake, *sleeping]
    placed = placed_engines(problem, replicas)
    gpus = len(problem.gpus)
    groups = joined_gpus(np.split(placed.gpus, placed.first_gpu[1:-1]), gpus)
    engines = _engines(problem, replicas, placed, groups)
    caches = [gb * 1e9 for gb in caches_gb]
    parts, pools = _pools(problem, replicas, caches, engines, options.cache == "elastic", placed)
    for row, each in enumerate(replicas):
        engines[row, columns.BLOCK_BYTES] = _block_bytes(_requests(each), options) / len(each)
    asleep = np.arange(len(replicas)) >= len(awake)
    for column in (columns.ASLEEP, columns.DOWN, columns.MAY_SLEEP):
        engines[asleep, column] = 1
    engines[asleep, columns.PARTS] = 0
    movable = int(engines[:, columns.MAY_SLEEP].sum()) if sleeping else 0
    members = _members(parts[: len(parts) - len(sleeping)], gpus, movable)
    on_gpu, moments = _gpus(members, parts, pools, engines, problem)
    requests, times = unused_rows(FIRST_ROWS)
    return SimulationState(
        engines=engines,
        speeds=_speeds(replicas, placed.engines),
        slots=np.zeros((len(replicas), int(engines[:, columns.SLOTS].max(initial=1))), np.int32),
        growing=np.zeros((len(replicas), options.block_tokens), np.int32),
        parts=parts,
        progress=np.zeros((len(parts), columns.PART_FLOATS)),
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
        elsewhere=speeds_elsewhere(problem, replicas, options.wake_seconds is not None),
        settings=_settings(problem, options),
        spans=np.array([options.warm_up, options.wake_seconds or 0.0, options.idle_seconds]),
        sharing=np.array(COSTS[options.sharing or problem.sharing]),
    )


def _requests(parts: Sequence[Part]) -> Requests:
    requests = parts[0].model.requests
    assert requests is not None, "the caller has checked that requests are known"
    return requests


def _engines(
    problem: Problem,
    replicas: Sequence[Sequence[Part]],
    placed: PlacedEngines,
    groups: Sequence[Sequence[int]],
) -> Ints:
    """Return the columns of idle engines.

    Parameters
    ----------
    problem
        What is simulated.
    replicas, placed
        The parts of every engine.
    groups
        The GPUs that shards join.
    """
    group_of = {gpu: number for number, group in enumerate(groups) for gpu in group}
    engines = np.zeros((len(replicas), columns.ENGINE_INTS), np.int64)
    engines[:, columns.FIRST_PART] = placed.first_gpu[:-1]
    engines[:, columns.PARTS] = np.diff(placed.first_gpu)
    for row, parts in enumerate(replicas):
        part, stated = parts[0].model, problem.models[parts[0].number]
        engines[row, columns.MODEL] = parts[0].number
        engines[row, columns.SLOTS] = min(floor(_requests(parts).slots), MOST_SLOTS)
        engines[row, columns.GROUP] = group_of[int(placed.gpus[placed.first_gpu[row]])]
        engines[row, columns.MAY_SLEEP] = stated.sleep_cost is not None and len(parts) == 1
        engines[row, columns.WEIGHTS] = part.size_gb * 1e9
        engines[row, columns.LEAST] = (part.least_cache_gb or 0.0) * 1e9
    for column in (columns.HEAD, columns.TAIL, columns.CURRENT):
        engines[:, column] = NOBODY
    engines[:, columns.NEXT_FINISH] = NEVER
    engines[:, columns.LISTED] = np.arange(len(engines))
    return engines


def _speeds(replicas: Sequence[Sequence[Part]], rows: Floats) -> Floats:
    """Return the constants of lone engines; all else is 0."""
    speeds = np.zeros((len(replicas), columns.ENGINE_FLOATS))
    speeds[:, : columns.MEAN_PROMPT] = rows[:, 2:7]
    for row, parts in enumerate(replicas):
        speeds[row, columns.MEAN_PROMPT] = _requests(parts).prompt_tokens
    return speeds


def _members(parts: Ints, gpus: int, more: int) -> Ints:
    """Return the parts on every GPU.

    Parameters
    ----------
    parts
        Those that are awake.
    gpus
        How many GPUs there are.
    more
        How many parts may come.
    """
    of_gpu = parts[:, columns.PART_GPU]
    counts = np.bincount(of_gpu, minlength=gpus)
    members = np.full((gpus, int(counts.max(initial=0)) + more + 1), NOBODY, np.int64)
    for gpu in range(gpus):
        members[gpu, : counts[gpu]] = np.flatnonzero(of_gpu == gpu)
    return members


def _gpus(
    members: Ints, parts: Ints, pools: Ints, engines: Ints, problem: Problem
) -> tuple[Ints, Floats]:
    """Return the columns of GPUs without work.

    Parameters
    ----------
    members, parts, pools, engines
        What is on them.
    problem
        What is simulated.
    """
    gpus = np.zeros((len(members), columns.GPU_INTS), np.int64)
    gpus[:, columns.RUNNING_PART] = gpus[:, columns.LAST_PART] = NOBODY
    for gpu, row in enumerate(members):
        mine = row[row != NOBODY]
        taken = pools[parts[mine, columns.PART_POOL], columns.CAPACITY]
        taken = taken + engines[parts[mine, columns.PART_ENGINE], columns.WEIGHTS]
        gpus[gpu, columns.MEMBERS] = len(mine)
        gpus[gpu, columns.ROOM] = max(int(problem.gpus[gpu].memory_gb * 1e9 - taken.sum()), 0)
    moments = np.zeros((len(members), columns.GPU_FLOATS))
    moments[:, [columns.NEXT, columns.ALARM]] = inf
    moments[:, columns.TURN_ENDED] = -inf
    moments[:, columns.WIDTH] = FIRST_WIDTH
    return gpus, moments


def _pools(
    problem: Problem,
    replicas: Sequence[Sequence[Part]],
    caches: Sequence[float],
    engines: Ints,
    elastic: bool,
    placed: PlacedEngines,
) -> tuple[Ints, Ints]:
    """Return the parts of engines, and the pools of cache that they take from.

    Parameters
    ----------
    problem
        What is simulated.
    replicas, placed, engines
        The engines and their parts.
    caches
        The bytes of cache of those that are awake, on each GPU.
    elastic
        Whether the engines of a GPU share one pool.
    """
    parts = np.zeros((len(placed.gpus), 3), np.int64)
    parts[:, columns.PART_ENGINE] = np.repeat(np.arange(len(replicas)), [len(r) for r in replicas])
    parts[:, columns.PART_GPU] = placed.gpus
    if elastic:
        parts[:, columns.PART_POOL] = placed.gpus
        sizes = np.array([gpu.memory_gb * 1e9 for gpu in problem.gpus])
        awake = parts[:, columns.PART_ENGINE] < len(caches)
        weights = engines[parts[awake, columns.PART_ENGINE], columns.WEIGHTS]
        np.subtract.at(sizes, placed.gpus[awake], weights)
    else:
        parts[:, columns.PART_POOL] = np.arange(len(parts))
        of_engine = np.array([*caches, *[0.0] * (len(replicas) - len(caches))])
        sizes = of_engine[parts[:, columns.PART_ENGINE]]
    rows = np.maximum(sizes, 0.0).astype(np.int64)[:, None]
    return parts, np.repeat(rows, columns.POOL_COLUMNS, axis=1)


def _block_bytes(requests: Requests, options: SimulateOptions) -> float:
    """Return the bytes of a block of a replica, on all shards; 0 where nobody knows them.

    The cache of a mean request is stated in whole blocks, and one more.
    """
    mean = ceil(requests.prompt_tokens + requests.output_tokens)
    blocks = ceil(mean / LAW_BLOCK) + 1
    of_token = requests.request_gb * 1e9 / (blocks * LAW_BLOCK)
    return ceil(of_token * options.block_tokens) if mean else 0.0


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
