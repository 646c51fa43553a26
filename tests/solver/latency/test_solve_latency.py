"""Placing models by latency: as good as the best of all placements, wherever these are few."""

import json
from dataclasses import replace
from math import inf

import numpy as np
import pytest

from colocate import Plan, solve
from colocate.errors import InputError
from colocate.latency.prediction import predict_placement
from colocate.problem.certificate import Certificate, Proof
from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.problem import Problem
from colocate.problem.reduction import reduction_of
from colocate.problem.requests import EngineSpeed, Requests
from colocate.solver.budget import SolveBudget
from colocate.solver.check import check_plan
from colocate.solver.deadline import Deadline
from colocate.solver.latency.progress import LatencyProgress
from colocate.solver.latency.steps import LatencySearch
from colocate.solver.place import place
from colocate.solver.plan import Status
from colocate.solver.targets import without_targets
from tests.latency_fleets import best_of_all, latency_fleet, requests_of, small_fleet, with_binding
from tests.latency_problems import slowing_fleet

SECONDS = 1.5
"""Far more than the search takes in a small fleet; where no proof is found, all of it is taken."""


def agrees(problem):
    """Check a plan against the best of all placements."""
    best, plan = best_of_all(problem), solve(problem, time_limit=SECONDS)
    if best is None:
        assert not plan.placement
        return
    assert plan.placement, plan.reason
    assert plan.lost == pytest.approx(best[0])
    assert plan.value == pytest.approx(best[1], rel=1e-8)
    assert plan.bound <= best[1] * (1 + 1e-8)


@pytest.mark.parametrize("objective", ["latency", "pressure"])
@pytest.mark.parametrize("chance", [0.0, 0.5])
def test_no_placement_is_better(objective, chance):
    for seed in range(20):
        agrees(with_binding(small_fleet(seed, objective=objective), chance, seed))


@pytest.mark.parametrize("objective", ["latency", "pressure"])
def test_no_numbers_of_replicas_are_better(objective):
    for seed in range(12):
        fleet = small_fleet(seed, open_replicas=True, most=4, objective=objective)
        agrees(with_binding(fleet, 0.5, seed))


@pytest.mark.parametrize("objective", ["latency", "pressure"])
def test_no_sleepers_lose_less(objective):
    for seed in range(12):
        agrees(with_binding(small_fleet(seed, sleep=True, most=4, objective=objective), 0.5, seed))


@pytest.mark.parametrize("objective", ["latency", "pressure"])
def test_the_limit_on_the_pressure_holds(objective):
    for seed in range(10):
        agrees(small_fleet(seed, most_pressure=0.3, objective=objective))


def two_gpus(*models, **fields):
    gpus = (Gpu("a", 80, kind="h100"), Gpu("b", 80, kind="h100"))
    return Problem(gpus, models, **{"objective": "latency", **fields})


def asked(name, rate, output=100.0, tpot=0.1, ttft=1.0, **fields):
    return Model(
        name, 5.0, load=1.0, requests=requests_of(3e9, rate, 200.0, output, tpot, ttft), **fields
    )


def test_a_model_that_is_never_asked_harms_nobody():
    plan = solve(two_gpus(asked("busy", 2.0), asked("quiet", 0.0)), time_limit=1)
    together = predict_placement(plan.problem, {"busy": ("a",), "quiet": ("a",)})
    assert together[0].shared.ratio == pytest.approx(together[0].alone.ratio)
    assert plan.ratio >= max(each.alone.ratio for each in together) * (1 - 1e-9)


def test_encoders_have_a_latency_too():
    plan = solve(two_gpus(asked("reader", 20.0, output=0.0), asked("writer", 1.0)), time_limit=1)
    assert plan.placement["reader"] != plan.placement["writer"]


