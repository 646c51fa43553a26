"""The fewest GPUs that keep latency targets: brute force agrees, and quick limits are sound."""

from dataclasses import replace
from itertools import product
from math import inf

import pytest

from colocate import InputError, Status
from colocate.advise.capacity.asked_targets import with_asked_pressure, with_asked_targets
from colocate.advise.capacity.fleet_sizes import FleetSizes
from colocate.advise.capacity.latency_needs import latency_needs, replica_needs
from colocate.advise.capacity.mixes import Market, costs_by_gpus
from colocate.advise.capacity.search import CapacitySearch
from colocate.advise.capacity.trials import Decision
from colocate.advise.remedies.lone_engines import fewest_replicas, kept_from_slow_gpus
from colocate.inputs.fleet import fleet_of
from colocate.latency.prediction import predict_placement
from colocate.problem.placement import Placement
from colocate.problem.verify import verify
from tests.latency_fleets import latency_fleet, with_binding

MOST = 4


def small(seed, models=4, gpus=3, load=1.0):
    """A few models, all with targets that they must keep."""
    return with_binding(latency_fleet(models, gpus, seed, load=load, objective="pressure"), 1.1)


def keeping(problem):
    """Yield every placement that the checker accepts and that keeps all targets."""
    names = [model.name for model in problem.models]
    for gpus in product([gpu.name for gpu in problem.gpus], repeat=len(names)):
        placement = Placement(dict(zip(names, ((gpu,) for gpu in gpus), strict=True)))
        valid = verify(problem, placement).valid
        if valid and all(e.keeps_targets for e in predict_placement(problem, placement)):
            yield placement


def tight(problem, factor):
    """The same problem with other targets."""
    models = tuple(
        model.changed(
            requests=replace(
                model.requests,
                tpot_slo=model.requests.tpot_slo * factor,
                ttft_slo=model.requests.ttft_slo * factor,
            )
        )
        for model in problem.models
    )
    return replace(problem, models=models)


@pytest.mark.parametrize("sharing", ["slices", "mps"])
@pytest.mark.parametrize("seed", range(12))
def test_quick_limits_exclude_nothing_that_keeps_the_targets(seed, sharing):
    problem = replace(tight(small(seed, load=1 + seed % 3), 0.5), sharing=sharing)
    fast, nowhere = kept_from_slow_gpus(problem)
    needs = latency_needs(problem, 1)
    for placement in keeping(problem):
        assert not nowhere
        used = len({gpu for gpus in placement.values() for gpu in gpus})
        assert all(need.met([used]) for need in needs)
        for model in fast.models:
            assert not set(placement[model.name]) & set(model.never)


def test_quick_limits_are_worth_something():
    least = [
        float(need.least)
        for seed in range(6)
        for need in latency_needs(tight(small(seed, models=8, load=3), 0.3), 1)
    ]
    assert max(least) > 2.0


def test_a_model_too_slow_alone_is_named():
    problem = tight(small(1), 1e-3)
    fast, nowhere = kept_from_slow_gpus(problem)
    assert fast is problem
    assert nowhere.target.model == "m0"
    assert nowhere.target.alone > nowhere.target.target
    assert nowhere.enough is None


def hotter(problem, rate, **fields):
    """The problem with another rate of its first model, and other fields."""
    first, *others = problem.models
    first = first.changed(requests=replace(first.requests, rate=rate), **fields)
    return replace(problem, models=(first, *others))


def test_replicas_that_would_keep_up_are_counted():
    problem = hotter(small(1), 1e4)
    _, nowhere = kept_from_slow_gpus(problem)
    assert nowhere.target.alone == inf
    enough = nowhere.enough
    assert enough > 1
    for replicas, kept in ((enough, True), (enough - 1, False)):
        found = kept_from_slow_gpus(hotter(problem, 1e4 / replicas))[1]
        assert (found is None) == kept


def test_open_replicas_need_a_gpu_each():
    problem = hotter(small(1), 1e4, most_replicas=2)
    fast, nowhere = kept_from_slow_gpus(problem)
    assert nowhere is None
    (need,) = replica_needs(fast, [0] * len(problem.gpus), queues=False)
    assert need.least == fewest_replicas(problem, problem.models[0])


def test_open_replicas_that_miss_a_target_with_any_number_are_named():
    problem = tight(hotter(small(1), 1e4, most_replicas=2), 1e-3)
    found = kept_from_slow_gpus(problem)[1]
    assert found.target.model == "m0"
    assert found.target.alone < inf
    assert found.enough is None


