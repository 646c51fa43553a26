"""Changes that could help models keep their latency targets."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil, floor, inf, log10

from colocate.advise.relaxations import without_target
from colocate.advise.remedies.changed_fleet import problem_of, problem_with_models
from colocate.advise.remedies.lone_engines import highest_rate
from colocate.advise.what_if import Change, ChangeKind, Ladder, TargetDelta
from colocate.inputs.fleet import Fleet
from colocate.inputs.format_support import Maker, maker_of
from colocate.inputs.window_spec import in_all_windows, peak_of
from colocate.latency.prediction import Prediction, predict_placement
from colocate.problem.model import Model
from colocate.problem.problem import Problem
from colocate.solver.solve import solve

FEWER = (1.0, 0.9, 0.75, 0.5, 0.25)
"""Shares of the requests that a model serves alone: beside neighbours it may serve fewer."""
FIRST = 1000.0
"""How many times more than others a model's latency counts while its least one is looked for."""
SECONDS, WORKERS = 0.5, 1
"""For that search: its time and its threads."""
SLACK = (1.0, 1.1, 1.25)
"""Multiples of the least latency found: the search for a placement may need a little more room."""
DIGITS = 2
"""Digits of a target that is proposed, rounded up."""


def sharing_ladder(fleet: Fleet) -> Ladder:
    """Yield engines that share their GPUs by MPS, where these are NVIDIA's."""
    makers = {maker_of(gpu.kind) for gpu in fleet.problem.gpus}
    if fleet.problem.sharing == "mps" or makers != {Maker.NVIDIA}:
        return
    problem = problem_of(fleet.spec.model_copy(update={"sharing": "mps"}))
    if problem is not None:
        yield Change(ChangeKind.SHARING, problem, to="mps")


def hottest_first(problem: Problem, names: Sequence[str]) -> list[str]:
    """Return some models, those with the most output tokens each second first."""
    asked = {model.name: model.requests for model in problem.models if model.requests}
    return sorted(names, key=lambda name: -asked[name].rate * asked[name].output_tokens)


def rate_ladder(fleet: Fleet, name: str) -> Ladder:
    """Yield a model with fewer requests: as many as it serves alone, and then ever fewer."""
    spec = fleet.models[name]
    field = "rate" if spec.rate is not None else "tokens_per_second"
    asked = getattr(spec, field)
    before = peak_of(asked)
    stated = next(model for model in fleet.problem.models if model.name == name)
    if not before or stated.requests is None:
        return
    share = highest_rate(fleet.problem, stated) / stated.requests.rate
    for of_it in FEWER:
        after = rounded_down(before * share * of_it)
        if 0.0 < after < before:
            fewer = in_all_windows(asked, after / before)
            problem = problem_with_models(fleet, [spec.model_copy(update={field: fewer})])
            if problem is not None:
                kind = ChangeKind.RATE
                yield Change(kind, problem, (name,), to=field, before=before, after=after)


def rounded_down(value: float) -> float:
    """Return a number of few digits that is not above another."""
    if value <= 0.0:
        return 0.0
    unit = 10.0 ** (floor(log10(value)) - DIGITS + 1)
    return round(floor(value / unit) * unit, 12)


def target_ladder(fleet: Fleet, name: str) -> Ladder:
    """Yield a model with more time: the least that it can have while all others keep theirs."""
    least = _least_latency(fleet.problem, name)
    if least is None:
        return
    tried: set[tuple[TargetDelta, ...]] = set()
    for slack in SLACK:
        raised = tuple(_raised(least, slack))
        if not raised or raised in tried:
            continue
        tried.add(raised)
        update = {target.field: target.after for target in raised}
        problem = problem_with_models(fleet, [fleet.models[name].model_copy(update=update)])
        if problem is not None:
            yield Change(ChangeKind.RAISED_TARGET, problem, (name,), targets=raised)


def _least_latency(problem: Problem, name: str) -> Prediction | None:
    """Return what a model has where its latency is least and all others keep their targets."""
    models = tuple(_counted(model, model.name == name) for model in problem.models)
    awake = replace(problem, models=models, objective="latency").awake(
        {model.name for model in problem.sleepers}
    )
    if awake is None or all(model.name != name for model in awake.models):
        return None
    plan = solve(awake, time_limit=SECONDS, workers=WORKERS)
    if not plan.placement:
        return None
    replicas = [each for each in predict_placement(problem, plan.placement) if each.model == name]
    return max(replicas, key=lambda each: each.shared.ratio)


def _counted(model: Model, first: bool) -> Model:
    """Return a model whose latency counts before all others, or one that only keeps its targets."""
    requests = model.requests
    assert requests is not None, "the problem has requests"
    if not first:
        free = replace(requests, tpot_slo=inf, ttft_slo=inf)
        return model if requests.binding else model.changed(requests=free)
    sooner = replace(
        requests, tpot_slo=requests.tpot_slo / FIRST, ttft_slo=requests.ttft_slo / FIRST
    )
    return without_target(model.changed(requests=sooner))


def _raised(least: Prediction, slack: float) -> Iterator[TargetDelta]:
    """Yield the targets that a latency misses, each with the least that it keeps."""
    requests, shared = least.requests, least.shared
    for field, target, found in (
        ("tpot_slo", requests.tpot_slo, shared.tpot),
        ("ttft_slo", requests.ttft_slo, shared.ttft),
    ):
        after = found.at(requests.percentile) * slack
        if target < after < inf:
            yield TargetDelta(field, target, _rounded_up(after))


def _rounded_up(value: float) -> float:
    """Return a number of few digits that is not below another."""
    unit = 10.0 ** (floor(log10(value)) - DIGITS + 1)
    return round(ceil(value / unit) * unit, 12)
