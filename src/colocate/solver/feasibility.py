"""What can be said when no placement was found: none exists, here is one, or nothing."""

from collections.abc import Iterator, Sequence

import numpy as np

from colocate.problem.gpu import Gpu
from colocate.problem.instance import Instance, Ints
from colocate.problem.layout import NOWHERE
from colocate.problem.model import ANY_KIND, Model
from colocate.problem.parts import BARRED, CONSTRAINT
from colocate.problem.problem import Problem
from colocate.problem.verify import use_of
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
    constrained = any(name.startswith(CONSTRAINT) for name, _ in problem.gpus[0].limits)
    where = f"model {model.name!r}" if constrained else f"models[{number}] {model.name!r}"
    barred = dict(dict(model.uses).get(BARRED, ()))
    open_gpus = [gpu for gpu in problem.gpus if not barred.get(gpu.kind, barred.get(ANY_KIND))]
    if not open_gpus:
        return f"{where}: may be on no GPU, its only and never must leave at least one"
    largest = max(open_gpus, key=lambda gpu: gpu.memory_gb)
    if model.size_gb > largest.memory_gb:
        among = " that it may be on" if len(open_gpus) < len(problem.gpus) else ""
        return (
            f"{where}: size_gb={model.size_gb:.15g}, "
            f"must be at most {largest.memory_gb:.15g} (the largest GPU{among}, {largest.name!r})"
        )
    return f"{where}: {_over_its_limit(model, open_gpus)}"


def _over_its_limit(model: Model, gpus: Sequence[Gpu]) -> str:
    """Say by how much a model exceeds the limits of the GPU on which it does so least."""
    told = "uses more than the limit of every GPU that has the memory for it"
    roomy = (gpu for gpu in gpus if model.size_gb <= gpu.memory_gb * GENEROUS)
    worst = [max(over, default=None) for gpu in roomy if (over := list(_excesses(model, gpu)))]
    closest = min((excess for excess in worst if excess), default=None)
    if closest is None:
        return told
    _, use, limit, resource, gpu_name = closest
    return f"{told}: {use:.3g} of {resource} on {gpu_name!r}, {limit:.3g} at most"


def _excesses(model: Model, gpu: Gpu) -> Iterator[tuple[float, float, float, str, str]]:
    """Yield the limits of a GPU that a model exceeds: how many times, by what, and where."""
    for resource, limit in gpu.limits:
        use = use_of(model, resource, gpu.kind)
        if use > limit * GENEROUS and not resource.startswith(CONSTRAINT):
            yield use / limit if limit > 0.0 else np.inf, use, limit, resource, gpu.name
