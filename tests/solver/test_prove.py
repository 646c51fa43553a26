from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colocate import Gpu, InputError, Model, Problem, load_suite
from colocate.arena.best_known import read_best_known
from colocate.problem.certificate import Certificate, Proof
from colocate.problem.reduction import reduction_of
from colocate.problem.verify_bound import refuted
from colocate.solver.construct.completion import Outcome
from colocate.solver.deadline import Deadline
from colocate.solver.prove.columns import fill_gpus, prove_by_columns
from colocate.solver.prove.dual_functions import prove_by_dual_functions
from colocate.solver.prove.knapsack import certified, grid_of, most_carried
from colocate.solver.prove.solvers.two_solvers import search_all
from colocate.solver.prove.volume import prove_by_model, prove_by_volume
from tests.campaign import campaign
from tests.problems import in_units, optimum, problems

UNITS = st.sampled_from([1.0, 1e-9, 1e9, 1 / 3])


def bounds_at(problem, target, window, steps, whole):
    yield prove_by_dual_functions(problem.instance, target, window)
    yield prove_by_columns(problem.instance, target, window, steps, whole, Deadline(10.0))


@campaign(200)
@given(
    problem=problems(max_gpus=3, max_models=6, max_windows=2),
    size_unit=UNITS,
    load_unit=UNITS,
    share=st.sampled_from([0.5, 0.9, 1 - 1e-6, 1 + 1e-9, 1.01, 2.0]),
    steps=st.sampled_from([30, 1000, 20_000]),
    whole=st.sampled_from([5, 1000, 100_000]),
)
def test_no_bound_exceeds_what_is_possible(problem, size_unit, load_unit, share, steps, whole):
    problem = in_units(problem, size_unit, load_unit)
    best = optimum(problem)
    if best is None or best in (0, inf):
        return
    for certificate in (prove_by_volume(problem.instance), prove_by_model(reduction_of(problem))):
        assert certificate.bound <= best
        assert refuted(problem, certificate) is None
    for certificate in bounds_at(problem, float(best) * share, problem.windows - 1, steps, whole):
        if certificate is not None:
            assert certificate.bound < best
            assert refuted(problem, certificate) is None


# Five models of 30 on four GPUs of 80 at load 1: two of them share one, at 2 / 20.
FIVE = Problem([Gpu(f"g{n}", 80) for n in range(4)], [Model(f"m{n}", 30, load=1) for n in range(5)])


def test_the_volume_and_model_bounds_by_hand():
    assert prove_by_volume(FIVE.instance).bound == pytest.approx(5 / (320 - 150), rel=1e-9)
    assert prove_by_model(reduction_of(FIVE)).bound == pytest.approx(1 / 50, rel=1e-9)


@pytest.mark.parametrize(
    "prove",
    [
        prove_by_dual_functions,
        lambda instance, target, window: prove_by_columns(
            instance, target, window, 10_000, 1000, Deadline(10.0)
        ),
    ],
)
def test_models_over_half_a_gpu_are_counted(prove):
    certificate = prove(FIVE.instance, 0.0999, 0)
    assert certificate.proof is Proof.MULTIPLIERS
    assert refuted(FIVE, certificate) is None
    assert prove(FIVE.instance, 0.1001, 0) is None


def test_columns_see_what_dual_functions_do_not():
    problem = load_suite("scale").cases[4].problem
    target = 0.995 * read_best_known(load_suite("scale"))["scale-04"].value
    assert prove_by_dual_functions(problem.instance, target, 0) is None
    certificate = prove_by_columns(problem.instance, target, 0, 10_000, 100_000, Deadline(10.0))
    assert refuted(problem, certificate) is None


def test_no_time_no_proof():
    assert prove_by_columns(FIVE.instance, 0.09, 0, 1000, 1000, Deadline(0.0)) is None


def test_the_knapsack_by_hand():
    size, multiplier = np.array([2, 3, 4]), np.array([3.0, 4.0, 6.0])
    assert most_carried(size, multiplier, 7).tolist() == [0, 0, 3, 4, 6, 7, 9, 10]
    most, classes, fillings = fill_gpus(
        size, np.arange(3), multiplier, np.array([7]), np.array([4.5])
    )
    assert most.tolist() == [0, 0, 3, 4, 6, 7, 9, 10]
    assert classes.tolist() == [0, 0]
    assert [sorted(k for k in row if k >= 0) for row in fillings.tolist()] == [[0, 1], [1, 2]]


