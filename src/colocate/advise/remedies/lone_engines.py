"""Models alone on their GPUs: where they keep their latency targets, and with how many replicas.

An engine alone is as fast as it can be, so one that misses its target alone misses it everywhere on
GPUs of that kind. More replicas share the requests, and fewer requests make no engine slower. So
the fewest replicas that keep a target alone are the fewest that keep it anywhere.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from colocate.advise.remedies.missed_targets import FailedTarget, failed_target
from colocate.inputs.spec import MOST_GPUS
from colocate.latency.prediction import Prediction, predict_placement
from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.problem import Problem
from colocate.problem.tolerance import OVER_LIMIT

HALVINGS = 20
"""Steps to find a rate: they leave an error below one in a million."""


@dataclass(frozen=True)
class FailedModel:
    """A model that misses a target on every kind of GPU, even alone.

    Parameters
    ----------
    target
        The target that it misses, where it comes closest.
    enough
        The fewest replicas that would keep its targets; None if no number would.
    """

    target: FailedTarget
    enough: int | None


def kept_from_slow_gpus(
    problem: Problem, queues: bool = False
) -> tuple[Problem, FailedModel | None]:
    """Close the GPUs on which models alone miss their targets to these models.

    Parameters
    ----------
    problem
        The models, all awake, and GPUs of every kind. Open numbers of replicas have no limit.
    queues
        Whether a queue that grows without end counts for models without a target too.

    Returns
    -------
    tuple
        The problem, and a target of a model that has no GPU left; None if every model has one.
    """
    models = []
    for model in problem.models:
        alone = _with_most_replicas(problem, model) if counts(model, queues) else {}
        slow = [gpu.name for gpu in problem.gpus if gpu in alone and misses(alone[gpu])]
        if slow and len(slow) == len(alone):
            return problem, _failed_model(problem, model, alone.values())
        models.append(model.changed(never=(*model.never, *sorted(slow))) if slow else model)
    return replace(problem, models=tuple(models)), None


def counts(model: Model, queues: bool = False) -> bool:
    """Return whether a model must keep targets, or up with its requests.

    Parameters
    ----------
    model
        The model.
    queues
        Whether models without a target must keep up with their requests.
    """
    return model.requests is not None and (queues or model.requests.binding)


def misses(found: Prediction) -> bool:
    """Return whether a target that must be kept is missed, or a queue grows without end."""
    return found.shared.saturated or (
        found.requests.binding and found.shared.ratio > 1.0 + OVER_LIMIT
    )


def fewest_replicas(problem: Problem, model: Model) -> int | None:
    """Return the fewest replicas of a model that are fast enough alone; None if no number is.

    Parameters
    ----------
    problem
        GPUs of every kind.
    model
        The model; the number of its replicas does not matter.
    """
    rate = _rate(model)

    def keep(replicas: int) -> bool:
        return _keeps(problem, model, rate / replicas)

    return _first(keep, model.replicas, max(MOST_GPUS // model.shards, 1))


def highest_rate(problem: Problem, model: Model) -> float:
    """Return about the highest rate at which a model alone is fast enough; 0 if none is.

    Parameters
    ----------
    problem
        GPUs of every kind.
    model
        The model; an open number of replicas is the highest.
    """
    low, high = 0.0, _rate(model) / model.most_replicas
    if _keeps(problem, model, high):
        return _rate(model)
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _keeps(problem, model, middle) else (low, middle)
    return low * model.most_replicas


def _keeps(problem: Problem, model: Model, rate: float) -> bool:
    return not all(misses(each) for each in _alone(problem, model, rate).values())


def _rate(model: Model) -> float:
    assert model.requests is not None, "its requests are known"
    return model.requests.rate


def _first(holds: Callable[[int], bool], low: int, high: int) -> int | None:
    """Return the first number from which on something holds; None if it never does.

    Parameters
    ----------
    holds
        Whether it holds.
    low, high
        The smallest and the largest number to look at.
    """
    if not holds(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _failed_model(problem: Problem, model: Model, alone: Iterable[Prediction]) -> FailedModel:
    best = min(alone, key=lambda each: each.shared.ratio)
    enough = None if model.open_replicas else fewest_replicas(problem, model)
    return FailedModel(failed_target(best), enough)


def _with_most_replicas(problem: Problem, model: Model) -> dict[Gpu, Prediction]:
    """Return what a replica would have alone, if there are as many of them as possible."""
    most = max(MOST_GPUS // model.shards, 1) if model.open_replicas else model.replicas
    return _alone(problem, model, _rate(model) / most)


def _alone(problem: Problem, model: Model, rate: float) -> dict[Gpu, Prediction]:
    """Return what a replica with a rate would have alone, on every GPU that has room for it."""
    found: dict[tuple[str, float], Prediction] = {}
    by_gpu = {}
    for gpu in problem.gpus:
        if model.may_be_on(gpu) and model.size_gb <= model.shards * gpu.memory_gb:
            likeness = gpu.kind, gpu.memory_gb
            if likeness not in found:
                found[likeness] = _predicted(model, rate, gpu, problem.sharing)
            by_gpu[gpu] = found[likeness]
    return by_gpu


def _predicted(model: Model, rate: float, gpu: Gpu, sharing: str) -> Prediction:
    assert model.requests is not None, "its requests are known"
    names = [f"gpu-{number}" for number in range(model.shards)]
    gpus = tuple(Gpu(name, gpu.memory_gb, gpu.kind, node="node") for name in names)
    one = model.changed(
        replicas=1,
        most_replicas=1,
        only=(),
        never=(),
        sleep_cost=None,
        requests=replace(model.requests, rate=rate, rates=()),
    )
    return predict_placement(Problem(gpus, (one,), sharing=sharing), {model.name: names})[0]
