"""A problem as numpy arrays, the form that kernels work on."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from colocate.problem.gpu import Gpu
from colocate.problem.model import ANY_KIND, Uses
from colocate.problem.rules import Bools, Ints, Rules, free_rules, numbered
from colocate.problem.tolerance import FIT

__all__ = [
    "Bools",
    "Floats",
    "Instance",
    "Ints",
    "canonical",
    "confined",
    "frozen",
    "instance_of",
    "own_units",
    "resources_of",
]

Floats = NDArray[np.float64]

MANTISSA_BITS = 40
"""Bits that canonical numbers keep: few enough for a change of units to leave them as they are."""


class Instance(NamedTuple):
    """The numbers of a problem with n models, g GPUs, T windows, R resources, k kinds."""

    size: Floats
    """size[n]: GB a model always holds."""
    load: Floats
    """load[n, T]: how hard it pushes on the KV cache."""
    capacity: Floats
    """capacity[g]: GB that models may use."""
    use: Floats
    """use[k, n, R]: what a model uses of a resource on a kind of GPU."""
    limit: Floats
    """limit[g, R]: the highest use of a resource on a GPU."""
    kind: Ints
    """kind[g]: index of the GPU's kind in `use`."""
    rules: Rules
    """Where models may be, and with whom."""


class Placeable(Protocol):
    """What goes on one GPU: a model, or a part of one."""

    @property
    def size_gb(self) -> float:
        """Memory it always holds."""

    @property
    def load(self) -> tuple[float, ...]:
        """How hard it pushes on KV cache, in every window or in all."""

    @property
    def uses(self) -> Uses:
        """Use of further resources, by kind of GPU."""


def instance_of(gpus: Sequence[Gpu], models: Sequence[Placeable]) -> Instance:
    """Write GPUs and models as arrays, without rules on where models may be."""
    windows = max(len(model.load) for model in models)
    loads = [model.load * windows if len(model.load) == 1 else model.load for model in models]
    kinds = sorted({gpu.kind for gpu in gpus})
    place = {kind: number for number, kind in enumerate(kinds)}
    resources = resources_of(gpus, models)
    limit = np.full((len(gpus), len(resources)), np.inf)
    for row, gpu in zip(limit, gpus, strict=True):
        for resource, amount in dict(gpu.limits).items():
            row[resources.index(resource)] = amount
    use = np.zeros((len(kinds), len(models), len(resources)))
    for number, model in enumerate(models):
        for resource, by_kind in model.uses:
            column, amounts = resources.index(resource), dict(by_kind)
            use[:, number, column] = amounts.get(ANY_KIND, 0.0)
            for kind in amounts.keys() & place.keys():
                use[place[kind], number, column] = amounts[kind]
    return frozen(
        Instance(
            size=np.array([model.size_gb for model in models]),
            load=np.array(loads),
            capacity=np.array([gpu.memory_gb for gpu in gpus]),
            use=use,
            limit=limit,
            kind=np.array([place[gpu.kind] for gpu in gpus], dtype=np.int64),
            rules=free_rules(
                len(models), numbered((gpu.memory_gb, gpu.kind, gpu.limits) for gpu in gpus)
            ),
        )
    )


def resources_of(gpus: Sequence[Gpu], models: Sequence[Placeable]) -> list[str]:
    """Return the names of all resources that are limited or used, in the order of the arrays."""
    limited = {name for gpu in gpus for name, _ in gpu.limits}
    return sorted(limited | {name for model in models for name, _ in model.uses})


def canonical(instance: Instance) -> Instance:
    """Return the instance in its own units: the largest GPU and the total load are 1.

    Values are rounded to 40 bits, so the same fleet in other units gives the same bits, except for
    about one value in some thousands, whose rounding falls on the other side. Capacities and limits
    shrink by half the tolerance of a fit, so whatever fits here fits in the original.
    """
    size_unit, load_unit = own_units(instance)
    return frozen(
        instance._replace(
            size=_rounded(instance.size / size_unit),
            load=_rounded(instance.load / load_unit),
            capacity=_rounded(instance.capacity / size_unit) * (1.0 - FIT / 2),
            limit=instance.limit * (1.0 - FIT / 2),
        )
    )


def own_units(instance: Instance) -> tuple[float, float]:
    """Return the units of size and load of the canonical form."""
    return float(instance.capacity.max()), float(instance.load.sum(axis=0).max()) or 1.0


def _rounded(values: Floats) -> Floats:
    mantissa, exponent = np.frexp(values)
    rounded: Floats = np.ldexp(np.rint(np.ldexp(mantissa, MANTISSA_BITS)), exponent - MANTISSA_BITS)
    return rounded


def confined(instance: Instance, homes: Ints) -> Instance:
    """Return the instance with items confined to nodes; -1 leaves an item free."""
    return frozen(instance._replace(rules=instance.rules.confined(homes)))


def frozen(instance: Instance) -> Instance:
    """Make the arrays read-only; kernels are compiled for read-only arrays."""
    for array in (*instance[:-1], *instance.rules):
        array.setflags(write=False)
    return instance
