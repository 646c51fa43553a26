"""Large fleets, each with one feature that makes placing hard.

Every fleet is planted: the models are put on GPUs first, and the problem follows from their places,
so a placement always exists. Sizes are log-normal or those of published models; loads follow a
gamma distribution. All numbers are rounded, so they are the same on every machine.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState

from colocate.arena.published_sizes import draw_sizes
from colocate.problem.gpu import Gpu
from colocate.problem.instance import Floats, Ints
from colocate.problem.model import Model
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem

MEMORY_GB = 80.0
"""The memory of an A100 or H100, as in the public benchmark."""
GPUS_OF_NODE = 8
"""As in a typical server."""
HALF_FULL, NEARLY_FULL, FULL = (0.5, 0.7), (0.92, 0.97), (0.95, 1.0)
"""Lowest and highest share of a GPU's memory that models take."""
FEW, SOME = (2, 6), (3, 6)
"""Models per GPU: at least the first number, below the second."""
EVEN, SPIKY = 4.0, 0.3
"""Shapes of the gamma distribution of loads; spiky ones have few hot models."""
NOWHERE = -1
"""Stands for the index of a GPU."""

SHARDED, SHARDS = 0.3, (2, 4, 8)
"""The share of the models that have shards, and how many they may have."""
SHARDED_FULL = 0.59
"""The share of all memory that models take where some have shards."""
PART_GB = 9.0
"""The median size of a model's part on each of its GPUs."""

AUTO, MOST_REPLICAS = 0.2, 8
"""The share of the models, the hottest, with open replicas, and the most replicas of each."""

KINDS_GB = {"rtx-4090": 24.0, "a100-40": 40.0, "l40s": 48.0, "h100": 80.0, "h200": 141.0}
"""Memory according to the data sheets."""
KINDS_FULL, SMALLEST_GB, LARGEST_GB = 0.6, 0.5, 100.0
"""With GPUs of five kinds: the share of all memory that models take, and the range of sizes."""

HOURS, PEAK_HOUR, NIGHT = 24, 14, 0.15
"""Hours of a day, the hour of the highest load, and the load at night as a share of it."""
TIME_ZONES, POPULATION = (0, 1, 6, 15), (0.5, 0.2, 0.2, 0.1)
"""The time zones, in hours apart, and the share of the models in each."""

DEMAND = 2.0
"""The total size of all models, as a multiple of all memory, where models may sleep."""
MOST_PRESSURE = 0.5
"""The limit on pressure in the family `sleepers-limited`, which also sends models to sleep."""

SPEEDS = {"a100": 1.0, "h100": 2.0}
"""The speeds of kinds of GPUs, as round figures: they only have to differ."""
COMPUTE, MOST_BUSY, BUSY = "compute", 0.8, (0.6, 0.95)
"""A resource, its limit, and the lowest and highest share of the limit that models take."""
PINNED, GPUS_OF_GROUP, GROUP = 0.1, 4, (2, 7)
"""The share of the models that are pinned, GPUs per group kept apart, and the group's size."""


class Planted(NamedTuple):
    """A problem, and a placement that proves it has a solution."""

    problem: Problem
    placement: Placement


class Cut(NamedTuple):
    """Models in random order that together fill the GPUs."""

    size: Floats
    gpu_of: Ints


def families(seed: int) -> Iterator[Problem]:
    """Yield a problem of every family in every size, in the order of `CASES`."""
    for case in CASES:
        yield planted(case, seed).problem


def planted(case: str, seed: int) -> Planted:
    """Make the fleet of one case, independent of the others."""
    plant, gpus = CASES[case]
    return plant(RandomState(seed + 10 * list(CASES).index(case)), gpus)


