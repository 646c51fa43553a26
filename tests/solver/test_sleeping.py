"""Who sleeps: brute force over all choices agrees with the solver."""

from dataclasses import replace
from itertools import product
from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate import Gpu, Model, Problem, Status, place, solve, verify
from colocate.errors import InputError
from colocate.solver.check import check_plan
from colocate.solver.decide import sleep
from colocate.solver.decide.sleep import least_lost
from tests.campaign import campaign

GPUS = (Gpu("g0", 80), Gpu("g1", 40))


def best_of_all(problem):
    """The least loss, and the lowest pressure with it, by trying every choice and place."""
    names = [gpu.name for gpu in problem.gpus]
    options = [
        [(name,) for name in names] + ([()] if model.sleep_cost is not None else [])
        for model in problem.models
    ]
    found = []
    for places in product(*options):
        placement = dict(zip((m.name for m in problem.models), places, strict=True))
        verdict = verify(problem, placement)
        if verdict.valid:
            lost = fsum(m.sleep_cost for m in problem.models if not placement[m.name])
            found.append((lost, verdict.pressure))
    return min(found, default=None)


@st.composite
def sleepy(draw):
    models = tuple(
        Model(
            f"m{number}",
            draw(st.sampled_from([10, 25, 40, 70])),
            load=draw(st.sampled_from([0, 1, 2, 5])),
            sleep_cost=draw(st.sampled_from([None, 0, 1, 2, 5, 5.5])),
        )
        for number in range(draw(st.integers(1, 5)))
    )
    pair = len(models) > 1
    groups = [(("m0", "m1"),), ()]
    return Problem(
        GPUS,
        models,
        apart=draw(st.sampled_from(groups)) if pair else (),
        most_models=draw(st.sampled_from([None, None, 2])),
        most_pressure=draw(st.sampled_from([None, None, 0.05, 0.2])),
    )


@campaign(150)
@given(sleepy())
def test_brute_force_over_all_choices_agrees(problem):
    best = best_of_all(problem)
    plan = solve(problem, time_limit=5.0, workers=1)
    if best is None:
        assert plan.status is Status.INFEASIBLE, plan.reason
        return
    lost, pressure = best
    assert plan.placement, plan.reason
    assert plan.lost == pytest.approx(lost, abs=1e-5)
    assert plan.lost_bound <= lost * (1 + 1e-9)
    assert plan.pressure >= pressure * (1 - 1e-9)
    assert check_plan(problem, plan.as_dict(), 10.0).faults == []
    assert plan.status is Status.OPTIMAL


@campaign(80)
@given(sleepy())
def test_what_a_large_fleet_loses_is_bounded_and_valid(problem):
    """A fleet that is too large for CP-SAT is decided by density, and bounded by volume."""
    best = best_of_all(problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sleep, "small_enough", lambda problem: False)
        plan = solve(problem, time_limit=1.0, workers=1)
    if best is None:
        assert not plan.placement
        return
    assert least_lost(problem) <= best[0] + 1e-9
    if plan.placement:
        assert plan.lost >= best[0] - 1e-9
        assert check_plan(problem, plan.as_dict(), 10.0).faults == []


def asked(pressure=None):
    models = (
        Model("kept", 30, load=2),
        Model("dear", 30, load=1, sleep_cost=9),
        Model("cheap", 30, load=1, sleep_cost=1),
    )
    return Problem((Gpu("g0", 80),), models, most_pressure=pressure)


def test_the_least_demand_is_lost_when_not_all_fits():
    plan = solve(asked())
    assert plan.asleep == ("cheap",)
    assert (plan.lost, plan.lost_bound) == (1, pytest.approx(1))
    assert plan.placement["cheap"] == ()
    assert plan.pressure == pytest.approx(3 / 20)
    assert "asleep: cheap" in str(plan)


def test_models_sleep_for_the_sake_of_a_pressure():
    assert solve(asked(0.15)).asleep == ("cheap",)
    assert set(solve(asked(0.1)).asleep) == {"dear", "cheap"}
    plan = solve(asked(0.01))
    assert plan.status is Status.INFEASIBLE


def test_a_limit_on_the_pressure_without_sleepers():
    problem = Problem((Gpu("g0", 80),), (Model("m", 30, load=2),), most_pressure=0.03)
    plan = solve(problem)
    assert plan.status is Status.INFEASIBLE
    assert "most_pressure=0.03: the best placement has 0.04" in plan.reason
    assert "has a pressure of 0.04, 0.03 at most" in verify(problem, {"m": ("g0",)}).faults[0]


def test_who_must_be_together_and_is_awake_is_together():
    models = (
        Model("a", 30, load=1, sleep_cost=5),
        Model("b", 30, load=1, sleep_cost=1),
        Model("c", 30, load=1),
    )
    problem = Problem((Gpu("g0", 70), Gpu("g1", 50)), models, together=(("a", "b", "c"),))
    plan = solve(problem)
    assert plan.asleep == ("b",)
    assert plan.placement["a"] == plan.placement["c"] == ("g0",)


