"""How the memory that models leave on a GPU becomes cache: what every replica gets.

Every part of a model gets its least cache, and of the rest a share by its load. Where none has
load, the parts that need a cache share the rest equally. A replica with several shards keeps as
much cache on each of its GPUs as on the one with the least; what it cannot use elsewhere goes to
the models beside it.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from colocate.problem.model import Model
from colocate.problem.parts import Part, Places, parts_by_gpu, parts_of
from colocate.problem.problem import Problem


class ReplicaCache(NamedTuple):
    """What one replica of a model holds on each of its GPUs."""

    model: str
    replica: int
    """Which of its replicas, from 0 on."""
    gpus: tuple[str, ...]
    size_gb: float
    """What it always holds."""
    least_gb: float
    """The cache that it must have."""
    cache_gb: float
    """The cache that it gets."""


def caches_of(problem: Problem, placement: Places) -> tuple[ReplicaCache, ...]:
    """Return the cache of all replicas, in the order of the problem."""
    on_gpu = {gpu: parts for gpu, parts in parts_by_gpu(problem, placement).items() if parts}
    memory = {gpu.name: gpu.memory_gb for gpu in problem.gpus}
    free = {gpu: memory[gpu] - sum(p.model.size_gb for p in on_gpu[gpu]) for gpu in on_gpu}
    shares = {gpu: _split(free[gpu], parts) for gpu, parts in on_gpu.items()}
    replicas = list(_replicas(problem, placement))
    spread = {
        (parts[0].model.name, part.gpu): min(shares[p.gpu][p.model.name] for p in parts)
        for parts in replicas
        if len(parts) > 1
        for part in parts
    }
    for gpu, parts in on_gpu.items():
        alone = [part for part in parts if (part.model.name, gpu) not in spread]
        taken = {p.model.name: spread[p.model.name, gpu] for p in parts if p not in alone}
        shares[gpu] = taken | _split(free[gpu] - sum(taken.values()), alone)
    return tuple(_replica_cache(parts, shares[parts[0].gpu]) for parts in replicas)


def _replicas(problem: Problem, placement: Places) -> Iterable[tuple[Part, ...]]:
    """Return the parts of every replica."""
    by_replica = groupby(parts_of(problem, placement), key=lambda part: (part.number, part.replica))
    return (tuple(parts) for _, parts in by_replica)


def _replica_cache(parts: Sequence[Part], shares: dict[str, float]) -> ReplicaCache:
    model = parts[0].model
    gpus = tuple(part.gpu for part in parts)
    cache = shares[model.name]
    return ReplicaCache(
        model.name, parts[0].replica, gpus, model.size_gb, model.least_cache_gb or 0.0, cache
    )


def _split(free: float, parts: Sequence[Part]) -> dict[str, float]:
    """Return what each part gets of the free memory."""
    models = [part.model for part in parts]
    rest = max(free - sum(model.least_cache_gb or 0.0 for model in models), 0.0)
    weights = _weights(models)
    return {
        model.name: (model.least_cache_gb or 0.0) + rest * weight
        for model, weight in zip(models, weights, strict=True)
    }


def _weights(models: Sequence[Model]) -> list[float]:
    """Return the share of each model in what nobody must have."""
    weights = [max(model.load) for model in models]
    if not any(weights):
        weights = [0.0 if model.least_cache_gb == 0.0 else 1.0 for model in models]
    whole = sum(weights)
    return [weight / whole if whole else 0.0 for weight in weights]
