"""Bounds by sums and multipliers, of problems with constraints, and what is lost at least."""

import time
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import fsum, inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate import Gpu, Model, Problem, verify
from colocate.problem.certificate import Certificate, Proof
from colocate.problem.checker.items import kin_of, names_of
from colocate.problem.checker.lost import least_lost
from colocate.problem.checker.multipliers import multiplier_sums
from colocate.problem.verify_bound import refuted
from tests.campaign import campaign
from tests.problem.test_tree import constrained, pressures
from tests.problem.tree_writer import items_of

PAIR = [Gpu("a", 80), Gpu("b", 40)]


def by_model(name, bound):
    return Certificate(Proof.MODEL, bound, model=name)


def by_volume(bound):
    return Certificate(Proof.VOLUME, bound)


@campaign(150)
@given(problem=constrained(), share=st.sampled_from([0.3, 0.9, 1 + 1e-9, 1.5, inf]))
def test_no_proof_is_accepted_of_what_is_not_true(problem, share):
    best = min(pressures(problem), default=None)
    items = len(items_of(problem)[0])
    proofs = [by_model(model.name, 1.0) for model in problem.models]
    proofs += [Certificate(Proof.VOLUME, 1.0, window=t) for t in range(problem.windows)]
    bound = share if best is None or best in (0, inf) else best * share
    for proof in proofs:
        if refuted(problem, replace(proof, bound=bound)) is None:
            assert best is None or (best >= bound and not (best == bound == inf))
    if bound < inf:
        for multipliers in ((1,) * items, tuple(range(items)), (1, *(0,) * (items - 1))):
            proof = Certificate(Proof.MULTIPLIERS, bound, multipliers=multipliers)
            if refuted(problem, proof) is None:
                assert best is None or best > bound


@campaign(100)
@given(problem=constrained())
def test_items_are_those_of_another_derivation(problem):
    items, _ = items_of(problem)
    kin = kin_of(problem)
    assert len(names_of(kin)) == len(set(names_of(kin))) == len(items)
    sizes = [
        sum(Fraction(m.size_gb) for m in each.members) / each.shards
        for each in kin
        for _ in range(each.parts)
    ]
    assert sizes == [item.size for item in items]


def test_models_that_stay_together_count_as_one():
    models = [Model("x", 30, load=1), Model("y", 40, load=2), Model("z", 1, load=1)]
    apart = Problem(PAIR, models)
    joined = replace(apart, together=(("x", "y"),))
    assert refuted(joined, by_model("x", 0.299)) is None
    assert refuted(joined, by_model("y", 0.299)) is None
    assert refuted(apart, by_model("y", 0.299)).startswith("the model 'y' proves 0.0499")
    assert refuted(joined, by_model("z", 0.299)) is not None
    assert refuted(joined, by_model("w", 0.1)) == "model 'w' is not in the problem"


@pytest.mark.parametrize(
    ("problem", "model"),
    [
        (Problem(PAIR, [Model("m", 81, load=0)]), "m"),
        (Problem(PAIR, [Model("m", 50, load=0, only=["b"])]), "m"),
        (Problem(PAIR, [Model("m", 30, load=0, never=["a", "b"])]), "m"),
        (Problem(PAIR, [Model("m", 30, load=0, replicas=3)]), "m"),
        (Problem(PAIR, [Model("m", 90, load=0, replicas=1, shards=2)]), "m"),
        (Problem([Gpu("a", 80, limits={"r": 1})], [Model("m", 1, load=0, uses={"r": 2})]), "m"),
        (Problem([Gpu("a", 80, limits={"r": 1})],
                 [Model("m", 1, load=0, shared_uses={"r": 9}, most_replicas=8)]), "m"),
        (Problem(PAIR, [Model("x", 50, load=0), Model("y", 50, load=0)],
                 together=(("x", "y"),)), "y"),
        (Problem(PAIR, [Model(n, 1, load=0) for n in "xyz"], (("x", "z"),),
                 (("x", "y"), ("y", "z"))), "y"),
        (Problem(PAIR, [Model(n, 1, load=0) for n in "xy"], (), (("x", "y"),), 1), "x"),
    ],
)  # fmt: skip
def test_a_model_that_fits_nowhere_proves_that_there_is_no_placement(problem, model):
    assert refuted(problem, by_model(model, inf)) is None
    assert refuted(problem, by_model(model, 1e9)) is None


def test_what_fits_without_pressure_is_not_proven_impossible():
    full = Problem([Gpu("a", 80)], [Model("m", 80, load=1)])
    assert refuted(full, by_model("m", 1e9)) is None
    assert refuted(full, by_model("m", inf)) is not None
    assert refuted(full, by_volume(inf)) is not None
    shared = Model("m", 1, load=0, shared_uses={"r": 9}, most_replicas=9)
    assert refuted(Problem([Gpu("a", 80, limits={"r": 1})], [shared]), by_model("m", inf))


