import json
import signal
import time
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate import (
    Gpu,
    InputError,
    Model,
    Plan,
    Problem,
    Status,
    load_suite,
    place,
    solve,
    verify,
)
from colocate.problem.certificate import Certificate, Proof
from colocate.problem.checker import tree
from colocate.problem.reduction import reduction_of
from colocate.solver.budget import SolveBudget
from colocate.solver.check import check_plan
from colocate.solver.deadline import Deadline
from colocate.solver.plan import Alarm
from colocate.solver.progress import ItemProgress
from colocate.solver.prove.columns import prove_by_columns
from colocate.solver.warm_up import _warm_up_for_few
from tests.campaign import campaign
from tests.problems import in_units, optimum, problems

FIVE = Problem([Gpu(f"g{n}", 80) for n in range(4)], [Model(f"m{n}", 30, load=1) for n in range(5)])


def as_written(plan):
    return json.loads(json.dumps(plan.as_dict(), allow_nan=False))


@campaign(300)
@given(
    problem=st.one_of(problems(max_gpus=3, max_models=6, max_windows=3), problems(limited=True)),
    workers=st.sampled_from([1, 2]),
)
def test_brute_force_agrees_and_the_checker_confirms(problem, workers):
    plan = solve(problem, time_limit=5.0, workers=workers)
    best = optimum(problem)
    if best is None:
        assert plan.status is Status.INFEASIBLE
        assert plan.reason
        return
    assert verify(problem, plan.placement)
    assert plan.pressure == pytest.approx(float(best), rel=3e-9)
    assert plan.bound <= float(best) * (1 + 1e-12)
    if best < inf:
        assert plan.status is Status.OPTIMAL
        assert plan.gap <= 2e-9
    assert not check_plan(problem, as_written(plan)).faults


def test_all_of_adrs_is_proven_optimal():
    plans = [solve(case.problem, time_limit=20.0) for case in load_suite("adrs").cases]
    assert all(plan.status is Status.OPTIMAL for plan in plans)
    mean = sum(plan.pressure for plan in plans) / 50
    assert 1 / mean + 1 == pytest.approx(26.255972, abs=5e-7)


@pytest.mark.parametrize("number", [4, 5, 7])
def test_larger_fleets_get_a_small_gap_and_a_certificate_that_holds(number):
    problem = load_suite("scale").cases[number].problem
    plan = solve(problem, time_limit=30.0, gap=0.005)
    assert plan.gap <= 0.005
    assert verify(problem, plan.placement).pressure == plan.pressure
    assert not check_plan(problem, as_written(plan)).faults


def test_history_only_ever_improves_and_is_reported_as_it_happens():
    problem = load_suite("scale").cases[4].problem
    seen = []
    plan = solve(problem, time_limit=0.5, on_improvement=seen.append)
    assert plan.history == tuple(seen)
    values = [step.value for step in plan.history]
    bounds = [step.bound for step in plan.history]
    assert values == sorted(values, reverse=True)
    assert bounds == sorted(bounds)
    assert plan.history[-1].bound == plan.bound
    assert values[-1] == pytest.approx(plan.pressure, rel=1e-9)


def test_it_stops_at_the_gap_asked_for():
    problem = load_suite("scale").cases[6].problem
    plan = solve(problem, time_limit=60.0, gap=0.05)
    assert plan.status is Status.FEASIBLE
    assert plan.gap <= 0.05
    assert plan.seconds < 30


def test_the_time_limit_ends_it():
    problem = load_suite("scale").cases[9].problem
    started = time.perf_counter()
    plan = solve(problem, time_limit=0.3)
    assert plan.status is Status.FEASIBLE
    assert time.perf_counter() - started < 10


def test_when_a_run_stops_no_search_goes_on():
    whole = Deadline(60.0)
    before = whole.part(1.0)
    assert before.go[0]
    assert not before.over
    whole.stop()
    assert not before.go[0]
    assert whole.part(1.0).over


def test_kernels_are_told_when_the_time_is_over():
    deadline = Deadline(0.05)
    with deadline.watched():
        assert deadline.go[0]
        time.sleep(0.2)
        assert not deadline.go[0]


