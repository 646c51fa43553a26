"""Proofs that a problem has no placement at all."""

from colocate.problem.layout import NOWHERE, empty_layout, fits
from colocate.problem.pressure import within
from colocate.problem.problem import Problem
from colocate.solver.construct.completion import Outcome
from colocate.solver.construct.exhaustive import search_fit

NODES = 200_000


def obvious_obstacle(problem: Problem) -> str | None:
    """Return why no placement can exist, if one look at the sums shows it."""
    instance = problem.instance
    empty = empty_layout(instance)
    gpus = range(len(problem.gpus))
    for number in range(len(problem.models)):
        if not any(fits(instance, empty, gpu, NOWHERE, number) for gpu in gpus):
            return _too_large(problem, number)
    needed, memory = instance.size.sum(), instance.capacity.sum()
    if not within(needed, memory):
        return (
            f"models: size_gb adds up to {needed:g}, "
            f"must be at most {memory:g} (the memory of all GPUs)"
        )
    return None


def hidden_obstacle(problem: Problem) -> str | None:
    """Return why no placement can exist, if a bounded exhaustive search shows it."""
    instance = problem.instance
    outcome = search_fit(instance, empty_layout(instance), float("inf"), NODES)
    if outcome != Outcome.NONE:
        return None
    return (
        f"models: no way to put the {len(problem.models)} models on the {len(problem.gpus)} GPUs "
        "respects their memory and limits (all were searched)"
    )


def _too_large(problem: Problem, number: int) -> str:
    model = problem.models[number]
    largest = max(problem.gpus, key=lambda gpu: gpu.memory_gb)
    where = f"models[{number}] {model.name!r}"
    if model.size_gb > largest.memory_gb:
        return (
            f"{where}: size_gb={model.size_gb:g}, "
            f"must be at most {largest.memory_gb:g} (the largest GPU, {largest.name!r})"
        )
    return f"{where}: uses more than the limit of every GPU that has the memory for it"
