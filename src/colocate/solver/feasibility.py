"""What can be said when no placement was found: none exists, here is one, or nothing."""

import numpy as np

from colocate.problem.instance import Ints
from colocate.problem.layout import NOWHERE
from colocate.problem.problem import Problem
from colocate.solver.construct.completion import GENEROUS, Outcome, complete

NODES = 200_000


def obvious_obstacle(problem: Problem) -> str | None:
    """Return why no placement can exist, if one look at the sums shows it."""
    instance = problem.instance
    homeless = next((n for n in range(len(problem.models)) if not _has_a_home(problem, n)), None)
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
    outcome, models, gpus, _ = complete(problem.instance, everything, everywhere, np.inf, NODES)
    gpu_of = np.full_like(everything, NOWHERE)
    gpu_of[models] = gpus
    return Outcome(outcome), gpu_of


def _has_a_home(problem: Problem, model: int) -> bool:
    """Say whether some GPU could take the model if it were empty."""
    instance = problem.instance
    roomy = instance.size[model] <= instance.capacity * GENEROUS
    use = instance.use[instance.kind, model]
    return bool(np.any(roomy & np.all(use <= instance.limit * GENEROUS, axis=1)))


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
