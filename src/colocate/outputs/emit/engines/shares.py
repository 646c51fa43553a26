"""The memory of every engine in the terms of its own options.

How much cache a replica gets is decided by `problem/cache.py`, for the plan and for its files
alike. Here it becomes bytes for vLLM, fractions for SGLang and Ray, and what stays free of a GPU.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

from colocate.inputs.fleet import Fleet
from colocate.inputs.overheads import SGLANG_GB
from colocate.inputs.spec import RESERVE
from colocate.problem.cache import ReplicaCache, caches_of
from colocate.problem.tolerance import LONG_SUM
from colocate.solver.plan import Plan

Order = Sequence[tuple[str, int]]
"""The model and the number of a replica, for every replica, as they are started."""

FRACTIONS, GPU_FRACTIONS = 1_000_000, 10_000
"""Fractions are rounded down to so many parts of one: of an engine's memory, to less than a MB; of
a GPU, to what Ray keeps."""
MEGABYTE = 10**6
"""In bytes: amounts are rounded down to whole ones, as far as the least cache allows."""


@dataclass(frozen=True)
class EngineRoom:
    """What stays free of a GPU."""

    free_gb: float
    """The memory that nobody gets: the reserve of the fleet file."""
    total_gb: float
    """All memory of the GPU."""

    @property
    def advised_gb(self) -> float:
        """The memory that should stay free."""
        return RESERVE * self.total_gb

    @property
    def tight(self) -> bool:
        """Whether less stays free than every GPU should have."""
        return self.free_gb < self.advised_gb * (1 - LONG_SUM)


@dataclass(frozen=True)
class MemoryShare:
    """What one replica of a model may hold on each of its GPUs."""

    size_gb: float
    """What it always holds."""
    cache_gb: float
    """For keys and values."""
    least_gb: float
    """The part of it that it must have."""
    utilization: float
    """Size and cache as a share of a whole GPU, for vLLM."""
    static_fraction: float
    """Weights and cache as a share of what is free when it starts, for SGLang."""
    gpu_fraction: float
    """Its share of what models may use of a GPU, for Ray; all of it if it is alone there."""
    free_gb: float
    """What is free on the fullest of its GPUs when it starts."""

    @property
    def cache_bytes(self) -> int:
        """The cache in bytes, rounded down, but never below what it must have."""
        return max(floor(self.cache_gb * 1e9 / MEGABYTE) * MEGABYTE, ceil(self.least_gb * 1e9))


def rooms_of(plan: Plan, fleet: Fleet) -> dict[str, EngineRoom]:
    """Return what stays free of each GPU, by its name."""
    total = {gpu.name: fleet.devices[gpu.name].memory_gb for gpu in plan.problem.gpus}
    return {
        gpu.name: EngineRoom(total[gpu.name] - gpu.memory_gb, total[gpu.name])
        for gpu in plan.problem.gpus
    }


def shares_of(plan: Plan, fleet: Fleet, order: Order) -> list[MemoryShare]:
    """Return the share of each replica.

    Parameters
    ----------
    plan, fleet
        What is where, and how large the GPUs are.
    order
        The replicas as they are started.
    """
    caches = {(c.model, c.replica): c for c in caches_of(plan.problem, plan.placement)}
    usable = {gpu.name: gpu.memory_gb for gpu in plan.problem.gpus}
    total = {name: device.memory_gb for name, device in fleet.devices.items()}
    crowd = {name: len(models) for name, models in plan.models_by_gpu().items()}
    free = dict(total)
    shares = []
    for replica in order:
        cache = caches[replica]
        held = cache.size_gb + cache.cache_gb
        least_free = min(free[gpu] for gpu in cache.gpus)
        alone = all(crowd[gpu] == 1 for gpu in cache.gpus)
        of_gpu = held / max(usable[gpu] for gpu in cache.gpus)
        shares.append(
            MemoryShare(
                cache.size_gb,
                cache.cache_gb,
                cache.least_gb,
                _down(held / max(total[gpu] for gpu in cache.gpus), FRACTIONS),
                _down((held - _overhead(fleet, cache)) / least_free, FRACTIONS),
                1.0 if alone else _down(of_gpu, GPU_FRACTIONS),
                least_free,
            )
        )
        for gpu in cache.gpus:
            free[gpu] -= held
    return shares


def _overhead(fleet: Fleet, cache: ReplicaCache) -> float:
    """Return what an engine holds that is neither weights nor cache.

    A size that was given as one number includes it, and nobody said how much: a usual amount is
    taken, never more than leaves the engine its least cache.
    """
    stated = fleet.models[cache.model].overhead_gb
    spare = cache.cache_gb - cache.least_gb
    return stated if stated else min(SGLANG_GB, cache.size_gb / 4, spare)


def _down(fraction: float, parts: int) -> float:
    return floor(fraction * parts) / parts
