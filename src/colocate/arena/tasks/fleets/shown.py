"""GPUs and models as programs get them: plain data with the fields that a task documents."""

from collections.abc import Callable
from typing import Any

from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.problem import Problem

Shown = tuple[list[dict[str, Any]], list[dict[str, Any]]]


def shown_windows(problem: Problem) -> Shown:
    """Return GPUs with their memory, and models with a load for every window."""
    return _shown(problem, lambda model: {"load": [_plain(load) for load in model.load]})


def shown_copies(problem: Problem) -> Shown:
    """Return GPUs with their memory, and models with load, least cache and most copies."""
    return _shown(
        problem,
        lambda model: {
            "load": _plain(model.load[0]),
            "least_cache_gb": _plain(model.least_cache_gb or 0.0),
            "most_copies": model.most_replicas,
        },
    )


def shown_latency(problem: Problem) -> Shown:
    """Return GPUs with kind and memory, and models with requests and speeds."""
    gpus, models = _shown(problem, _requests)
    return [
        {**gpu, "kind": each.kind} for gpu, each in zip(gpus, problem.gpus, strict=True)
    ], models


def _shown(problem: Problem, more: Callable[[Model], dict[str, Any]]) -> Shown:
    models = [
        {"name": model.name, "size_gb": _plain(model.size_gb), **more(model)}
        for model in problem.models
    ]
    return [_gpu(gpu) for gpu in problem.gpus], models


def _gpu(gpu: Gpu) -> dict[str, Any]:
    return {"name": gpu.name, "memory_gb": _plain(gpu.memory_gb)}


def _requests(model: Model) -> dict[str, Any]:
    requests = model.requests
    assert requests is not None, "the models of the task state them"
    engines = {
        kind: {
            "step_s": engine.step,
            "request_s": engine.step_per_request,
            "prefill_s": engine.prefill,
            "work_s": engine.prefill_work,
        }
        for kind, engine in requests.engines
    }
    return {
        "rate": requests.rate,
        "output_tokens": _plain(requests.output_tokens),
        "target_s": requests.tpot_slo,
        "engines": engines,
    }


def _plain(figure: float) -> float | int:
    """Return a whole number as an integer."""
    return int(figure) if figure == int(figure) else figure
