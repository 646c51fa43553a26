"""Drop the constraints of a problem, one at a time or all at once."""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from colocate.advise.what_if import Change, ChangeKind
from colocate.problem.gpu import Gpu
from colocate.problem.model import MEMORY, Model
from colocate.problem.problem import Problem


def relaxations(problem: Problem, first: Container[str] = ()) -> Iterator[Change]:
    """Yield the problem without each of its constraints, one at a time.

    Constraints of the whole fleet come first, then those of the models named, then the others.
    """
    some = [model for model in problem.models if model.name in first]
    others = [model for model in problem.models if model.name not in first]
    return chain(_of_groups(problem), _of_the_fleet(problem), _of_models(problem, [*some, *others]))


def unconstrained(problem: Problem) -> Problem:
    """Return the problem without any of its constraints; replicas stay as they are."""
    gpus = tuple(_unlimited(gpu) for gpu in problem.gpus)
    models = tuple(
        _anywhere(without_target(model).changed(only=(), never=())) for model in problem.models
    )
    return Problem(gpus, models, sharing=problem.sharing, objective=problem.objective)


def without_target(model: Model) -> Model:
    """Return a model whose latency targets need not be kept."""
    if model.requests is None or not model.requests.binding:
        return model
    return model.changed(requests=replace(model.requests, binding=False))


def _of_groups(problem: Problem) -> Iterator[Change]:
    for number, group in enumerate(problem.apart):
        relaxed = replace(problem, apart=_without(problem.apart, number))
        yield Change(ChangeKind.APART, relaxed, group)
    for number, group in enumerate(problem.together):
        relaxed = replace(problem, together=_without(problem.together, number))
        yield Change(ChangeKind.TOGETHER, relaxed, group)


def _without(groups: Sequence[tuple[str, ...]], number: int) -> tuple[tuple[str, ...], ...]:
    return (*groups[:number], *groups[number + 1 :])


def _of_the_fleet(problem: Problem) -> Iterator[Change]:
    if problem.most_models is not None:
        relaxed = replace(problem, most_models=None)
        yield Change(ChangeKind.MOST_MODELS, relaxed, count=problem.most_models)
    if problem.most_pressure is not None:
        yield Change(ChangeKind.MOST_PRESSURE, replace(problem, most_pressure=None))
    if problem.has_least_cache:
        models = tuple(model.changed(least_cache_gb=0.0) for model in problem.models)
        yield Change(ChangeKind.LEAST_CACHE, replace(problem, models=models))
    if problem.limits_latency:
        models = tuple(without_target(model) for model in problem.models)
        yield Change(ChangeKind.TARGETS, replace(problem, models=models))
    used = {name for m in problem.models for name, _ in (*m.uses, *m.shared_uses)} - {MEMORY}
    for resource in sorted(used & {name for gpu in problem.gpus for name, _ in gpu.limits}):
        gpus = tuple(_unlimited(gpu, resource) for gpu in problem.gpus)
        yield Change(ChangeKind.LIMIT, replace(problem, gpus=gpus), (resource,))


def _of_models(problem: Problem, models: Iterable[Model]) -> Iterator[Change]:
    for model in models:
        if model.only:
            yield _changed(problem, model, model.changed(only=()), ChangeKind.ONLY)
        if model.never:
            yield _changed(problem, model, model.changed(never=()), ChangeKind.NEVER)
        if model.replicas > 1:
            single = model.changed(replicas=1, most_replicas=model.most_replicas)
            yield _changed(problem, model, single, ChangeKind.REPLICAS)
        if model.shards > 1 and not model.open_replicas:
            yield _changed(problem, model, _anywhere(model), ChangeKind.ONE_NODE)


def _changed(problem: Problem, old: Model, new: Model, kind: ChangeKind) -> Change:
    models = tuple(new if model is old else model for model in problem.models)
    saved = (old.replicas - new.replicas) * old.size_gb if kind is ChangeKind.REPLICAS else 0.0
    return Change(kind, replace(problem, models=models), (old.name,), count=1, gb=saved)


def _anywhere(model: Model) -> Model:
    """Return a model whose shards need not share a node: like replicas, only smaller."""
    if model.shards == 1 or model.open_replicas:
        return model
    least = model.least_cache_gb
    return model.changed(
        size_gb=model.size_gb / model.shards,
        least_cache_gb=None if least is None else least / model.shards,
        replicas=model.parts,
        most_replicas=model.parts,
        shards=1,
    )


def _unlimited(gpu: Gpu, resource: str | None = None) -> Gpu:
    limits = {} if resource is None else {n: m for n, m in gpu.limits if n != resource}
    return Gpu(gpu.name, gpu.memory_gb, gpu.kind, limits, gpu.node)
