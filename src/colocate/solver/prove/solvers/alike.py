"""Find GPUs that differ only in their names, so they can be exchanged."""

from collections.abc import Hashable

from colocate.problem.problem import Problem


def exchangeable_gpus(problem: Problem) -> list[list[int]]:
    """Return the classes of GPUs that are the same to every model and rule.

    GPUs of a class have the same memory, kind and limits, and the same models may be on them. Where
    a model has shards, they are also in one node.
    """
    picky = [model for model in problem.models if model.only or model.never]
    by_node = any(model.shards > 1 for model in problem.models)
    classes: dict[Hashable, list[int]] = {}
    for number, gpu in enumerate(problem.gpus):
        allowed = tuple(model.may_be_on(gpu) for model in picky)
        key = (gpu.memory_gb, gpu.kind, gpu.limits, gpu.node if by_node else "", allowed)
        classes.setdefault(key, []).append(number)
    return list(classes.values())