def test_nobody_sleeps_for_nothing():
    models = (Model("busy", 30, load=1), Model("unused", 30, load=0, sleep_cost=0))
    assert solve(Problem((Gpu("g0", 80),), models)).asleep == ()


def test_all_may_sleep():
    problem = Problem((Gpu("g0", 10),), (Model("m", 30, load=1, sleep_cost=1),))
    plan = solve(problem)
    assert (plan.asleep, plan.pressure, plan.status) == (("m",), 0, Status.OPTIMAL)


def test_strategies_do_not_decide_who_sleeps():
    with pytest.raises(InputError, match="do not decide on"):
        place(asked(), "five_recommendations")


def test_a_plan_that_hides_a_loss_is_wrong():
    problem = asked()
    data = solve(problem).as_dict()
    assert any("lost" in fault for fault in check_plan(problem, {**data, "lost": 0}).faults)


def test_no_pressure_at_all_lets_only_those_be_awake_that_have_no_load():
    models = (Model("idle", 30, load=0), Model("busy", 30, load=(0, 1), sleep_cost=2))
    problem = Problem((Gpu("g0", 80),), models, most_pressure=0)
    plan = solve(problem)
    assert plan.status is Status.OPTIMAL
    assert plan.asleep == ("busy",)
    assert plan.lost_bound == pytest.approx(2)
    assert check_plan(problem, plan.as_dict(), 10.0).faults == []


@pytest.mark.parametrize("bound", [1.001, 9.0, -1.0, float("nan")])
def test_no_plan_can_lose_less_than_its_own_bound(bound):
    problem = asked()
    plan = replace(solve(problem), lost_bound=bound)
    assert plan.lost == 1
    assert any("lost_bound" in fault for fault in check_plan(problem, plan.as_dict()).faults)


def test_a_bound_on_losses_where_nobody_may_sleep_is_wrong():
    problem = Problem(GPUS, (Model("m", 30, load=1),))
    plan = replace(solve(problem), lost_bound=1.0)
    assert any("lost_bound" in fault for fault in check_plan(problem, plan.as_dict()).faults)


def test_a_loss_that_is_bounded_by_volume_needs_no_search_to_be_checked():
    models = tuple(Model(f"m{n}", 40, load=1, sleep_cost=1 + n) for n in range(5))
    problem = Problem(GPUS, models)
    plan = replace(solve(problem), lost_bound=least_lost(problem))
    findings = check_plan(problem, plan.as_dict(), 1e-9)
    assert plan.lost_bound > 0
    assert any("by volume" in fact for fact in findings.confirmed)
    assert findings.faults == []


def test_costs_of_different_orders_are_repeated_by_search():
    """What CP-SAT proves is rounded; a plan that says no more than is true is not wrong."""
    models = (
        Model("dear", 10, load=1, sleep_cost=5, uses={"slots": 1}),
        Model("cheap", 10, load=1, sleep_cost=0.1 + 0.2, uses={"slots": 1}),
    )
    problem = Problem((Gpu("g0", 80, limits={"slots": 1}),), models)
    plan = replace(solve(problem), lost_bound=0.1 + 0.2)
    assert check_plan(problem, plan.as_dict(), 10.0).faults == []


@pytest.mark.parametrize("wish", [{"gap": 5.0}, {"target": 5.0}])
def test_what_is_good_enough_is_within_the_limit_too(wish):
    models = [Model(f"m{n}", 1 + 0.37 * n, load=1 + n * 7 % 5) for n in range(12)]
    problem = Problem([Gpu(f"g{n}", 20) for n in range(4)], models)
    limited = replace(problem, most_pressure=solve(problem).pressure * 1.0001)
    plan = solve(limited, **wish)
    assert plan.placement
    assert verify(limited, plan.placement).valid


def test_a_limit_that_is_out_of_reach_is_told_whatever_is_good_enough():
    problem = Problem(GPUS, (Model("m", 30, load=5),), most_pressure=0.01)
    assert solve(problem, gap=5.0).status is Status.INFEASIBLE


def test_more_replicas_may_relieve_those_that_must_be_awake():
    """That the fewest replicas press too hard does not say that no number of them fits."""
    models = (
        Model("hot", 10, load=7, most_replicas=2),
        Model("calm", 10, load=0.1, sleep_cost=1),
    )
    problem = Problem((Gpu("g0", 80), Gpu("g1", 80)), models, most_pressure=0.06)
    assert verify(problem, {"hot": ("g0", "g1"), "calm": ("g0",)}).valid
    plan = solve(problem, time_limit=10.0)
    assert plan.status is Status.OPTIMAL
    assert plan.lost == 0.0
    assert check_plan(problem, plan.as_dict()).faults == []


@pytest.mark.parametrize(("memory", "asleep"), [(60, ()), (20, ("idle",))])
def test_a_model_whose_sleep_is_free_sleeps_only_if_it_has_to(memory, asleep):
    models = (Model("idle", 15, load=1, sleep_cost=0.0), Model("busy", 15, load=1))
    plan = solve(Problem((Gpu("g", memory),), models), time_limit=1)
    assert plan.status is Status.OPTIMAL
    assert plan.asleep == asleep
    assert plan.lost == 0.0