def _sharded(draw: RandomState, count: int) -> Planted:
    """Models on one GPU, or on several of one node; models that fit nowhere are left out."""
    models: list[Model] = []
    places: list[list[int]] = []
    free = np.full((count // GPUS_OF_NODE, GPUS_OF_NODE), MEMORY_GB)
    while free.mean() > MEMORY_GB * (1 - SHARDED_FULL):
        shards = int(draw.choice(SHARDS)) if draw.uniform() < SHARDED else 1
        part = max(round(draw.lognormal(np.log(PART_GB), 0.5), 1), 0.1)
        load = round(float(_loads(draw, shards).sum()), 3)
        roomiest = np.argsort(-free, axis=1, kind="stable")[:, :shards]
        node = int(np.take_along_axis(free, roomiest, axis=1)[:, -1].argmax())
        here = np.sort(roomiest[node])
        if free[node, here].min() >= part:
            free[node, here] -= part
            size = round(part * shards, 1)
            models.append(Model(f"model-{len(models)}", size, load=load, shards=shards))
            places.append((GPUS_OF_NODE * node + here).tolist())
    return _planted(_nodes(count), models, places)


def _replicas(draw: RandomState, count: int) -> Planted:
    """Few models are hot; they may have as many replicas as pay."""
    cut = _cut(draw, count, HALF_FULL, SOME)
    load = _loads(draw, len(cut.size), SPIKY)
    hot = load >= np.quantile(load, 1 - AUTO)
    models = [
        Model(f"model-{n}", size, load=load[n], most_replicas=MOST_REPLICAS if hot[n] else 1)
        for n, size in enumerate(cut.size)
    ]
    return _planted(_nodes(count), models, _one_each(cut.gpu_of))


def _kinds(draw: RandomState, count: int) -> Planted:
    """Equal numbers of GPUs of five kinds; the large models fit on few of them."""
    kinds = draw.permutation(np.resize(list(KINDS_GB), count)).tolist()
    gpus = tuple(Gpu(f"gpu-{n}", KINDS_GB[kind], kind) for n, kind in enumerate(kinds))
    memory = np.array([gpu.memory_gb for gpu in gpus])
    size = np.clip(
        np.round(draw.lognormal(np.log(PART_GB), 0.9, 8 * count), 1), SMALLEST_GB, LARGEST_GB
    )
    size = size[: np.searchsorted(np.cumsum(size), KINDS_FULL * memory.sum())]
    order = np.argsort(-size, kind="stable")
    gpu_of = np.empty(len(size), int)
    gpu_of[order] = _spread(size[order], memory)
    return _plain(gpus, Cut(size, gpu_of), _loads(draw, len(size)))


def _windows(draw: RandomState, count: int) -> Planted:
    """Day and night in several time zones."""
    cut = _cut(draw, count, HALF_FULL, SOME)
    models = len(cut.size)
    peak = PEAK_HOUR + draw.choice(TIME_ZONES, models, p=POPULATION)
    angle = 2 * np.pi * (np.arange(HOURS) - peak[:, None]) / HOURS
    day = NIGHT + (1 - NIGHT) * (1 + np.cos(angle)) / 2
    noise = draw.uniform(0.9, 1.1, day.shape)
    load = np.round(_loads(draw, models)[:, None] * day * noise, 3)
    return _plain(_nodes(count), cut, load)


def _full(draw: RandomState, count: int) -> Planted:
    """Hardly any memory to spare."""
    cut = _cut(draw, count, NEARLY_FULL, FEW)
    return _plain(_nodes(count), cut, _loads(draw, len(cut.size)))


def _sleepers(
    draw: RandomState, count: int, published: bool = False, most_pressure: float | None = None
) -> Planted:
    """Not all models can be awake; the loss is the load that is not served."""
    if published:
        size = draw_sizes(draw, int(MEMORY_GB * count))
        size = size[: np.searchsorted(np.cumsum(size), DEMAND * MEMORY_GB * count)]
    else:
        size = _cut(draw, int(DEMAND * count), FULL, SOME).size
    load = _loads(draw, len(size))
    need = size + load / most_pressure if most_pressure else size / NEARLY_FULL[1]
    pairs = enumerate(zip(size.tolist(), load.tolist(), strict=True))
    models = [Model(f"model-{n}", gb, load=lost, sleep_cost=lost) for n, (gb, lost) in pairs]
    places = _one_each(_spread(need, np.full(count, MEMORY_GB)))
    return _planted(_nodes(count), models, places, most_pressure=most_pressure)


def _constrained(draw: RandomState, count: int) -> Planted:
    """Busy shares of compute by kind, pins to nodes, and groups kept apart."""
    kinds = list(SPEEDS)
    gpus = tuple(
        Gpu(f"gpu-{n}", MEMORY_GB, kinds[node % len(kinds)], {COMPUTE: MOST_BUSY}, f"node-{node}")
        for n in range(count)
        for node in (n // GPUS_OF_NODE,)
    )
    cut = _cut(draw, count, HALF_FULL, SOME)
    load = _loads(draw, len(cut.size))
    speed = np.array([SPEEDS[gpu.kind] for gpu in gpus])
    taken = MOST_BUSY * speed * draw.uniform(*BUSY, count)
    work = np.floor(1e4 * _shares(load, cut.gpu_of) * taken[cut.gpu_of]) / 1e4
    pinned = draw.uniform(size=len(load)) < PINNED
    models = [
        Model(
            f"model-{n}",
            cut.size[n],
            load=load[n],
            uses={COMPUTE: {kind: work[n] / speed for kind, speed in SPEEDS.items()}},
            only=(gpus[cut.gpu_of[n]].node,) if pinned[n] else (),
        )
        for n in range(len(load))
    ]
    apart = tuple(_apart(draw, cut.gpu_of, count))
    return _planted(gpus, models, _one_each(cut.gpu_of), apart=apart)


def _apart(draw: RandomState, gpu_of: Ints, count: int) -> Iterator[tuple[str, ...]]:
    """Yield groups of models that are on different GPUs."""
    by_gpu = np.argsort(gpu_of, kind="stable")
    models = np.bincount(gpu_of, minlength=count)
    first = np.cumsum(models) - models
    for _ in range(count // GPUS_OF_GROUP):
        gpus = draw.choice(count, draw.randint(*GROUP), replace=False)
        here = first[gpus] + (draw.uniform(size=len(gpus)) * models[gpus]).astype(int)
        yield tuple(f"model-{model}" for model in by_gpu[here].tolist())


def _nodes(count: int) -> tuple[Gpu, ...]:
    return tuple(Gpu(f"gpu-{n}", MEMORY_GB, node=f"node-{n // GPUS_OF_NODE}") for n in range(count))


def _cut(draw: RandomState, count: int, full: tuple[float, float], models: tuple[int, int]) -> Cut:
    """Cut a part of the memory of every GPU into log-normal sizes, and mix them up."""
    gpu_of = np.repeat(np.arange(count), draw.randint(*models, count))
    used = MEMORY_GB * draw.uniform(*full, count)
    share = _shares(draw.lognormal(0.0, 0.7, len(gpu_of)), gpu_of)
    size = np.maximum(np.floor(10 * share * used[gpu_of]), 1) / 10
    order = draw.permutation(len(size))
    return Cut(size[order], gpu_of[order])


def _shares(weight: Floats, gpu_of: Ints) -> Floats:
    """Return every model's share of all weight on its GPU."""
    shares: Floats = weight / np.bincount(gpu_of, weight)[gpu_of]
    return shares


def _spread(need: Floats, room: Floats) -> Ints:
    """Put each model in turn on the GPU with the most room, or nowhere if it does not fit."""
    free = room.copy()
    gpu_of = np.full(len(need), NOWHERE)
    for model, amount in enumerate(need):
        roomiest = int(free.argmax())
        if amount <= free[roomiest]:
            free[roomiest] -= amount
            gpu_of[model] = roomiest
    return gpu_of


def _loads(draw: RandomState, count: int, shape: float = EVEN) -> Floats:
    """Draw loads in thousandths, one on average."""
    loads: Floats = np.maximum(np.round(draw.gamma(shape, 1 / shape, count), 3), 0.001)
    return loads


def _one_each(gpu_of: Ints) -> list[list[int]]:
    return [[] if gpu == NOWHERE else [gpu] for gpu in gpu_of.tolist()]


def _plain(gpus: Sequence[Gpu], cut: Cut, load: Floats) -> Planted:
    pairs = zip(cut.size.tolist(), load.tolist(), strict=True)
    models = [Model(f"model-{n}", size, load=loads) for n, (size, loads) in enumerate(pairs)]
    return _planted(gpus, models, _one_each(cut.gpu_of))


def _planted(
    gpus: Sequence[Gpu], models: Sequence[Model], places: Sequence[Sequence[int]], **fields: Any
) -> Planted:
    problem = Problem(tuple(gpus), tuple(models), **fields)
    names = [gpu.name for gpu in gpus]
    pairs = zip(models, places, strict=True)
    return Planted(problem, Placement({m.name: [names[n] for n in on] for m, on in pairs}))


CASES: dict[str, tuple[Callable[[RandomState, int], Planted], int]] = {
    "sharded-64": (_sharded, 64),
    "sharded-512": (_sharded, 512),
    "replicas-128": (_replicas, 128),
    "kinds-1024": (_kinds, 1024),
    "kinds-4096": (_kinds, 4096),
    "windows-1024": (_windows, 1024),
    "windows-4096": (_windows, 4096),
    "full-64": (_full, 64),
    "full-1024": (_full, 1024),
    "full-4096": (_full, 4096),
    "sleepers-128": (_sleepers, 128),
    "sleepers-published-128": (partial(_sleepers, published=True), 128),
    "sleepers-limited-128": (partial(_sleepers, most_pressure=MOST_PRESSURE), 128),
    "constrained-1024": (_constrained, 1024),
    "constrained-4096": (_constrained, 4096),
}
"""The function that plants each family, and the numbers of GPUs."""
