"""What items need of a GPU: memory, further resources, and places for models."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from colocate.problem.checker.items import Kin, use_on
from colocate.problem.gpu import Gpu
from colocate.problem.model import MEMORY, Model

Floats = NDArray[np.float64]


def amounts_of(
    items: Sequence[tuple[Kin, int]], kind: str, resources: Sequence[str]
) -> list[list[float]]:
    """Return what items need of memory, of some resources, and how many models they are.

    Parameters
    ----------
    items
        Each with the number of parts of its model, which share what it uses.
    kind
        The kind of the GPUs.
    resources
        Those that the GPUs limit.
    """
    found = []
    for kin, parts in items:
        memory = sum(member.size_gb for member in kin.members) / kin.shards
        used = [sum(_used(m, parts, each, kind) for m in kin.members) for each in resources]
        found.append([memory, *used, float(len(kin.members))])
    return found


def _used(model: Model, parts: int, resource: str, kind: str) -> float:
    """Return what one part of a model uses of a resource."""
    if resource == MEMORY and model.least_cache_gb is not None:
        return (model.size_gb + model.least_cache_gb) / model.shards
    shared = use_on(model.shared_uses, resource, kind)
    return use_on(model.uses, resource, kind) + shared / parts


def shares_of(amounts: Floats, gpu: Gpu, most_models: int | None) -> Floats:
    """Return what items need as shares of what a GPU has.

    Parameters
    ----------
    amounts
        Of items, in rows as `amounts_of` returns them.
    gpu
        The GPU.
    most_models
        How many models it may hold; None for any number.
    """
    limits = [gpu.memory_gb, *(limit for _, limit in gpu.limits), most_models or np.inf]
    room = np.array(limits, float)[np.newaxis]
    shares = np.full(amounts.shape, np.inf)
    np.divide(amounts, room, out=shares, where=room > 0.0)
    return np.where(amounts <= 0.0, 0.0, shares)