def test_a_queue_without_end_is_an_answer_where_no_target_must_hold():
    flooded = asked("flooded", 1e6)
    loose = flooded.changed(requests=replace(flooded.requests, binding=False))
    plan = solve(two_gpus(loose, asked("calm", 0.1)), time_limit=1)
    assert plan.ratio == inf
    assert plan.placement["flooded"] != plan.placement["calm"]
    assert "grows without end" in plan.summary
    again = Plan.from_dict(plan.problem, json.loads(json.dumps(plan.as_dict())))
    assert again.ratios == plan.ratios


def test_a_target_out_of_reach_leaves_no_placement():
    plan = solve(two_gpus(asked("slow", 1.0, tpot=1e-6)), time_limit=1)
    assert plan.status is Status.INFEASIBLE
    assert plan.certificate is not None
    assert not check_plan(plan.problem, plan.as_dict()).faults


def test_replicas_share_a_rate_that_one_cannot_take():
    many = asked("many", 40.0, output=400.0, tpot=0.02, most_replicas=2)
    plan = solve(two_gpus(many), time_limit=1)
    assert plan.placement["many"] == ("a", "b")


@pytest.mark.parametrize("objective", ["latency", "pressure"])
def test_replicas_share_a_load_that_one_cannot_hold(objective):
    """One replica has a pressure of 1 / 75 on a GPU of 80 GB, and each of two half of that."""
    problem = replace(two_gpus(asked("many", 4.0, most_replicas=2)), objective=objective)
    plan = solve(replace(problem, most_pressure=0.01), time_limit=1)
    assert plan.placement["many"] == ("a", "b")
    none = solve(replace(problem, most_pressure=0.005), time_limit=1)
    assert none.status is Status.INFEASIBLE


def test_targets_limit_the_lowest_pressure():
    problem = with_binding(latency_fleet(12, 4, seed=3, objective="pressure"), 1.0)
    free = solve(without_targets(problem), time_limit=2)
    plan = solve(problem, time_limit=5)
    assert plan.placement
    assert plan.ratio <= 1.0
    assert plan.pressure >= free.bound * (1 - 1e-9)


def test_a_plan_states_its_ratios():
    plan = solve(latency_fleet(8, 3), time_limit=0.5)
    data = plan.as_dict()
    assert data["objective"] == "latency"
    assert data["ratio"] == max(data["ratios"].values()) == plan.value == plan.ratio
    assert set(data["ratios"]) == {gpu.name for gpu in plan.problem.gpus}
    again = Plan.from_dict(plan.problem, json.loads(json.dumps(data)))
    assert again.digest == plan.digest
    assert again.as_dict() == data
    tampered = {**data, "ratios": dict.fromkeys(data["ratios"], 0.1)}
    assert check_plan(plan.problem, tampered).faults
    without = solve(Problem((Gpu("a", 80),), (Model("m", 1, load=1),)), time_limit=0.5)
    assert "ratios" not in without.as_dict()
    assert not without.ratios


def test_the_same_seed_and_steps_give_the_same_placement():
    def found(seed):
        progress = LatencyProgress(
            reduction_of(latency_fleet(40, 8, seed=5)), SolveBudget(Deadline())
        )
        search = LatencySearch(progress, Deadline(), seed)
        search.begin(np.full(40, -1))
        for _ in range(10):
            search.step()
        search.finish()
        return progress.best.tolist(), progress.peak

    assert found(3) == found(3)


def test_a_search_ends_early_enough_for_its_proof_to_be_checked():
    problem = latency_fleet(12, 4, seed=1)
    progress = LatencyProgress(reduction_of(problem), SolveBudget(Deadline(60)))
    left = progress.seconds_left
    progress.prove(Certificate(Proof.COVER, 0.1), checking=50)
    assert progress.seconds_left < left - 49
    progress.prove(Certificate(Proof.GROUPS, 0.2))
    assert progress.seconds_left > left - 11


def test_a_target_or_a_gap_ends_the_search():
    problem = latency_fleet(24, 8, seed=1)
    assert solve(problem, time_limit=60, target=2.0).seconds < 30
    reports = []
    plan = solve(problem, time_limit=1, on_improvement=reports.append)
    values = [report.value for report in reports]
    assert values[-1] == pytest.approx(plan.value)
    assert values == sorted(values, reverse=True)
    assert plan.history