def test_a_bound_above_a_known_placement_raises_an_alarm_and_is_not_used():
    reduction = reduction_of(FIVE)
    progress = ItemProgress(reduction, SolveBudget(Deadline(60.0)))
    value = progress.offer(np.array([0, 1, 2, 3, 3]), "by hand")
    progress.prove(Certificate(Proof.SOLVERS, value * 1.01))
    assert progress.bound == 0.0
    assert progress.alarms == [Alarm("solvers", value * 1.01, value)]
    progress.prove(Certificate(Proof.SOLVERS, value * 0.9))
    assert progress.bound == value * 0.9


def test_one_worker_gives_the_same_answer_twice_and_in_other_units():
    problem = load_suite("longtail").cases[0].problem
    here = solve(problem, workers=1, time_limit=20.0, gap=0.002)
    assert solve(problem, workers=1, time_limit=20.0, gap=0.002).placement == here.placement
    there = solve(in_units(problem, 1000, 60), workers=1, time_limit=20.0, gap=0.002)
    assert there.pressure == pytest.approx(here.pressure * 60 / 1000, rel=0.002)


def test_an_infinite_start_is_left_where_a_finite_peak_exists():
    gpus = [Gpu(f"g{n}", 80) for n in range(4)]
    sizes = [(26.6, 0), (56, 0.93), (26.6, 1 / 3), (80, 0), (24, 2)]
    problem = Problem(gpus, [Model(f"m{n}", s, load=w) for n, (s, w) in enumerate(sizes)])
    plan = solve(problem)
    assert plan.status is Status.OPTIMAL
    assert plan.pressure == pytest.approx(0.93 / 24)


def test_of_equal_peaks_the_smoother_is_returned():
    # The peak is alone on its GPU; the two others must share what is left evenly.
    gpus = [Gpu("a", 80), Gpu("b", 80), Gpu("c", 80)]
    loads = [9, 2, 2, 1, 1]
    problem = Problem(gpus, [Model(f"m{n}", 10, load=w) for n, w in enumerate(loads)])
    plan = solve(problem)
    assert plan.status is Status.OPTIMAL
    assert sorted(plan.pressures.values()) == pytest.approx([3 / 60, 3 / 60, 9 / 70])


