"""Targets that a placement must keep: lifted for the ordinary solver, and checked afterwards."""

from dataclasses import replace

from colocate.latency.prediction import predict_placement
from colocate.problem.parts import Places
from colocate.problem.problem import Problem

KEPT = 1.0
"""The highest ratio of a target that must hold."""


def by_latency(problem: Problem) -> bool:
    """Whether latencies decide where models go: as the objective, or as targets to keep."""
    return problem.objective == "latency" or problem.limits_latency


def without_targets(problem: Problem) -> Problem:
    """Return the problem for the ordinary solver: pressure counts, and no target must be kept."""
    if not by_latency(problem):
        return problem
    models = tuple(
        model.changed(requests=replace(model.requests, binding=False))
        if model.requests is not None and model.requests.binding
        else model
        for model in problem.models
    )
    return replace(problem, models=models, objective="pressure")


def without_requests(problem: Problem) -> Problem:
    """Return the problem for a first placement: nobody has to know what its users would feel."""
    models = tuple(model.changed(requests=None) for model in problem.models)
    return replace(problem, models=models, objective="pressure")


def keeps_targets(problem: Problem, placement: Places) -> bool:
    """Return whether a placement keeps every target that it must."""
    if not problem.limits_latency:
        return True
    return all(
        each.shared.ratio <= KEPT
        for each in predict_placement(problem, placement)
        if each.requests.binding and each.requests.has_target
    )
