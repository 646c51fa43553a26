"""Numbers of replicas worth a try."""

from collections.abc import Iterator
from itertools import product
from math import ceil, inf

import numpy as np

from colocate.problem.instance import Floats
from colocate.problem.model import Model
from colocate.problem.problem import Problem
from colocate.problem.tolerance import LONG_SUM
from colocate.solver.prove.replica_bounds import largest_rooms
from colocate.solver.prove.solvers.choices import load_in

STEPS = (1.0, 1.05, 1.15, 1.3, 1.6, 2.0, 3.0)
"""Pressures that the first replica counts aim at, as multiples of the bound."""
SHARES = (1.0, 0.75, 0.5, 0.33, 0.2)
"""Shares of a GPU that one replica may fill at such a pressure."""
DRAWS = 12
"""Random draws of replica counts from the shares of a linear program."""

Counts = tuple[int, ...]
"""How many replicas every model has, in the order of the problem."""


def by_pressure(problem: Problem, bound: float) -> Iterator[Counts]:
    """Yield the fewest replicas allowed, then the counts for pressures around a bound."""
    yield tuple(model.replicas for model in problem.models)
    rooms = largest_rooms(problem)
    for step, share in product(STEPS, SHARES):
        target = bound * step * share
        yield tuple(
            _replicas_for(model, room, target) if model.open_replicas else model.replicas
            for model, room in zip(problem.models, rooms, strict=True)
        )


def by_shares(problem: Problem, shares: Floats, rng: np.random.Generator) -> Iterator[Counts]:
    """Yield replica counts from the shares of all choices: the likeliest, then random draws.

    Parameters
    ----------
    problem
        The problem whose replicas are counted.
    shares
        How much of each choice a fractional packing takes.
    rng
        The source of all random draws.
    """
    options = []
    first = 0
    for model in problem.models:
        counts = np.arange(model.replicas, model.most_replicas + 1)
        chance = np.maximum(shares[first : first + len(counts)], 0.0)
        options.append((counts, chance / chance.sum() if chance.sum() > 0.0 else None))
        first += len(counts)
    yield tuple(int(c[0 if chance is None else chance.argmax()]) for c, chance in options)
    for _ in range(DRAWS):
        yield tuple(int(rng.choice(counts, p=chance)) for counts, chance in options)


def neighbours(problem: Problem, counts: Counts) -> Iterator[Counts]:
    """Yield the counts with one replica more or less of one model."""
    for number, model in enumerate(problem.models):
        for replicas in (counts[number] + 1, counts[number] - 1):
            if model.replicas <= replicas <= model.most_replicas:
                yield (*counts[:number], replicas, *counts[number + 1 :])


def least_pressure(problem: Problem, counts: Counts) -> float:
    """Return a lower bound on the pressure of placements with these replica counts."""
    free = sum(gpu.memory_gb for gpu in problem.gpus)
    free -= sum(m.size_gb * replicas for m, replicas in zip(problem.models, counts, strict=True))
    load = max(sum(load_in(m, t) for m in problem.models) for t in range(problem.windows))
    if load == 0.0:
        return 0.0
    return load / free if free > 0.0 else inf


def _replicas_for(model: Model, room: float, target: float) -> int:
    """Return the fewest replicas such that one of them fits on a GPU alone at a pressure."""
    free = (room - model.size_gb / model.shards) * target
    load = max(model.load) / model.shards
    needed = ceil(load / free * (1.0 - LONG_SUM)) if free > 0.0 else model.most_replicas
    return min(max(needed, model.replicas), model.most_replicas)
