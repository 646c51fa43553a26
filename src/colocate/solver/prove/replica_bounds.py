"""Bounds that hold for any number of replicas.

At or below a pressure K, a model has enough replicas that one of them fits on a GPU, and every
replica holds the whole size. Divide all load by the memory that the fewest replicas leave: if the
result exceeds K, then K is out of reach. See `problem/verify_bound.py`.
"""

from math import ceil, inf

import numpy as np

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.gpu import Gpu
from colocate.problem.instance import Instance, instance_of
from colocate.problem.model import Model
from colocate.problem.problem import Problem
from colocate.problem.reduction import Portion
from colocate.problem.tolerance import FIT, SAFE
from colocate.problem.verify_bound import refuted
from colocate.solver.prove.knapsack import Choices
from colocate.solver.prove.solvers.choices import load_in

HALVINGS = 60
"""Steps of doubling, then of halving; after this many, an interval of floats hardly shrinks."""


def rows_of_choices(problem: Problem) -> tuple[Instance, Choices]:
    """Return an instance with a row for every number of replicas of every model.

    Also returns what the rows are. Constraints and further resources are left out, which keeps
    bounds valid.
    """
    parts, owner, times = [], [], []
    for number, model in enumerate(problem.models):
        for replicas in range(model.replicas, model.most_replicas + 1):
            count = replicas * model.shards
            load = tuple(amount / count for amount in model.load)
            parts.append(Portion(model.size_gb / model.shards, load, ()))
            owner.append(number)
            times.append(replicas * model.shards)
    gpus = [Gpu(gpu.name, gpu.memory_gb) for gpu in problem.gpus]
    return instance_of(gpus, parts), Choices(np.array(owner), np.array(times))


def prove_with_replicas(problem: Problem) -> Certificate:
    """Return the best bound by sums, for any number of replicas."""
    window = max(range(problem.windows), key=lambda t: sum(load_in(m, t) for m in problem.models))
    rooms = largest_rooms(problem)
    models = zip(problem.models, rooms, strict=True)
    proofs = [_by_volume(problem, window, rooms), *(_by_model(m, room) for m, room in models)]
    proofs.sort(key=lambda proof: -proof.bound)
    sound = (proof for proof in proofs if refuted(problem, proof) is None)
    return next(sound, Certificate(Proof.VOLUME, 0.0))


def largest_rooms(problem: Problem) -> list[float]:
    """Return, for every model, the memory of the largest GPU open to it, plus rounding."""
    largest = max(gpu.memory_gb for gpu in problem.gpus) * (1.0 + FIT)
    known: dict[tuple[tuple[str, ...], tuple[str, ...]], float] = {((), ()): largest}
    for model in problem.models:
        if (model.only, model.never) not in known:
            rooms = (gpu.memory_gb for gpu in problem.gpus if model.may_be_on(gpu))
            known[model.only, model.never] = max(rooms, default=0.0) * (1.0 + FIT)
    return [known[model.only, model.never] for model in problem.models]


def _by_volume(problem: Problem, window: int, rooms: list[float]) -> Certificate:
    """Bisect for the highest pressure at which even the fewest replicas leave too little memory."""
    load = sum(load_in(model, window) for model in problem.models)
    free = sum(gpu.memory_gb for gpu in problem.gpus) * (1.0 + FIT)
    open_replicas = [
        (m, room) for m, room in zip(problem.models, rooms, strict=True) if m.open_replicas
    ]
    free -= sum(m.replicas * m.size_gb for m in problem.models if not m.open_replicas)

    def pressure_at(target: float) -> float:
        """Return all load over the memory that the fewest replicas at a target leave."""
        left = free
        for model, room in open_replicas:
            replicas = _fewest_replicas(model, room, window, target)
            if replicas > model.most_replicas:
                return inf
            left -= replicas * model.size_gb
        if load == 0.0:
            return 0.0
        return load / left if left > 0.0 else inf

    low, high = 0.0, pressure_at(inf)
    for _ in range(HALVINGS):
        if pressure_at(high) < high:
            break
        low, high = high, 2.0 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        if pressure_at(middle) > middle:
            low = middle
        else:
            high = middle
    return Certificate(Proof.VOLUME, low * SAFE if low < inf else 0.0, window)


def _fewest_replicas(model: Model, room: float, window: int, target: float) -> float:
    if target == inf:
        return model.replicas
    alone = load_in(model, window) / model.shards
    free = room - model.size_gb / model.shards
    if alone == 0.0:
        return model.replicas
    return max(ceil(alone / (target * free)), model.replicas) if free * target > 0.0 else inf


def _by_model(model: Model, room: float) -> Certificate:
    free = room - model.size_gb / model.shards
    load = max(model.load) / (model.most_replicas * model.shards)
    bound = load / free * SAFE if free > 0.0 else 0.0
    return Certificate(Proof.MODEL, bound, model=model.name)
