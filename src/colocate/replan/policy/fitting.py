"""Whether a placement fits: memory, other resources, numbers of models, and models kept apart."""

from collections.abc import Sequence

from colocate.problem.gpu import Gpu
from colocate.problem.model import ANY_KIND, MEMORY, Model
from colocate.problem.parts import Places
from colocate.problem.pressure import within
from colocate.problem.problem import Problem


def fits(problem: Problem, places: Places) -> bool:
    """Return whether every GPU holds what a placement puts there.

    Latency targets do not count: whether they hold at the measured rates is what a replay tells.

    Parameters
    ----------
    problem, places
        The models and GPUs, and who is where.
    """
    on_gpu: dict[str, list[Model]] = {gpu.name: [] for gpu in problem.gpus}
    for model in problem.models:
        gpus = places.get(model.name, ())
        if gpus:
            part = model.part(len(gpus) // model.shards)
            for gpu in gpus:
                on_gpu[gpu].append(part)
    return all(_holds(problem, gpu, on_gpu[gpu.name]) for gpu in problem.gpus)


def _holds(problem: Problem, gpu: Gpu, parts: Sequence[Model]) -> bool:
    held = sum(part.size_gb + (part.least_cache_gb or 0.0) for part in parts)
    if not within(held, gpu.memory_gb):
        return False
    if problem.most_models is not None and len(parts) > problem.most_models:
        return False
    names = {part.name for part in parts}
    if any(len(names.intersection(group)) > 1 for group in problem.apart):
        return False
    return all(
        within(sum(_use(part, resource, gpu.kind) for part in parts), limit)
        for resource, limit in gpu.limits
        if resource != MEMORY
    )


def _use(part: Model, resource: str, kind: str) -> float:
    by_kind = dict(dict(part.uses).get(resource, ()))
    return by_kind.get(kind, by_kind.get(ANY_KIND, 0.0))
