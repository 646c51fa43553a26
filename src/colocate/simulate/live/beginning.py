"""The engines of a fleet that changes as parts on GPUs, and those that are there first."""

from collections.abc import Sequence

from colocate.errors import InputError, closest
from colocate.fault import Fault, Owner
from colocate.problem.parts import Part
from colocate.problem.problem import Problem
from colocate.problem.tolerance import FIT
from colocate.simulate.engine_life import EngineLife
from colocate.simulate.kernel.state import SimulationState
from colocate.simulate.layout import state_of
from colocate.simulate.options import SimulateOptions


def number_of(problem: Problem, model: str) -> int:
    """Return which model of a problem has a name."""
    names = [each.name for each in problem.models]
    if model not in names:
        owner = Owner("model", model)
        raise InputError(Fault("is not in the fleet", advice=closest(model, names), owner=owner))
    return names.index(model)


def parts_of_life(problem: Problem, life: EngineLife) -> list[Part]:
    """Return the parts of an engine, if it can be on its GPUs at all."""
    number = number_of(problem, life.model)
    model, kinds = problem.models[number], {gpu.name: gpu.kind for gpu in problem.gpus}
    owner = Owner("engine", life.model)
    for gpu in life.gpus:
        if gpu not in kinds:
            found, advice = f"is on {gpu!r}, which is no GPU", closest(gpu, kinds)
            raise InputError(Fault(found, advice=advice, owner=owner))
        if model.requests is not None and model.requests.engine_on(kinds[gpu]) is None:
            found = f"is on {gpu!r}, of a kind on which its speed is not known"
            raise InputError(Fault(found, owner=owner))
    if len(life.gpus) != model.shards or len(set(life.gpus)) < len(life.gpus):
        expected = f"{model.shards} different GPUs, one for each shard"
        raise InputError.of("gpus", ", ".join(life.gpus), expected, owner)
    return [
        Part(number, model.part(1), 0, 1, shard, model.shards, gpu)
        for shard, gpu in enumerate(life.gpus)
    ]


def beginning(
    problem: Problem, lives: Sequence[EngineLife], options: SimulateOptions, seed: int
) -> SimulationState:
    """Return the state of a fleet with the engines that are there first.

    Parameters
    ----------
    problem
        The models and the GPUs.
    lives
        The engines, those of a model in a row.
    options, seed
        As for `state_of`.
    """
    replicas = [parts_of_life(problem, life) for life in lives]
    own = options.cache == "blocks"
    for gpu in problem.gpus:
        needed = sum(
            part.model.size_gb + (life.cache_gb if own else 0.0)
            for life, parts in zip(lives, replicas, strict=True)
            for part in parts
            if part.gpu == gpu.name
        )
        if needed > gpu.memory_gb * (1.0 + FIT):
            found = f"holds {needed:.2f} GB from the beginning"
            expected = f"at most {gpu.memory_gb:g} GB"
            raise InputError(Fault(found, expected, owner=Owner("gpu", gpu.name)))
    return state_of(problem, replicas, [life.cache_gb for life in lives], [], options, seed)