def test_sizes_that_exceed_all_memory_prove_that_there_is_no_placement():
    models = [Model("x", 70, load=0), Model("y", 25, load=0, replicas=2)]
    crowded = Problem([Gpu("a", 80), Gpu("b", 39.9)], models)
    assert refuted(crowded, by_volume(inf)) is None
    assert refuted(Problem(PAIR, models), by_volume(inf)) == ("the volume proves 0 only, not inf")
    open_replicas = [models[0], replace(models[1], most_replicas=2, replicas=1)]
    assert (
        refuted(Problem([Gpu("a", 80), Gpu("b", 39.9)], open_replicas), by_volume(inf)) is not None
    )


def test_a_volume_within_rounding_fits():
    models = [Model(n, s, load=0) for n, s in zip("xyz", (26.7, 26.6, 26.7), strict=True)]
    assert refuted(Problem([Gpu("a", 80)], models), by_volume(inf)) is not None


def test_parts_of_a_model_are_on_different_gpus():
    """Two replicas: one of them is on the smaller GPU at best."""
    problem = Problem(PAIR, [Model("m", 30, load=2, replicas=2)])
    assert refuted(problem, by_model("m", 0.0999)) is None
    assert refuted(problem, by_model("m", 0.1001)) is not None


def test_multipliers_are_for_items():
    problem = Problem(PAIR, [Model("m", 30, load=2, replicas=2), Model("x", 1, load=1)])
    assert "2 multipliers for 3 models" in refuted(
        problem, Certificate(Proof.MULTIPLIERS, 0.1, multipliers=(1, 1))
    )
    found = multiplier_sums(problem, Certificate(Proof.MULTIPLIERS, 0.02, multipliers=(2, 2, 1)))
    assert found.total == 5


@pytest.mark.parametrize(
    ("models", "multipliers"),
    [
        (400, 10**7),
        (400, 5 * 10**6),
        (20_000, 10**6),
        pytest.param(265_000, 3, marks=pytest.mark.long),
        (5, 10**30),
        (5, 10**6),
    ],
)
def test_hostile_multipliers_take_a_few_seconds_at_most(models, multipliers):
    problem = Problem(
        [Gpu(f"g{n}", 80) for n in range(4)],
        [Model(f"m{n}", 0.001, load=0.001) for n in range(models)],
    )
    start = time.perf_counter()
    proof = Certificate(
        Proof.MULTIPLIERS, 0.5, multipliers=tuple(multipliers - n % 2 for n in range(models))
    )
    assert isinstance(refuted(problem, proof), str)
    wrong = Certificate(Proof.MULTIPLIERS, 0.5, multipliers=(1,) * 10**6)
    assert "1000000 multipliers for" in refuted(problem, wrong)
    assert time.perf_counter() - start < 30.0


@st.composite
def sleepy(draw):
    models = tuple(
        Model(
            f"m{number}",
            draw(st.sampled_from([10, 25, 40, 70])),
            load=draw(st.sampled_from([0, 1, 2, 5, (1, 3)])),
            sleep_cost=draw(st.sampled_from([None, 0, 1, 2, 5, 5.5])),
        )
        for number in range(draw(st.integers(1, 5)))
    )
    most = draw(st.sampled_from([None, None, 0, 0.05, 0.2]))
    return Problem([Gpu("g0", 80), Gpu("g1", 40)], models, most_pressure=most)


@campaign(200)
@given(sleepy())
def test_nothing_less_is_lost_than_volume_says(problem):
    options = [
        [("g0",), ("g1",)] + ([()] if model.sleep_cost is not None else [])
        for model in problem.models
    ]
    names = [model.name for model in problem.models]
    for places in product(*options):
        placement = dict(zip(names, places, strict=True))
        if verify(problem, placement):
            lost = fsum(m.sleep_cost or 0.0 for m in problem.models if not placement[m.name])
            assert Fraction(lost) >= least_lost(problem)


def test_the_least_loss_by_hand():
    """Of 120 GB, 80 are left for two models of 60 GB: a third of the cheaper one sleeps."""
    models = [
        Model("kept", 40, load=1),
        Model("dear", 60, load=1, sleep_cost=9),
        Model("cheap", 60, load=1, sleep_cost=3),
    ]
    assert least_lost(Problem(PAIR, models)) == pytest.approx(2)
    assert least_lost(Problem(PAIR, models[:2])) == 0
    crowded = [Model("kept", 130, load=1), models[1]]
    assert least_lost(Problem(PAIR, crowded)) == 9