def test_wrong_input_is_refused():
    with pytest.raises(InputError):
        solve(latency_fleet(4, 2), time_limit=0)
    with pytest.raises(InputError):
        Problem((Gpu("a", 80),), (Model("m", 1, load=1),), objective="latency")


def test_a_strategy_does_not_answer_with_broken_targets():
    problem = two_gpus(asked("one", 1.0, tpot=0.003), objective="pressure")
    plan = place(problem)
    assert not plan.placement
    assert "targets" in plan.reason


def test_no_number_of_replicas_keeps_a_target_out_of_reach():
    problem = two_gpus(asked("slow", 1.0, tpot=1e-6, most_replicas=2))
    plan = solve(problem, time_limit=1)
    assert plan.status is Status.INFEASIBLE
    assert plan.problem is problem
    assert not check_plan(problem, plan.as_dict()).faults


def test_queues_about_to_tip_over_are_predicted_as_the_checker_finds_them():
    """Waits feed each other there, and the law takes hundreds of sweeps to settle."""
    short = EngineSpeed(0.0028, 0.00035, 0.0048, 0.0043, 35)
    long = EngineSpeed(0.0014, 0.00049, 0.009, 0.0082, 32)
    asked_of = (
        Requests(9.64490426687, 116.0, (("h100", short),), 0.05, 1.0, slots=1e6),
        Requests(4.6, 116.0, (("h100", long),), 0.05, 1.0, 99.0, slots=1e6),
    )
    models = [
        Model(f"m{n}", 1.0, load=1.0, requests=replace(each, binding=False))
        for n, each in enumerate(asked_of)
    ]
    gpus = (Gpu("g", 80.0, kind="h100"),)
    problem = Problem(gpus, models, sharing="mps", objective="latency")
    plan = solve(problem, time_limit=0.5)
    assert plan.ratio == pytest.approx(0.678022, rel=1e-5)
    assert not check_plan(problem, plan.as_dict()).faults
    between = [
        replace(each, tpot_slo=0.05 * 0.677, ttft_slo=0.677, binding=True) for each in asked_of
    ]
    models = [m.changed(requests=each) for m, each in zip(models, between, strict=True)]
    tight = replace(problem, models=models, objective="pressure")
    assert not solve(tight, time_limit=0.5).placement


@pytest.mark.parametrize("layers", [0, 0.5])
def test_an_engine_has_a_layer(layers):
    with pytest.raises(InputError, match="layers"):
        EngineSpeed(0.005, 0.0, 0.02, 0.02, layers)


def test_more_replicas_may_be_needed_for_the_pressure():
    with_one_replica = 1.0 / 75.0
    many = asked("many", 1.0, most_replicas=2)
    plan = solve(two_gpus(many, most_pressure=0.8 * with_one_replica), time_limit=1)
    assert plan.placement["many"] == ("a", "b")
    assert not check_plan(plan.problem, plan.as_dict()).faults


def test_a_plan_of_sleepers_alone_passes_the_check():
    tired = asked("tired", 1.0, tpot=1e-6, sleep_cost=1.0)
    plan = solve(two_gpus(tired), time_limit=1)
    assert plan.asleep == ("tired",)
    assert not check_plan(plan.problem, plan.as_dict()).faults


def test_a_target_that_no_sleeper_can_save_is_proven_impossible():
    late = asked("late", 1.0, tpot=1e-6)
    tired = asked("tired", 1.0, sleep_cost=1.0)
    plan = solve(two_gpus(late, tired), time_limit=1)
    assert plan.status is Status.INFEASIBLE
    assert "even with all models asleep that may be" in plan.reason
    findings = check_plan(plan.problem, plan.as_dict())
    assert not findings.faults
    assert "by one model alone on its GPU: 'late'" in findings.confirmed[0]


def test_no_time_limit_ends_with_a_proof():
    found = solve(slowing_fleet(8, 3), time_limit=inf)
    assert found.status is Status.OPTIMAL
