"""What can be said when no placement was found: none exists, here is one, or nothing."""

import numpy as np

from colocate.problem.instance import Instance, Ints
from colocate.problem.layout import NOWHERE
from colocate.problem.problem import Problem
from colocate.solver.construct.completion import Outcome, complete
from colocate.solver.construct.task import GENEROUS

NODES = 200_000


def obvious_obstacle(problem: Problem) -> str | None:
    """Return why no placement can exist, if one look at the sums shows it."""
    instance = problem.instance
    homeless = _homeless(instance)
    if homeless is not None:
        return _too_large(problem, homeless)
    needed, memory = instance.size.sum(), instance.capacity.sum()
    if needed > memory * GENEROUS:
        return (
            f"models: size_gb adds up to {needed:.15g}, "
            f"must be at most {memory:.15g} (the memory of all GPUs)"
        )
    return None


def search_in_memory(problem: Problem) -> tuple[Outcome, Ints]:
    """Search all ways to fit the models, up to a limit, with no regard to pressure."""
    everything = np.arange(len(problem.models))
    everywhere = np.arange(len(problem.gpus))
    outcome, models, gpus, _ = complete(
        problem.instance, everything, everywhere, np.inf, np.array([NODES])
    )
    gpu_of = np.full_like(everything, NOWHERE)
    gpu_of[models] = gpus
    return Outcome(outcome), gpu_of


def _homeless(instance: Instance) -> int | None:
    """Return the first model that no GPU could take even if it were empty."""
    homeless = np.ones(len(instance.size), dtype=bool)
    for gpu in np.argsort(-instance.capacity):
        roomy = instance.size <= instance.capacity[gpu] * GENEROUS
        use = instance.use[instance.kind[gpu]]
        homeless &= ~(roomy & (use <= instance.limit[gpu] * GENEROUS).all(axis=1))
        if not homeless.any():
            return None
    return int(homeless.argmax())


def _too_large(problem: Problem, number: int) -> str:
    model = problem.models[number]
    largest = max(problem.gpus, key=lambda gpu: gpu.memory_gb)
    where = f"models[{number}] {model.name!r}"
    if model.size_gb > largest.memory_gb:
        return (
            f"{where}: size_gb={model.size_gb:.15g}, "
            f"must be at most {largest.memory_gb:.15g} (the largest GPU, {largest.name!r})"
        )
    return f"{where}: uses more than the limit of every GPU that has the memory for it"
