"""More replicas of a model, on the GPUs there are or on more of them."""

from collections.abc import Iterator

from colocate.advise.remedies.changed_fleet import problem_of
from colocate.advise.remedies.gpu_changes import (
    MOST_ADDED,
    added_gpus,
    kind_name,
    more_gpus,
    one_of_each_kind,
)
from colocate.advise.remedies.lone_engines import fewest_replicas
from colocate.advise.what_if import Change, ChangeKind, Ladder
from colocate.inputs.fleet import Fleet
from colocate.inputs.spec import GpuSpec
from colocate.problem.model import Model
from colocate.problem.problem import Problem
from colocate.problem.verify import use_of

MOST_REPLICAS = 8
"""The most replicas of a model to try, where a limit decides."""
MORE_REPLICAS = 2
"""Replicas more of a model to try: each takes a request in so many, and memory for its weights."""
MOST_NEW = 64
"""The most GPUs to add for replicas: people who need more ask for another fleet."""
ROOM = 3
"""How many numbers of added GPUs to try: with the fewest, neighbours may be in the way."""


def replicas_for_targets(fleet: Fleet, name: str) -> Ladder:
    """Yield a model in as many replicas as keep its targets alone, or in one or two more.

    If the GPUs there are do not suffice, more of them come with the replicas.
    """
    stated = next(model for model in fleet.problem.models if model.name == name)
    gpus, numbers = len(fleet.problem.gpus), {stated.replicas + 1, stated.replicas + MORE_REPLICAS}
    enough = fewest_replicas(fleet.problem, stated)
    if not stated.open_replicas:
        here = numbers if enough is None else {*numbers, enough, enough + 1}
        for replicas in sorted(number for number in here if number > stated.replicas):
            if replicas * stated.shards <= gpus:
                yield from _more_replicas(fleet, stated, replicas)
    if enough is None or enough <= stated.replicas:
        return
    missing = max(enough * stated.shards - gpus, 1)
    for added in range(missing, min(missing + ROOM, MOST_NEW + 1)):
        for entry in one_of_each_kind(fleet):
            if not stated.open_replicas:
                yield from _more_replicas(fleet, stated, enough, entry, added)
            elif added > MOST_ADDED:
                yield from more_gpus(fleet, entry, added)


def replicas_for_limits(fleet: Fleet, name: str) -> Ladder:
    """Yield a model in more replicas, if replicas share its use of a limited resource.

    If the GPUs there are do not suffice for that, the fewest replicas that are within the limits
    come with more GPUs.
    """
    stated = next(m for m in fleet.problem.models if m.name == name)
    if not stated.shared_uses or stated.open_replicas:
        return
    numbers = range(stated.replicas + 1, MOST_REPLICAS + 1)
    for replicas in numbers:
        if replicas * stated.shards <= len(fleet.problem.gpus):
            yield from _more_replicas(fleet, stated, replicas)
    enough = next((n for n in numbers if _within_limits(fleet.problem, stated, n)), None)
    if enough is not None:
        for gpus in range(1, MOST_ADDED + 1):
            for entry in one_of_each_kind(fleet):
                yield from _more_replicas(fleet, stated, enough, entry, gpus)


def _more_replicas(
    fleet: Fleet, stated: Model, replicas: int, entry: GpuSpec | None = None, gpus: int = 0
) -> Iterator[Change]:
    model = fleet.models[stated.name].model_copy(update={"replicas": replicas})
    models = [model if m.name == model.name else m for m in fleet.spec.models]
    added = [] if entry is None else [added_gpus(fleet, entry, gpus)]
    update = {"models": models, "gpus": [*fleet.spec.gpus, *added]}
    problem = problem_of(fleet.spec.model_copy(update=update))
    if problem is not None:
        yield Change(
            ChangeKind.REPLICAS,
            problem,
            (stated.name,),
            to=kind_name(entry) if entry else "",
            count=replicas,
            gpus=gpus,
            gb=stated.size_gb * (replicas - stated.replicas),
            node=(entry.node or "") if entry else "",
        )


def _within_limits(problem: Problem, model: Model, replicas: int) -> bool:
    """Return whether a part of a model is alone within the limits of some GPU."""
    part = model.part(replicas)
    return any(
        all(use_of(part, name, gpu.kind) <= limit for name, limit in gpu.limits)
        for gpu in problem.gpus
        if model.may_be_on(gpu)
    )
