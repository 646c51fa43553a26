"""Describe the GPU under the highest pressure, and the models on it."""

from dataclasses import dataclass

import numpy as np

from colocate.advise.explain.fixed_plan import FixedPlan
from colocate.problem.gpu import Gpu
from colocate.problem.pressure import pressure
from colocate.problem.tolerance import FIT, TIE


@dataclass(frozen=True)
class Tenant:
    """A model on a GPU, or the part of it that is there.

    Parameters
    ----------
    model
        Its name.
    replicas, shards
        How many replicas of it there are, and in how many shards each is.
    size_gb, load
        Its memory and its load on that GPU, in the window of the peak.
    share
        Its part of the load of the GPU.
    """

    model: str
    replicas: int
    shards: int
    size_gb: float
    load: float
    share: float


@dataclass(frozen=True)
class Bottleneck:
    """The first GPU with the highest pressure.

    Parameters
    ----------
    gpu, kind, node
        Its name, kind and machine.
    memory_gb, used_gb
        Memory that models may use, and that they hold.
    window
        The time window of the peak; None where there is only one.
    load, pressure
        Its load and pressure in that window.
    tenants
        The models on it, most load first.
    tied
        How many GPUs have this pressure, up to rounding.
    window_name
        What that window is called; empty where there is only one.
    """

    gpu: str
    kind: str
    node: str
    memory_gb: float
    used_gb: float
    window: int | None
    load: float
    pressure: float
    tenants: tuple[Tenant, ...]
    tied: int
    window_name: str = ""

    @property
    def free_gb(self) -> float:
        """What is left for the KV cache."""
        return max(self.memory_gb - self.used_gb, 0.0)

    @property
    def hottest(self) -> Tenant | None:
        """The model with most of the load, None where there is no load."""
        return self.tenants[0] if self.load > 0.0 else None


def bottleneck_of(state: FixedPlan) -> Bottleneck:
    """Describe the bottleneck of a placement."""
    here = state.bottleneck
    gpu = state.problem.gpus[here]
    window = int(state.load[here].argmax())
    load = float(state.load[here, window])
    tied = state.pressure >= state.peak * (1.0 - TIE)
    return Bottleneck(
        gpu.name,
        gpu.kind,
        gpu.node,
        gpu.memory_gb,
        float(state.used[here]),
        window if state.load.shape[1] > 1 else None,
        load,
        state.peak,
        _tenants(state, here, window, load),
        int(np.count_nonzero(tied)),
        state.problem.named_windows[window].name if state.load.shape[1] > 1 else "",
    )


def _tenants(state: FixedPlan, gpu: int, window: int, total: float) -> tuple[Tenant, ...]:
    found = []
    for item in np.flatnonzero(state.gpu_of == gpu):
        for model in state.reduction.items[int(item)].models:
            part = model.part()
            load = part.load[min(window, len(part.load) - 1)]
            share = load / total if total > 0.0 else 0.0
            found.append(
                Tenant(model.name, model.replicas, model.shards, part.size_gb, load, share)
            )
    return tuple(sorted(found, key=lambda tenant: -tenant.load))


@dataclass(frozen=True)
class Alone:
    """A part of a model by itself on the GPU that suits it best.

    Parameters
    ----------
    model
        Its name.
    gpu, memory_gb
        The GPU with the most memory among those that are open to it.
    everywhere
        Whether every GPU is open to it.
    pressure
        Its pressure there. No placement with as many replicas and shards has a lower peak.
    """

    model: str
    gpu: str
    memory_gb: float
    everywhere: bool
    pressure: float


def alone(state: FixedPlan, name: str) -> Alone:
    """Return the pressure of one model by itself, on the best GPU that is open to it."""
    model = next(model for model in state.problem.models if model.name == name)
    item = next(n for n, item in enumerate(state.reduction.items) if model in item.models)
    instance, part = state.instance, model.part()
    use = instance.use[instance.kind, item]
    may_be = (use <= instance.limit * (1.0 + FIT)).all(axis=1)
    may_be &= instance.rules.open[instance.rules.pin[item]]
    best: Gpu = max(
        (gpu for gpu, may in zip(state.problem.gpus, may_be, strict=True) if may),
        key=lambda gpu: gpu.memory_gb,
    )
    peak = pressure(max(part.load), part.size_gb, best.memory_gb)
    return Alone(name, best.name, best.memory_gb, bool(may_be.all()), peak)