def test_no_load_is_optimal_at_once():
    plan = solve(Problem([Gpu("a", 40)], [Model("m", 19, 0, 1)]))
    assert plan.status is Status.OPTIMAL
    assert plan.pressure == plan.bound == plan.gap == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"time_limit": 0}, "time_limit=0, must be a number of seconds > 0"),
        ({"time_limit": "1"}, "time_limit='1', must be a number of seconds > 0"),
        ({"gap": None}, "gap=None, must be a number >= 0"),
        ({"seed": -1}, "seed=-1, must be a whole number >= 0"),
        ({"workers": 0}, "workers=0, must be a whole number >= 1"),
        ({"gap": -0.1}, "gap=-0.1, must be a number >= 0"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        solve(Problem([Gpu("a", 40)], [Model("m", 19, 0, 1)]), **arguments)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_gives_the_best_so_far(workers):
    problem = load_suite("scale").cases[5].problem

    def interrupt(improvement):
        if improvement.block == "volume":
            signal.raise_signal(signal.SIGINT)

    plan = solve(problem, time_limit=60.0, workers=workers, on_improvement=interrupt)
    assert plan.seconds < 30
    assert plan.reason == "interrupted; the best so far"
    assert verify(problem, plan.placement)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_many_models_a_gpu():
    rng = np.random.default_rng(3)
    models = [Model(f"m{n}", rng.integers(1, 9) / 10, load=rng.random()) for n in range(600)]
    for gpus in (1, 2, 6):
        problem = Problem([Gpu(f"g{n}", 800 / gpus) for n in range(gpus)], models)
        plan = solve(problem, time_limit=20.0, gap=0.001)
        assert plan.gap <= 0.001


@pytest.mark.parametrize("units", [(1e-160, 1e150), (1e-300, 1e300), (1e200, 1e-200)])
def test_units_at_the_end_of_floats_are_no_exception(units):
    problem = in_units(FIVE, *units)
    plan = solve(problem, time_limit=0.2)
    assert verify(problem, plan.placement)
    assert plan.bound <= plan.pressure


def test_plans_go_to_json_and_back():
    problem = load_suite("scale").cases[4].problem
    plan = solve(problem, time_limit=0.5)
    again = Plan.from_dict(problem, as_written(plan))
    assert again == plan
    assert again.digest == plan.digest
    with pytest.raises(InputError, match="schema=2, must be 1"):
        Plan.from_dict(problem, {**as_written(plan), "schema": 2})
    with pytest.raises(InputError, match="cannot be read as a plan"):
        Plan.from_dict(problem, {"schema": 1})


PROBLEM = load_suite("scale").cases[4].problem


@pytest.fixture(scope="module")
def multiplied():
    """A plan with a bound by multipliers, one percent below its value."""
    plan = solve(PROBLEM, time_limit=20.0, gap=0.005)
    target = 0.99 * plan.pressure
    proof = prove_by_columns(PROBLEM.instance, target, 0, 10_000, 10_000, Deadline(10.0))
    return replace(plan, certificate=proof, status=Status.FEASIBLE)


def faults_of(data):
    """What is wrong with a plan whose digest was made to fit."""
    plan = Plan.from_dict(PROBLEM, data)
    return check_plan(PROBLEM, {**data, "digest": plan.digest}).faults


@pytest.mark.parametrize("field", ["proof", "bound", "window", "multipliers", "extra"])
def test_a_certificate_altered_in_any_field_fails(multiplied, field):
    data = as_written(multiplied)
    assert not check_plan(PROBLEM, data).faults
    certificate = data["certificate"]
    altered = {
        "proof": "volume",
        "bound": certificate["bound"] * 1.001,
        "window": 1,
        "multipliers": [certificate["multipliers"][0] + 1, *certificate["multipliers"][1:]],
        "extra": 1,
    }
    certificate[field] = altered[field]
    try:
        assert check_plan(PROBLEM, data).faults
        if field != "multipliers":
            assert faults_of(data)
    except InputError:
        assert field in ("proof", "extra")


def test_a_plan_of_an_earlier_version_is_checked(multiplied):
    """It called multipliers weights; its digest was made from these words."""
    data = as_written(multiplied)
    certificate = data["certificate"]
    certificate |= {"proof": "weights", "weights": certificate.pop("multipliers")}
    findings = check_plan(PROBLEM, data)
    assert not findings.faults
    assert any("by multipliers" in line for line in findings.confirmed)
    certificate["weights"][0] += 1
    assert any("altered" in fault for fault in check_plan(PROBLEM, data).faults)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("status", "OPTIMAL"),
        ("status", "INFEASIBLE"),
        ("status", "UNKNOWN"),
        ("pressure", 0.01),
        ("bound", 0.04),
        ("gap", 0.0),
        ("pressures", {"gpu-0": 0.01}),
        ("seed", 0.9),
        ("schema", True),
        ("more", 1),
    ],
)
def test_a_plan_altered_in_a_field_fails_even_if_its_digest_fits(multiplied, field, value):
    assert faults_of({**as_written(multiplied), field: value})


@pytest.mark.parametrize("change", [{"seed": "x"}, {"pressures": {"a": 10**400}}, {"history": 3}])
def test_what_is_no_plan_is_refused(multiplied, change):
    with pytest.raises(InputError, match="cannot be read as a plan"):
        check_plan(PROBLEM, {**as_written(multiplied), **change})


def test_a_forged_placement_or_bound_is_found_out(multiplied):
    above = replace(multiplied.certificate, bound=multiplied.pressure * 1.0001)
    faults = check_plan(PROBLEM, as_written(replace(multiplied, certificate=above))).faults
    assert any("is above the plan's own pressure" in fault for fault in faults)
    moved = dict(multiplied.placement)
    first, second = list(moved)[:2]
    moved[first], moved[second] = moved[second], moved[first]
    forged = replace(multiplied, placement=type(multiplied.placement)(moved))
    faults = check_plan(PROBLEM, as_written(forged)).faults
    assert any(fault.startswith("pressures[") for fault in faults)


