"""The fleets of the examples plan, are explained and checked, and every target writes them."""

import json
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest
from benchmarks.trace_rates import means_of

from colocate import Status, emit, read_fleet, services_of, solve
from colocate.advise.explain.explanation import explain
from colocate.inputs.trace.reading import Trace
from colocate.latency.prediction import predict_placement
from colocate.outputs.emit.catalogue import TARGETS
from colocate.simulate.demand.kinds import TraceDemand
from colocate.solver.check import check_plan
from colocate.solver.targets import without_targets

EXAMPLES = Path(__file__).parents[1] / "examples"
FLEETS = {"office": (22, 12), "longtail": (300, 24), "production": (20, 32)}
"""Models and GPUs."""


@pytest.fixture(scope="module", params=FLEETS)
def planned(request):
    """Return the name of an example, its fleet and its plan."""
    fleet = read_fleet(EXAMPLES / f"{request.param}.yaml")
    return request.param, fleet, solve(fleet.problem, time_limit=60.0, gap=0.02)


def test_it_has_a_plan_of_every_model_that_passes_the_check(planned):
    name, fleet, plan = planned
    assert (len(plan.problem.models), len(plan.problem.gpus)) == FLEETS[name]
    assert plan.placement, plan.reason
    assert check_plan(fleet.problem, plan.as_dict()).faults == []
    assert not plan.asleep
    assert plan.gap < 0.5


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_targets_hold_wherever_the_search_begins_with_shards(seed):
    problem = read_fleet(EXAMPLES / "production.yaml").problem
    awake = replace(problem, models=tuple(m.changed(sleep_cost=None) for m in problem.models))
    plan = solve(awake, time_limit=30.0, gap=0.1, seed=seed)
    assert plan.placement, plan.reason


def test_every_engine_has_room_for_its_requests(planned):
    _, fleet, plan = planned
    for service in services_of(plan, fleet):
        assert service.cache_gb >= service.least_cache_gb * (1 - 1e-9)
        if service.cache_tokens is not None:
            assert service.longest_context >= service.longest_request
            assert service.requests_at_once >= fleet.models[service.model].min_concurrency


def test_it_is_explained(planned):
    _, fleet, plan = planned
    told = explain(plan, fleet, 2.0)
    assert told.bottleneck.pressure == plan.pressure
    assert {each.model for each in told.services} == {t.model for t in told.bottleneck.tenants}


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_writes_it(planned, target, tmp_path):
    _, fleet, plan = planned
    paths = {path.name for path in emit(target, plan, fleet).write(tmp_path)}
    assert {"endpoints.json", "nginx.conf", "litellm.yaml"} <= paths
    endpoints = json.loads((tmp_path / "endpoints.json").read_text(encoding="utf-8"))
    listed = {model["model"] for model in endpoints["models"]}
    assert listed == set(fleet.models)


def test_the_lowest_pressure_breaks_three_targets_that_the_latency_plan_keeps():
    problem = read_fleet(EXAMPLES / "latency.yaml").problem
    lowest = solve(without_targets(problem), time_limit=20.0, levels=None)
    assert lowest.status is Status.OPTIMAL
    missed = [
        each for each in predict_placement(problem, lowest.placement) if not each.keeps_targets
    ]
    assert {each.model for each in missed} == {"chat", "assistant", "coder"}
    assert min(each.shared.ratio for each in missed) > 1.1
    latency = solve(problem, time_limit=20.0)
    assert latency.status is Status.OPTIMAL
    assert latency.ratio < 0.9
    assert latency.pressure > lowest.pressure
    assert check_plan(problem, latency.as_dict()).faults == []


class TestLmsys:
    """The fleet of a trace: `examples/lmsys.yaml` and `examples/lmsys_trace.csv`."""

    FLEET, TRACE = EXAMPLES / "lmsys.yaml", EXAMPLES / "lmsys_trace.csv"

    def test_its_rates_and_tokens_are_those_of_the_trace(self):
        models = read_fleet(self.FLEET).models
        told = {
            name: (model.rate, model.prompt_tokens, model.output_tokens)
            for name, model in models.items()
        }
        assert told == means_of(self.TRACE)
        assert list(told) == list(means_of(self.TRACE))
        assert len(told) == 27

    def test_its_plan_is_proven_and_keeps_every_target(self):
        problem = read_fleet(self.FLEET).problem
        plan = solve(problem, time_limit=20.0)
        assert plan.status is Status.OPTIMAL
        assert plan.ratio < 0.6
        assert check_plan(problem, plan.as_dict()).faults == []

    def test_the_trace_is_a_stream_of_requests_to_the_fleet(self):
        problem = read_fleet(self.FLEET).problem
        demand = TraceDemand(Trace(self.TRACE))
        (stream,) = demand.pieces(problem, inf, 0)
        assert (len(stream), stream.seconds) == (1500, 600.0)
        for index, model in enumerate(problem.models):
            asked, mine = model.requests, stream.model == index
            assert mine.sum() == round(asked.rate * 600.0)
            assert abs(stream.prompt[mine].mean() - asked.prompt_tokens) < 0.06
            assert abs(stream.output[mine].mean() - asked.output_tokens) < 0.06