def test_a_queue_counts_for_models_without_a_target_where_ratios_decide():
    problem = hotter(small(1), 1e9)
    model = problem.models[0]
    free = model.changed(requests=replace(model.requests, binding=False))
    problem = replace(problem, models=(free, *problem.models[1:]))
    assert kept_from_slow_gpus(problem)[1] is None
    assert kept_from_slow_gpus(problem, queues=True)[1].target.alone == inf


class Sizes:
    """A fleet of one kind in all sizes, without a file behind it."""

    def __init__(self, problem):
        self._problem = problem
        self.kinds = (type("Kind", (), {"label": "h100", "at_once": 1})(),)
        self.listed = (1,)

    def problem(self, mix):
        gpu = self._problem.gpus[0]
        gpus = tuple(type(gpu)(f"g{n}", gpu.memory_gb, gpu.kind) for n in range(mix[0]))
        return replace(self._problem, gpus=gpus) if gpus else None

    def kind_of_gpus(self, mix):
        return (0,) * mix[0]


@pytest.mark.parametrize("seed", range(8))
def test_the_fewest_gpus_agree_with_brute_force(seed):
    problem = tight(small(seed, load=2), 0.3 if seed % 2 else 0.5)
    sizes = Sizes(problem)
    reached = [n for n in range(1, MOST + 1) if any(True for _ in keeping(sizes.problem((n,))))]
    search = CapacitySearch(Market(sizes, costs_by_gpus((1,))), inf, MOST, time_limit=4)
    answer = search.answer()
    if not reached:
        assert answer.best is None
        return
    assert answer.best.mix == (reached[0],)
    assert answer.best.ratio <= 1.0
    assert answer.plan.problem.limits_latency
    assert all(
        e.keeps_targets for e in predict_placement(problem_of(answer), answer.plan.placement)
    )
    for trial in answer.trials:
        if trial.decision is Decision.EXCLUDED:
            assert trial.mix[0] < reached[0]


def problem_of(answer):
    return answer.plan.problem


TEAM = {
    "gpus": [{"kind": "H100-80GB", "count": 2}],
    "models": [
        {"name": "chat", "size_gb": 16, "rate": 6, "slo": 8, "kv_bytes_per_token": 131072,
         "prompt_tokens": 500, "output_tokens": 200, "tpot_slo": 0.03},
        {"name": "code", "size_gb": 16, "rate": 2, "slo": 8, "kv_bytes_per_token": 131072,
         "prompt_tokens": 900, "output_tokens": 200},
        {"name": "embed", "size_gb": 1, "rate": 9, "slo": 1, "kv_bytes_per_token": 0,
         "prompt_tokens": 300, "output_tokens": 0},
    ],
}  # fmt: skip


def test_asked_targets_are_for_models_that_state_none():
    fleet = with_asked_targets(fleet_of(TEAM), 0.05, 0.8)
    asked = {model.name: model.requests for model in fleet.problem.models}
    assert [asked[name].tpot_slo for name in ("chat", "code", "embed")] == [0.03, 0.05, inf]
    assert [request.ttft_slo for request in asked.values()] == [0.8] * 3
    assert all(request.binding for request in asked.values())
    assert FleetSizes(fleet).targets == 3
    assert with_asked_targets(fleet_of(TEAM), None, None).problem == fleet_of(TEAM).problem


def test_targets_need_models_that_say_what_they_are_asked():
    bare = {**TEAM, "models": [{"name": "m", "size_gb": 9, "load": 1}]}
    with pytest.raises(InputError, match="latency can be predicted"):
        with_asked_targets(fleet_of(bare), 0.05, None)


def test_a_pressure_is_a_limit_where_latency_is_the_objective():
    fleet = fleet_of({**TEAM, "objective": "latency"})
    assert with_asked_pressure(fleet, 0.5).problem.most_pressure == 0.5
    assert with_asked_pressure(fleet, inf) is fleet
    by_pressure = fleet_of({**TEAM, "objective": "pressure"})
    assert with_asked_pressure(by_pressure, 0.5) is by_pressure


@pytest.mark.parametrize("objective", ["pressure", "latency"])
def test_a_pressure_is_reached_together_with_the_targets(objective):
    fleet = with_asked_targets(fleet_of({**TEAM, "objective": objective}), 0.02, None)
    fleet = with_asked_pressure(fleet, 0.1)
    sizes = FleetSizes(fleet)
    market = Market(sizes, costs_by_gpus((1,)))
    answer = CapacitySearch(market, 0.1, 6, time_limit=4).answer()
    assert answer.status in (Status.OPTIMAL, Status.FEASIBLE)
    plan = answer.plan
    assert plan.pressure <= 0.1 * (1 + 1e-9)
    assert plan.problem.objective == objective
    assert all(e.keeps_targets for e in predict_placement(plan.problem, plan.placement))
    assert answer.best.ratio <= 1.0
