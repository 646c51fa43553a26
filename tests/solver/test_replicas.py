"""How many replicas pay: brute force over the independent checker agrees with the solver."""

import signal
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate import Gpu, InputError, Model, Placement, Problem, Status, place, solve, verify
from colocate.problem.certificate import Certificate, Proof
from colocate.problem.verify_bound import refuted
from colocate.solver.check import check_plan
from colocate.solver.deadline import Deadline
from colocate.solver.decide import replicas
from colocate.solver.prove.columns import prove_by_columns
from colocate.solver.prove.dual_functions import prove_by_dual_functions
from colocate.solver.prove.replica_bounds import prove_with_replicas, rows_of_choices
from tests.campaign import campaign
from tests.problems import assert_solved, lowest_pressure

GPUS = tuple(Gpu(f"g{n}", 80, node="left" if n < 2 else "right") for n in range(4))


@st.composite
def open_replicas(draw):
    models = []
    for number in range(draw(st.integers(1, 3))):
        shards = draw(st.sampled_from([1, 1, 1, 2]))
        models.append(
            Model(
                f"m{number}",
                draw(st.sampled_from([5, 20, 30, 60])),
                load=draw(st.sampled_from([0, 1, 3, 8])),
                shards=shards,
                most_replicas=draw(st.integers(1, 4 // shards)) if number < 2 else None,
                never=draw(st.sampled_from([(), (), ("g0",), ("right",)])),
                uses={"compute": 0.1},
                shared_uses={"compute": draw(st.sampled_from([0, 0.5, 1.2]))},
            )
        )
    gpus = tuple(Gpu(g.name, g.memory_gb, "", {"compute": 1.0}, g.node) for g in GPUS)
    apart = (("m0", "m1"),) if len(models) > 1 and draw(st.booleans()) else ()
    return Problem(gpus, tuple(models), apart, most_models=draw(st.sampled_from([None, 2])))


@campaign(60)
@given(open_replicas())
def test_brute_force_over_all_numbers_of_replicas_agrees(problem):
    assert_solved(problem, lowest_pressure(problem), 5.0, reprove=10.0)


@campaign(60)
@given(open_replicas())
def test_bounds_by_sums_hold_for_every_number_of_replicas(problem):
    best = lowest_pressure(problem)
    proof = prove_with_replicas(problem)
    assert refuted(problem, proof) is None
    assert best is None or proof.bound <= best


@campaign(60)
@given(open_replicas(), st.sampled_from([0.5, 0.9, 0.99, 1.0]))
def test_multipliers_of_choices_prove_only_what_is_true(problem, share):
    best = lowest_pressure(problem)
    if best is None or not 0 < best < inf:
        return
    instance, choices = rows_of_choices(problem)
    arguments = (instance, best * share * (1 + 1e-9), 0)
    for proof in (
        prove_by_dual_functions(*arguments, choices),
        prove_by_columns(*arguments, 1000, 10_000, Deadline(5.0), choices),
    ):
        if proof is not None:
            assert share < 1.0
            assert refuted(problem, proof) is None
            assert refuted(problem, replace(proof, bound=best * 1.001)) is not None


def test_multipliers_of_choices_prove_more_than_sums():
    problem = Problem(GPUS, tuple(Model(f"m{n}", 30, load=4, most_replicas=2) for n in range(5)))
    plan = solve(problem, time_limit=10.0)
    assert plan.status is Status.OPTIMAL
    assert prove_with_replicas(problem).bound < 0.8 * plan.pressure
    instance, choices = rows_of_choices(problem)
    target = 0.9 * plan.pressure
    assert prove_by_columns(instance, target, 0, 1000, 10_000, Deadline(5.0), choices)


def hot(most):
    models = (Model("hot", 20, load=6, most_replicas=most), Model("cold", 10, load=1))
    return Problem(GPUS, models)


def test_as_many_replicas_as_pay():
    plan = solve(hot(4))
    assert len(plan.placement["hot"]) == 3
    assert plan.pressure == pytest.approx(2 / 60)
    crowded = Problem(GPUS, (*hot(4).models, *(Model(f"large{n}", 60, load=0) for n in range(2))))
    assert len(solve(crowded).placement["hot"]) == 2


def test_a_copy_that_brings_nothing_is_not_made():
    problem = Problem(GPUS, (Model("one", 30, load=1, most_replicas=4), Model("two", 60, load=4)))
    plan = solve(problem)
    assert plan.pressure == pytest.approx(4 / 20)
    assert len(plan.placement["one"]) == 1


def test_bounds_that_count_too_few_replicas_are_refuted():
    problem = hot(2)
    true = prove_with_replicas(problem).bound
    assert refuted(problem, Certificate(Proof.VOLUME, true * 2)) is not None
    assert refuted(problem, Certificate(Proof.MODEL, 3 / 60 * 1.01, model="hot")) is not None
    assert refuted(problem, Certificate(Proof.MODEL, 3 / 60 * 0.99, model="hot")) is None
    wrong = Certificate(Proof.MULTIPLIERS, true, multipliers=(1, 1))
    assert "2 multipliers for 3 models" in refuted(problem, wrong)


def test_the_checker_knows_how_many_replicas_there_may_be():
    problem = hot(2)
    assert verify(problem, {"hot": ("g0",), "cold": ("g1",)}).pressure == pytest.approx(6 / 60)
    assert verify(problem, {"hot": ("g0", "g2"), "cold": ("g1",)}).pressure == pytest.approx(3 / 60)
    assert "1 to 2 GPUs" in verify(problem, {"hot": ("g0", "g1", "g2"), "cold": ("g1",)}).faults[0]
    assert "more than once" in verify(problem, {"hot": ("g0", "g0"), "cold": ("g1",)}).faults[0]


def test_what_makes_no_sense_is_refused():
    with pytest.raises(InputError, match="most_replicas=1, must be at least 2"):
        Model("m", 1, load=1, replicas=2, most_replicas=1)
    with pytest.raises(InputError, match="do not decide on the number of replicas of"):
        place(hot(2), "five_recommendations")


def test_a_plan_with_replicas_survives_its_json():
    plan = solve(hot(4))
    assert check_plan(hot(4), plan.as_dict()).faults == []
    assert Placement(plan.placement) == plan.placement


def test_an_interrupt_ends_the_search_for_replicas_and_is_told():
    models = [Model(f"m{n}", 5 + n, load=1 + n % 3, most_replicas=4) for n in range(20)]
    problem = Problem([Gpu(f"g{n}", 80) for n in range(8)], models)

    def interrupt(improvement):
        signal.raise_signal(signal.SIGINT)

    plan = solve(problem, time_limit=60.0, on_improvement=interrupt)
    assert plan.reason == "interrupted; the best so far"
    assert verify(problem, plan.placement)


def test_the_fewest_replicas_that_do_not_fit_prove_nothing_where_replicas_share(monkeypatch):
    """Four replicas of each fit: with fewer the link is too slow, with more there is no memory."""
    gpus = [Gpu(f"g{n}", 100, limits={"link": 1.0}) for n in range(8)]
    sharing = {"load": 0, "most_replicas": 8, "shared_uses": {"link": 3.5}}
    problem = Problem(gpus, [Model("a", 60, **sharing), Model("b", 60, **sharing)])
    assert solve(problem, time_limit=10.0).status is Status.OPTIMAL
    monkeypatch.setattr(replicas, "MOST_PLACES", 0)
    monkeypatch.setattr(replicas, "by_pressure", lambda problem, bound: iter([(1, 1), (8, 8)]))
    assert solve(problem, time_limit=0.5).status is Status.UNKNOWN


def test_the_fewest_replicas_prove_that_nothing_fits_where_replicas_share_nothing():
    problem = Problem([Gpu("g0", 80)], [Model("m", 90, load=1, most_replicas=3)])
    assert solve(problem).status is Status.INFEASIBLE


def test_there_is_a_placement_however_short_the_time():
    models = [Model(f"m{n}", 5 + n, load=1 + n % 3, most_replicas=4) for n in range(8)]
    problem = Problem([Gpu(f"g{n}", 80) for n in range(4)], models)
    assert verify(problem, solve(problem, time_limit=1e-6).placement)


def test_a_large_fleet_gets_a_placement_though_every_first_try_is_too_short():
    """With a hundredth of the time, no try places a thousand models."""
    rng = np.random.default_rng(1)
    models = [
        Model(
            f"m{n}",
            float(rng.uniform(2.0, 7.0)),
            load=float(rng.uniform(0, 5)),
            shards=2 if n % 10 == 0 else 1,
            most_replicas=4 if n % 5 == 0 else 1,
        )
        for n in range(1000)
    ]
    problem = Problem([Gpu(f"g{n}", 80, node=f"n{n // 8}") for n in range(120)], models)
    assert solve(problem, time_limit=2.0).placement
