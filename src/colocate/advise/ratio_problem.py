"""The problem whose best value says how close models come to the targets that they must keep."""

from dataclasses import replace
from math import inf

from colocate.problem.model import Model
from colocate.problem.problem import Problem


def for_ratio(problem: Problem) -> Problem:
    """Return the problem of the lowest worst ratio to the targets that must be kept.

    They count without being limits, so that a placement which misses them has a ratio too. Other
    targets do not count: only a queue that grows without end does.
    """
    models = tuple(_aiming(model) for model in problem.models)
    return replace(problem, models=models, objective="latency")


def _aiming(model: Model) -> Model:
    requests = model.requests
    assert requests is not None, "a problem with targets says what its models are asked"
    if requests.binding:
        return model.changed(requests=replace(requests, binding=False))
    return model.changed(requests=replace(requests, tpot_slo=inf, ttft_slo=inf))