def test_a_finite_pressure_stated_for_a_full_gpu_is_found_out():
    problem = Problem([Gpu("a", 80), Gpu("b", 90)], [Model("x", 80, load=1)])
    plan = solve(problem)
    assert plan.placement["x"] == ("b",)
    forged = replace(plan, placement=type(plan.placement)({"x": ["a"]}))
    forged = replace(forged, pressures={"a": plan.pressure, "b": 0.0})
    faults = check_plan(problem, as_written(forged)).faults
    assert any(fault.startswith("pressures['a']") for fault in faults)


def test_a_nearly_full_bottleneck_is_proven_again():
    sizes = [39.5, 39.5, 39.5, 38.5]
    gpus = [Gpu("a", 80), Gpu("b", 80)]
    problem = Problem(gpus, [Model(f"m{n}", s, load=1) for n, s in enumerate(sizes)])
    plan = solve(problem)
    assert plan.status is Status.OPTIMAL
    assert plan.pressure == 2.0
    for proof in (Proof.SEARCH, Proof.SOLVERS):
        search = replace(plan, certificate=Certificate(proof, 2.0 * (1 - 1e-9)))
        findings = check_plan(problem, as_written(search), reprove=60.0)
        assert findings.all_confirmed
        assert any("repeated by two solvers" in sentence for sentence in findings.confirmed)


def test_a_tree_is_walked_and_a_search_is_repeated_by_other_solvers():
    problem = Problem(
        [Gpu(f"g{n}", 40) for n in range(3)],
        [Model(f"m{n}", 3 + 2 * n, load=(7 * n) % 5 + 1) for n in range(7)],
    )
    plan = solve(problem)
    assert plan.certificate.proof is Proof.TREE
    assert check_plan(problem, as_written(plan)).all_confirmed
    search = Certificate(Proof.SEARCH, plan.certificate.bound, nodes=plan.certificate.nodes)
    unkept = as_written(replace(plan, certificate=search))
    findings = check_plan(problem, unkept)
    assert "--reprove" in findings.unchecked[0]
    assert not findings.faults
    findings = check_plan(problem, unkept, reprove=60.0)
    assert findings.all_confirmed
    worse = place(problem, "initial_program")
    assert worse.pressure > plan.pressure * 1.01
    wrong = replace(worse, certificate=replace(search, bound=plan.pressure * 1.01))
    findings = check_plan(problem, as_written(wrong), reprove=60.0)
    assert any("found a placement" in fault for fault in findings.faults)


def test_several_windows_are_respected():
    rng = np.random.default_rng(1)
    models = [Model(f"m{n}", rng.integers(5, 25), load=rng.random(3)) for n in range(14)]
    plan = solve(Problem([Gpu(f"g{n}", 80) for n in range(5)], models), time_limit=3.0)
    assert plan.gap < 0.2
    assert not check_plan(plan.problem, as_written(plan)).faults


def test_what_is_good_enough_may_grow_with_time():
    asked = []

    def patience(seconds):
        asked.append(seconds)
        return 10.0

    plan = solve(PROBLEM, time_limit=30.0, gap=patience, workers=1)
    assert plan.placement
    assert asked == sorted(asked)


def test_a_large_plain_fleet_has_a_placement_however_short_the_time():
    gpus = [Gpu(f"g{n}", 80) for n in range(2_000)]
    problem = Problem(gpus, [Model(f"m{n}", 1 + n % 7, load=1 + n % 5) for n in range(20_000)])
    plan = solve(problem, time_limit=1e-3)
    assert plan.status is Status.FEASIBLE
    assert plan.pressure < float("inf")


@pytest.mark.filterwarnings("error")
def test_huge_loads_overflow_in_silence():
    models = [Model(f"m{n}", 10, load=1e200) for n in range(4)]
    assert solve(Problem([Gpu("a", 80), Gpu("b", 80)], models)).status is Status.OPTIMAL


def test_the_checker_of_trees_is_compiled_before_the_time_counts(monkeypatch):
    walked = []
    walk = tree.walk
    monkeypatch.setattr(tree, "walk", lambda *given: walked.append(given) or walk(*given))
    _warm_up_for_few.__wrapped__()
    assert walked
