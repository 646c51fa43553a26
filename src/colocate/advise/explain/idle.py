"""Find GPUs without a model, and why; and GPUs that are close to a limit."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from colocate.advise.explain.fixed_plan import FixedPlan, pressures_with
from colocate.problem.reduction import COUNT
from colocate.problem.tolerance import FIT, TIE

CLOSE = 0.9
"""From this share of a limit on, a GPU is close to it."""


class Idle(StrEnum):
    """Why a GPU has no model."""

    FORBIDDEN = "forbidden"
    """No model may be on it."""
    TOO_SMALL = "too small"
    """No model that may be on it fits in its memory."""
    LIMITED = "limited"
    """Every model that would fit uses more than its limits allow."""
    NOT_FOR_BOTTLENECK = "not for the bottleneck"
    """No model of the bottleneck may be on it, or fits."""
    NO_GAIN = "no gain"
    """No model moved to it from the bottleneck would lower the peak."""
    HELPS = "helps"
    """Some model moved to it from the bottleneck would lower the peak."""


@dataclass(frozen=True)
class IdleGpus:
    """GPUs of one kind that have no model for one reason."""

    gpus: tuple[str, ...]
    kind: str
    memory_gb: float
    why: Idle


@dataclass(frozen=True)
class Tight:
    """A GPU that uses most of its limit on a resource."""

    gpu: str
    resource: str
    use: float
    limit: float


def idle_gpus(state: FixedPlan) -> tuple[IdleGpus, ...]:
    """Return the GPUs without a model, by kind and reason."""
    groups: dict[tuple[str, float, Idle], list[str]] = {}
    held = set(state.gpu_of.tolist())
    for number, gpu in enumerate(state.problem.gpus):
        if number not in held:
            key = (gpu.kind, gpu.memory_gb, _why_idle(state, number))
            groups.setdefault(key, []).append(gpu.name)
    return tuple(
        IdleGpus(tuple(names), kind, memory, why) for (kind, memory, why), names in groups.items()
    )


def _why_idle(state: FixedPlan, gpu: int) -> Idle:
    instance = state.instance
    use = instance.use[instance.kind[gpu]]
    within = use <= instance.limit[gpu] * (1.0 + FIT)
    may_be = instance.rules.open[instance.rules.pin, gpu]
    fits = may_be & (instance.size <= instance.capacity[gpu] * (1.0 + FIT))
    allowed = fits & within.all(axis=1)
    here = state.gpu_of == state.bottleneck
    if not may_be.any():
        return Idle.FORBIDDEN
    if not fits.any():
        return Idle.TOO_SMALL
    if not allowed.any():
        return Idle.LIMITED
    if not (allowed & here).any():
        return Idle.NOT_FOR_BOTTLENECK
    movable = np.flatnonzero(allowed & here)
    return Idle.HELPS if any(_helps(state, int(item), gpu) for item in movable) else Idle.NO_GAIN


def _helps(state: FixedPlan, item: int, gpu: int) -> bool:
    """Return whether both GPUs are below the peak after an item has moved to an empty one."""
    if state.reduction.items[item].models[0].shards > 1:
        here = state.problem.gpus[state.bottleneck]
        if state.problem.gpus[gpu].node != here.node:
            return False
    instance = state.instance
    both = np.array([state.bottleneck, gpu])
    load = np.stack([state.load[both[0]] - instance.load[item], instance.load[item]])
    used = np.array([state.used[both[0]] - instance.size[item], instance.size[item]])
    after = pressures_with(load, used, instance.capacity[both])
    return bool(after.max() < state.peak * (1.0 - TIE))


def tight_gpus(state: FixedPlan) -> tuple[Tight, ...]:
    """Return the GPUs that are close to a limit stated in the fleet, closest first."""
    found = []
    for column, resource in enumerate(state.reduction.resources):
        if resource == COUNT:
            continue
        for number, gpu in enumerate(state.problem.gpus):
            use, limit = float(state.use[number, column]), state.instance.limit[number, column]
            if 0.0 < CLOSE * limit <= use:
                found.append(Tight(gpu.name, resource, use, float(limit)))
    return tuple(sorted(found, key=lambda tight: -tight.use / tight.limit))
