"""How the memory of a GPU is split between the engines on it, once and for all.

Every part of a model gets its size, and of the free memory a share by its load. A model without
load needs some cache too, or its engine does not start, so everyone gets a floor first. Shares of
one GPU never add up to more than the plan may use of it, and leave a little for what nobody plans:
contexts of the driver, fragments, a peak.

A replica with several shards keeps as much cache on each of its GPUs as on the one with the least.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor

from colocate.errors import InputError
from colocate.fault import Fault, Owner
from colocate.inputs.fleet import Device, Fleet
from colocate.inputs.spec import OVERHEAD_GB
from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.tolerance import LONG_SUM
from colocate.solver.plan import Plan

Order = Sequence[tuple[str, tuple[str, ...]]]

KEPT_FREE = 0.05
"""Of all memory of a GPU, as kvcached keeps; what the fleet file reserves counts towards it. It is
less where engines would not have their floor otherwise, and at least half of what the models leave:
`EngineRoom.tight` says so."""
FLOOR_GB = 1.0
"""Cache that every part gets before load decides, if there is that much."""
DECIMALS = 10_000
"""Fractions are rounded down to so many parts of one."""
LEAST_GB, LEAST_SHARE = 0.1, 4 / DECIMALS
"""With less cache than this, on its own or as a share of the GPU, no engine starts."""
BYTES = 10**6
"""Amounts are rounded down to MB."""


@dataclass(frozen=True)
class EngineRoom:
    """What the models on a GPU leave of it."""

    engines: int
    left_gb: float
    """The memory that they may use and do not hold."""
    cache_gb: float
    """Of that, what they get for keys and values."""
    free_gb: float
    """The memory that nobody gets, including the reserve of the fleet file."""
    total_gb: float
    """All memory of the GPU."""

    @property
    def tight(self) -> bool:
        """Whether less stays free, or less is cache, than every GPU and engine should have."""
        short = self.free_gb < KEPT_FREE * self.total_gb * (1 - LONG_SUM)
        return short or self.cache_gb < FLOOR_GB * self.engines * (1 - LONG_SUM)


@dataclass(frozen=True)
class MemoryShare:
    """What one replica of a model may hold on each of its GPUs."""

    size_gb: float
    """What it always holds."""
    cache_gb: float
    """For keys and values."""
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
        """The cache in bytes, rounded down."""
        return floor(self.cache_gb * 1e9 / BYTES) * BYTES


def rooms_of(plan: Plan, fleet: Fleet) -> dict[str, EngineRoom]:
    """Return what the models leave of each GPU, by its name; GPUs without a model are missing."""
    parts = plan.models_by_gpu()
    return {
        gpu.name: _room(gpu, fleet.devices[gpu.name], parts[gpu.name])
        for gpu in plan.problem.gpus
        if parts[gpu.name]
    }


def shares_of(
    plan: Plan, fleet: Fleet, rooms: Mapping[str, EngineRoom], order: Order
) -> list[MemoryShare]:
    """Return the share of each replica.

    Parameters
    ----------
    plan, fleet, rooms
        What is where, how large the GPUs are, and what they have left.
    order
        The name of a model and the GPUs of one replica, for every replica, as they are started.
    """
    caches = _caches(plan, rooms, order)
    gpus = {gpu.name: gpu for gpu in plan.problem.gpus}
    free = {name: device.memory_gb for name, device in fleet.devices.items()}
    crowd = {name: len(models) for name, models in plan.models_by_gpu().items()}
    models = {model.name: model for model in plan.problem.models}
    shares = []
    for name, places in order:
        size = models[name].size_gb / models[name].shards
        cache = min(caches[gpu][name] for gpu in places)
        held = size + cache
        least_free = min(free[gpu] for gpu in places)
        static = held - _overhead(fleet, name, size, cache)
        total = max(fleet.devices[gpu].memory_gb for gpu in places)
        alone = all(crowd[gpu] == 1 for gpu in places)
        usable = max(gpus[gpu].memory_gb for gpu in places)
        shares.append(
            MemoryShare(
                size,
                cache,
                _down(held / total),
                _down(static / least_free),
                1.0 if alone else _down(held / usable),
                least_free,
            )
        )
        for gpu in places:
            free[gpu] -= held
    return shares


def _caches(
    plan: Plan, rooms: Mapping[str, EngineRoom], order: Order
) -> dict[str, dict[str, float]]:
    """Return the GB for keys and values by GPU and model.

    What a replica over several GPUs cannot use on one of them, since it has less on another, goes
    to the models that are on that one alone.
    """
    parts = {gpu: here for gpu, here in plan.models_by_gpu().items() if here}
    room = {gpu: found.cache_gb for gpu, found in rooms.items()}
    caches = {gpu: _split(room[gpu], here) for gpu, here in parts.items()}
    spread = {name for name, places in order if len(places) > 1}
    for name, places in order:
        least = min(caches[gpu][name] for gpu in places)
        for gpu in places:
            caches[gpu][name] = least
    for gpu, here in parts.items():
        taken = sum(caches[gpu][part.name] for part in here if part.name in spread)
        caches[gpu] |= _split(room[gpu] - taken, [p for p in here if p.name not in spread])
    return caches


def _room(gpu: Gpu, device: Device, parts: Sequence[Model]) -> EngineRoom:
    """Return what the models of a GPU leave of it, or refuse where no engine would start."""
    left = gpu.memory_gb - sum(part.size_gb for part in parts)
    reserved = device.memory_gb - gpu.memory_gb
    kept = max(KEPT_FREE * device.memory_gb - reserved, 0.0)
    room = max(left - kept, min(left / 2, FLOOR_GB * len(parts)))
    if room / len(parts) < max(LEAST_GB, LEAST_SHARE * gpu.memory_gb):
        fault = Fault(
            f"has {max(left, 0.0):.3g} GB left for the keys and values of {len(parts)} models, "
            "too little for an engine to start",
            advice="plan with fewer models or a larger GPU",
            owner=Owner("gpu", gpu.name),
        )
        raise InputError(fault)
    return EngineRoom(len(parts), left, room, left - room + reserved, device.memory_gb)


def _split(room: float, parts: Sequence[Model]) -> dict[str, float]:
    """Return what each part gets: a floor, and of the rest a share by its load."""
    if not parts:
        return {}
    least = FLOOR_GB if room >= FLOOR_GB * len(parts) else room / (2 * len(parts))
    loads = [max(part.load) for part in parts]
    whole = sum(loads)
    weights = [load / whole if whole > 0 else 1 / len(parts) for load in loads]
    rest = room - least * len(parts)
    return {part.name: least + rest * weight for part, weight in zip(parts, weights, strict=True)}


def _overhead(fleet: Fleet, model: str, size: float, cache: float) -> float:
    """Return what an engine holds that is neither weights nor cache.

    A size that was given as one number includes it, and nobody said how much: a usual amount is
    taken, never more than leaves the engine some cache.
    """
    stated = fleet.models[model].overhead_gb
    return stated if stated else min(OVERHEAD_GB, size / 4, cache)


def _down(fraction: float) -> float:
    return floor(fraction * DECIMALS) / DECIMALS
