"""What an attack on the solver found: proofs that were false, placements that were missed."""

from dataclasses import replace
from math import inf, isfinite

import pytest

from colocate import Gpu, Model, Problem, Status, load_suite, solve, verify
from colocate.arena.families import planted
from colocate.problem.certificate import Certificate, Proof
from colocate.solver.check import check_plan

SIZES = (0.9, 10.1, 1.6, 4.9, 2.5, 2.0, 6.2, 5.2, 6.3)
LOADS = ((4, 24), (21, 28), (0, 29), (23, 0), (6, 6), (22, 15), (22, 13), (20, 0), (8, 26))
PLACED = (("m1", "m4"), ("m3", "m8"), ("m2", "m5", "m7"), ("m0", "m6"))
BEST = 1.4102564102564104
"""The lowest pressure of the fleet above, by the placement above."""


def fleet(most_pressure=None, sleeper=None):
    gpus = [Gpu(f"g{n}", 40) for n in range(4)]
    models = [
        Model(f"m{n}", size, load=load, sleep_cost=1.0 if f"m{n}" == sleeper else None)
        for n, (size, load) in enumerate(zip(SIZES, LOADS, strict=True))
    ]
    return Problem(gpus, models, most_pressure=most_pressure)


def test_the_placement_is_what_it_is_said_to_be():
    places = {name: (f"g{n}",) for n, names in enumerate(PLACED) for name in names}
    assert verify(fleet(), places).pressure == pytest.approx(BEST, rel=1e-12)


@pytest.mark.parametrize(("limit", "sleeper"), [(1.4183, "m8"), (1.427, "m3"), (1.4103, "m1")])
def test_nobody_sleeps_where_all_can_be_awake(limit, sleeper):
    plan = solve(fleet(limit, sleeper), time_limit=10.0)
    assert plan.status is Status.OPTIMAL
    assert plan.asleep == ()
    assert plan.pressure == pytest.approx(BEST, rel=1e-8)
    assert check_plan(plan.problem, plan.as_dict()).all_confirmed
    assert plan.alarms == ()


def test_a_false_bound_is_not_confirmed_however_often_it_is_repeated():
    plan = solve(fleet(), time_limit=10.0)
    worse = {f"m{n}": ("g0",) for n in range(9)}
    forged = replace(
        plan,
        placement=worse,
        pressures=verify(fleet(), worse).pressures,
        certificate=Certificate(Proof.SEARCH, 1.4336),
        status=Status.FEASIBLE,
    )
    findings = check_plan(fleet(), forged.as_dict(), reprove=20.0)
    assert any("1.4336" in fault for fault in findings.faults)


def test_a_search_that_claims_a_plans_own_pressure_is_not_confirmed():
    plan = solve(fleet(), time_limit=10.0)
    forged = replace(plan, certificate=Certificate(Proof.SEARCH, plan.pressure))
    assert not check_plan(fleet(), forged.as_dict()).all_confirmed


@pytest.mark.parametrize("seed", [2006, 7, 8])
def test_a_finite_pressure_is_found_where_memory_is_all_but_full(seed):
    problem, places = planted("full-64", seed)
    assert isfinite(verify(problem, places).pressure)
    plan = solve(problem, time_limit=5.0, gap=0.05)
    assert plan.gap <= 0.05


def test_sleepers_leave_a_finite_pressure():
    problem = next(c for c in load_suite("families").cases if c.name == "families-sleepers-128")
    plan = solve(problem.problem, time_limit=3.0)
    assert isfinite(plan.pressure)
    assert plan.lost <= 1.03 * plan.lost_bound
    assert not check_plan(problem.problem, plan.as_dict()).faults


def test_an_infinite_pressure_is_optimal_where_no_other_exists():
    models = [Model("full", 80, load=1), Model("half", 40, load=1), Model("rest", 30, load=1)]
    problem = Problem([Gpu("a", 80), Gpu("b", 80)], models)
    plan = solve(problem)
    assert plan.status is Status.OPTIMAL
    assert plan.pressure == plan.bound == inf
    assert check_plan(problem, plan.as_dict()).all_confirmed


@pytest.mark.parametrize("seed", [3, 4])
def test_a_large_fleet_with_pins_groups_and_compute_is_placed(seed):
    problem, places = planted("constrained-1024", seed)
    assert verify(problem, places).valid
    plan = solve(problem, time_limit=20.0, gap=0.02)
    assert plan.gap <= 0.02
    assert verify(problem, plan.placement).pressure == plan.pressure


@pytest.mark.parametrize("suite", ["adrs", "prism24", "chatlmsys"])
def test_every_proof_of_a_suite_is_confirmed_by_someone_who_trusts_no_solver(suite):
    for case in load_suite(suite).cases:
        plan = solve(case.problem, time_limit=30.0)
        assert plan.status is Status.OPTIMAL, case.name
        assert check_plan(case.problem, plan.as_dict()).all_confirmed, case.name
