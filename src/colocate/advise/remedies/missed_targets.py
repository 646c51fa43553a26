"""Which latency targets cannot be kept, and who is in the way."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf, isinf

from colocate.advise.ratio_problem import for_ratio
from colocate.latency.prediction import Prediction, predict_placement
from colocate.problem.problem import Problem
from colocate.problem.tolerance import OVER_LIMIT
from colocate.solver.deadline import Deadline
from colocate.solver.solve import solve

SECONDS = 0.5
"""Seconds to find the placement that comes closest to the targets."""
SHORTEST, WORKERS = 0.01, 1
"""The fewest seconds for it, and its threads."""


@dataclass(frozen=True)
class FailedTarget:
    """A target that is not kept where the worst ratio is as low as it was found to be.

    Parameters
    ----------
    model, field
        Whose target, and which: `tpot_slo` or `ttft_slo`.
    target, shared, alone
        Seconds: what is allowed, what is predicted beside the neighbours, and alone. Infinite where
        the queue grows without end.
    neighbours
        The models on the same GPUs.
    """

    model: str
    field: str
    target: float
    shared: float
    alone: float
    neighbours: tuple[str, ...] = ()


@dataclass(frozen=True)
class TargetSummary:
    """How close models come to their targets.

    Parameters
    ----------
    ratio
        The lowest worst ratio of a latency to its target that was found.
    missed
        The targets that are missed there, the worst first.
    """

    ratio: float
    missed: tuple[FailedTarget, ...]


def missed_targets(problem: Problem, watch: Deadline) -> TargetSummary | None:
    """Return how close some models come to their targets; None if they keep them, or do not fit.

    Parameters
    ----------
    problem
        The models, all awake.
    watch
        When to stop; half a second is enough.
    """
    if not problem.limits_latency:
        return None
    seconds = max(min(SECONDS, watch.left), SHORTEST)
    plan = solve(for_ratio(problem), time_limit=seconds, workers=WORKERS)
    if not plan.placement:
        return None
    found = predict_placement(problem, plan.placement)
    by_gpu: dict[str, list[str]] = {}
    for each in found:
        for gpu in each.gpus:
            by_gpu.setdefault(gpu, []).append(each.model)
    stated = [each for each in found if each.requests.binding]
    worst = sorted(stated, key=lambda each: -each.shared.ratio)
    missed = [each for each in worst if each.shared.ratio > 1.0 + OVER_LIMIT]
    if not missed:
        return None
    of_model: dict[str, Prediction] = {}
    for each in missed:
        of_model.setdefault(each.model, each)
    targets = tuple(
        failed_target(each, [name for gpu in each.gpus for name in by_gpu[gpu]])
        for each in of_model.values()
    )
    return TargetSummary(worst[0].shared.ratio, targets)


def failed_target(found: Prediction, here: Iterable[str] = ()) -> FailedTarget:
    """Return the target that a replica misses most; its queue, if that grows without end.

    Parameters
    ----------
    found
        What its users feel.
    here
        The models on its GPUs.
    """
    requests = found.requests
    times = {
        "tpot_slo": (requests.tpot_slo, found.shared.tpot, found.alone.tpot),
        "ttft_slo": (requests.ttft_slo, found.shared.ttft, found.alone.ttft),
    }
    ratios = {
        field: shared.at(requests.percentile) / target
        for field, (target, shared, _) in times.items()
        if not isinf(target)
    }
    field = max(ratios, key=lambda name: ratios[name], default="ttft_slo")
    target, shared, alone = times[field]
    return FailedTarget(
        found.model,
        field,
        target,
        inf if found.shared.saturated else shared.at(requests.percentile),
        inf if found.alone.saturated else alone.at(requests.percentile),
        tuple(name for name in dict.fromkeys(here) if name != found.model),
    )