def test_a_model_that_fits_nowhere_is_proof_enough():
    problem = Problem([Gpu("g", 80)], [Model("a", 70, load=5), Model("b", 1, load=1)])
    grid = grid_of(problem.instance, 0.1, 0, 1000)
    certificate = certified(grid, np.ones(2), 1000, 2)
    assert certificate.multipliers == (1, 0)
    assert refuted(problem, certificate) is None


@pytest.mark.parametrize(
    ("certificate", "fault"),
    [
        (Certificate(Proof.VOLUME, 0.0295), "the volume proves 0.029411"),
        (Certificate(Proof.VOLUME, 0.01, window=1), "window 1 is not one of the 1"),
        (Certificate(Proof.MODEL, 0.021, model="m0"), "the model 'm0' proves 0.0199"),
        (Certificate(Proof.MODEL, 0.01, model="x"), "model 'x' is not in the problem"),
        (
            Certificate(Proof.MULTIPLIERS, 0.05, multipliers=(1,)),
            "there are 1 multipliers for 5 models",
        ),
        (
            Certificate(Proof.MULTIPLIERS, 0.05, multipliers=(1, 1, 1, 1, -1)),
            "a multiplier is negative",
        ),
        (
            Certificate(Proof.MULTIPLIERS, 0.11, multipliers=(1,) * 5),
            "the GPUs can carry multipliers of 8",
        ),
        (
            Certificate(Proof.MULTIPLIERS, 0.05, multipliers=(0,) * 5),
            "the GPUs can carry multipliers of 0",
        ),
        (
            Certificate(Proof.MULTIPLIERS, 0.05, multipliers=(10**8,) * 5),
            "a GPU can carry multipliers of more",
        ),
    ],
)
def test_what_does_not_prove_its_bound_is_refuted(certificate, fault):
    assert refuted(FIVE, certificate).startswith(fault)


def test_multipliers_by_hand_are_confirmed():
    assert refuted(FIVE, Certificate(Proof.MULTIPLIERS, 0.0999, multipliers=(1,) * 5)) is None


@pytest.mark.parametrize(
    "change",
    [
        {"proof": "faith"},
        {"bound": "high"},
        {"bound": -1.0},
        {"bound": float("nan")},
        {"bound": float("inf")},
        {"window": 0.5},
        {"multipliers": [1, 2.5]},
        {"multipliers": None},
        {"more": 1},
    ],
)
def test_what_is_no_certificate_is_refused(change):
    data = Certificate(Proof.MULTIPLIERS, 0.05, multipliers=(1, 2)).as_dict()
    assert Certificate.from_dict(data) == Certificate(Proof.MULTIPLIERS, 0.05, multipliers=(1, 2))
    with pytest.raises(InputError, match="certificate: "):
        Certificate.from_dict({**data, **change})


@settings(max_examples=30)
@given(problem=problems(max_gpus=3, max_models=5, max_windows=2, limited=True))
def test_two_solvers_agree_with_brute_force(problem):
    best = optimum(problem)
    if best is None or best in (0, inf):
        return
    assert search_all(problem, float(best) * 0.999, Deadline(10.0), 1).outcome is Outcome.NONE
    assert search_all(problem, float(best) * 1.001, Deadline(10.0), 1).outcome is Outcome.FOUND


def test_unequal_gpus_have_classes():
    gpus = [Gpu("a", 80), Gpu("b", 40), Gpu("c", 80)]
    grid = grid_of(replace(FIVE, gpus=gpus).instance, 0.1, 0, 1000)
    assert grid.room.tolist() == [1000, 500]
    assert grid.gpus.tolist() == [2, 1]


def test_without_load_nothing_above_zero_is_proven():
    problem = Problem([Gpu("g", 1e11)], [Model("m", 1e11 + 1, load=0)])
    assert refuted(problem, Certificate(Proof.VOLUME, 5.0)) is not None
    assert refuted(problem, Certificate(Proof.MODEL, 5.0, model="m")) is not None


def test_a_search_that_is_stopped_comes_to_no_end():
    """GPUs that would have to be filled all but perfectly: CP-SAT takes long to see whether."""
    rng = np.random.default_rng(3)
    models = [Model(f"m{n}", float(rng.uniform(20, 30)), load=1) for n in range(90)]
    memory = sum(model.size_gb for model in models) / 30 * 1.0005
    problem = Problem([Gpu(f"g{n}", memory) for n in range(30)], models)
    looks = []

    def stopped():
        looks.append(True)
        return True

    answer = search_all(problem, inf, Deadline(60.0, stop_when=stopped), 1)
    assert looks
    assert answer.outcome is Outcome.UNDECIDED
