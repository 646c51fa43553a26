"""Simple sums that show that no placement can exist, and why."""

from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.gpu import Gpu
from colocate.problem.instance import Bools
from colocate.problem.model import COMPUTE, MEMORY
from colocate.problem.problem import Problem
from colocate.problem.reduction import COUNT, Reduction
from colocate.problem.tolerance import GENEROUS

DIGITS = (4, 6, 9, 15)
"""Digits of numbers that a reason compares: few, unless they would look the same."""


class Obstacle(NamedTuple):
    """Why no placement can exist."""

    reason: str
    proof: Certificate


def too_many_parts(problem: Problem) -> Obstacle | None:
    """Return why no placement can exist if a model has more parts than there are GPUs."""
    gpus = len(problem.gpus)
    for number, model in enumerate(problem.models):
        if model.parts > gpus:
            replicas = f"replicas={model.replicas} with shards={model.shards}"
            reason = (
                f"models[{number}] {model.name!r}: {replicas} take {model.parts} GPUs, "
                f"must be at most {gpus} (all there are)"
            )
            return Obstacle(reason, Certificate(Proof.MODEL, inf, model=model.name))
    return None


def obvious_obstacle(reduction: Reduction) -> Obstacle | None:
    """Return why no placement can exist, if one look at the sums shows it."""
    instance = reduction.instance
    room = reduction.largest_room
    too_large = (instance.size > room * GENEROUS) | (room == 0.0)
    if too_large.any():
        homeless = int(too_large.argmax())
        proof = Certificate(Proof.MODEL, inf, model=reduction.items[homeless].models[0].name)
        return Obstacle(_too_large(reduction, homeless), proof)
    needed, memory = instance.size.sum(), instance.capacity.sum()
    if needed > memory * GENEROUS:
        have, most = _told_apart(needed, memory)
        reason = (
            f"models: size_gb adds up to {have}, must be at most {most} (the memory of all GPUs)"
        )
        return Obstacle(reason, Certificate(Proof.VOLUME, inf))
    return _short_of_cache(reduction)


def _short_of_cache(reduction: Reduction) -> Obstacle | None:
    """Return why no placement can exist if all least caches together do not fit."""
    if MEMORY not in reduction.resources:
        return None
    instance, column = reduction.instance, reduction.resources.index(MEMORY)
    used = instance.use[:, :, column].min(axis=0).sum()
    memory = instance.limit[:, column].sum()
    if used <= memory * GENEROUS:
        return None
    size = instance.size.sum()
    have, most = _told_apart(used, memory)
    reason = (
        f"models: size_gb adds up to {size:.4g}, with the least cache of all models to {have}, "
        f"must be at most {most} (the memory of all GPUs)"
    )
    return Obstacle(reason, Certificate(Proof.VOLUME, inf))


def nothing_fits(problem: Problem) -> str:
    """Return the message that the search tried all placements, and none respects all rules."""
    return (
        f"models: no way to put the {len(problem.models)} models on the {len(problem.gpus)} GPUs "
        "respects memory, limits and constraints (all were searched)"
    )


def _too_large(reduction: Reduction, number: int) -> str:
    item, instance = reduction.items[number], reduction.instance
    where = f"models[{number}] {item.name!r}" if reduction.whole.plain else f"model {item.name!r}"
    if item.barred:
        return f"{where}: must be together and apart at once"
    open_here: Bools = instance.rules.open[instance.rules.pin[number]]
    gpus = [gpu for gpu, may in zip(reduction.whole.gpus, open_here, strict=True) if may]
    if not gpus:
        return f"{where}: may be on no GPU, its only and never must leave at least one"
    largest = max(gpus, key=lambda gpu: gpu.memory_gb)
    size = float(instance.size[number])
    if size > largest.memory_gb:
        among = " that it may be on" if len(gpus) < len(reduction.whole.gpus) else ""
        have, most = _told_apart(size, largest.memory_gb)
        return (
            f"{where}: size_gb={have}, "
            f"must be at most {most} (the largest GPU{among}, {largest.name!r})"
        )
    return f"{where}: {_over_its_limit(reduction, number, np.flatnonzero(open_here).tolist())}"


def _over_its_limit(reduction: Reduction, number: int, gpus: Sequence[int]) -> str:
    """Return by how much an item exceeds the limits of the GPU where it exceeds them least."""
    told = "uses more than the limit of every GPU that has the memory for it"
    instance = reduction.instance
    roomy = [g for g in gpus if instance.size[number] <= instance.capacity[g] * GENEROUS]
    worst = [max(over) for gpu in roomy if (over := list(_excesses(reduction, number, gpu)))]
    if not worst:
        return told
    _, use, limit, resource, gpu_name = min(worst)
    if resource == MEMORY:
        size = float(instance.size[number])
        have, most = _told_apart(use, limit)
        return (
            f"needs {have} GB with its least cache of {use - size:.4g} GB, "
            f"must be at most {most} (the memory of {gpu_name!r})"
        )
    if resource == COMPUTE:
        have, most = _told_apart(100.0 * use, 100.0 * limit)
        return (
            f"is too busy for every GPU that has the memory for it: it keeps {gpu_name!r} busy "
            f"{have}% of the time, {most}% allowed"
        )
    have, most = _told_apart(use, limit)
    return f"{told}: {have} of {resource} on {gpu_name!r}, {most} at most"


def _told_apart(number: float, limit: float) -> tuple[str, str]:
    """Return two numbers with as few digits as it takes to tell them apart."""
    for digits in DIGITS:
        texts = f"{number:.{digits}g}", f"{limit:.{digits}g}"
        if texts[0] != texts[1]:
            break
    return texts


def _excesses(
    reduction: Reduction, number: int, gpu: int
) -> Iterator[tuple[float, float, float, str, str]]:
    """Yield the limits of a GPU that an item exceeds: how many times, by what, and where."""
    instance = reduction.instance
    named: Gpu = reduction.whole.gpus[gpu]
    for column, resource in enumerate(reduction.resources):
        use = float(instance.use[instance.kind[gpu], number, column])
        limit = float(instance.limit[gpu, column])
        if use > limit * GENEROUS and resource != COUNT:
            yield use / limit if limit > 0.0 else np.inf, use, limit, resource, named.name
