"""What a check says of plans: confirmed, by two solvers, unchecked, or wrong."""

from dataclasses import replace
from math import inf
from types import SimpleNamespace

import pytest

from colocate import Gpu, Model, Problem, Status, verify
from colocate.problem.certificate import Certificate, Proof
from colocate.problem.placement import Placement
from colocate.solver import check
from colocate.solver.check import check_plan
from colocate.solver.construct.completion import Outcome
from colocate.solver.plan import Plan
from tests.problem.tree_writer import tree_certificate

GPUS = (Gpu("a", 80), Gpu("b", 80))
MODELS = tuple(Model(f"m{n}", 20 + n, load=1) for n in range(3))
PROBLEM = Problem(GPUS, MODELS)
PLACES = {"m0": ("a",), "m1": ("a",), "m2": ("b",)}
LOWEST = 2 / 39


def planned(problem=PROBLEM, places=None, **fields):
    places = PLACES if places is None else places
    verdict = verify(problem, places)
    assert verdict.valid
    plan = Plan(problem, Status.FEASIBLE, Placement(places), verdict.pressures, **fields)
    return replace(plan, status=Status.OPTIMAL if plan.proven else Status.FEASIBLE)


def findings_of(plan, reprove=None):
    return check_plan(plan.problem, plan.as_dict(), reprove)


def answering(monkeypatch, outcome, placement=None, cost_bound=0.0):
    asked = []

    def search(problem, target, seconds):
        asked.append(target)
        return SimpleNamespace(outcome=outcome, placement=placement or {}, cost_bound=cost_bound)

    monkeypatch.setattr(check, "_searched", search)
    return asked


def test_a_tree_is_confirmed_by_default():
    plan = planned(certificate=tree_certificate(PROBLEM, LOWEST * (1 - 1e-9)))
    assert plan.status is Status.OPTIMAL
    found = findings_of(plan)
    assert found.all_confirmed
    assert any("by exhaustive search: all" in fact for fact in found.confirmed)
    assert found.confirmed[-1] == "status: OPTIMAL, no placement has a lower pressure"


def test_a_tree_of_another_problem_is_wrong():
    proof = tree_certificate(PROBLEM, LOWEST * (1 - 1e-9))
    for forged in (replace(proof, bound=LOWEST), replace(proof, tree=proof.tree[:-1])):
        assert any("bound: the tree" in fault for fault in findings_of(forged_plan(forged)).faults)


def forged_plan(proof):
    plan = planned(certificate=proof)
    return replace(plan, status=Status.OPTIMAL if plan.proven else Status.FEASIBLE)


@pytest.mark.parametrize(
    ("proof", "sentence"),
    [
        (
            Certificate(Proof.SEARCH, LOWEST, nodes=7),
            "exhaustive search, tree too large to keep (7 nodes)",
        ),
        (Certificate(Proof.SEARCH, LOWEST), "exhaustive search, tree too large to keep"),
        (Certificate(Proof.SOLVERS, LOWEST), "two solvers, not checkable"),
    ],
)  # fmt: skip
def test_what_cannot_be_checked_is_not_confirmed(proof, sentence):
    """As good as a forgery: the plan's own pressure as a bound that nobody can check."""
    found = findings_of(planned(certificate=proof))
    assert found.faults == []
    told = found.by_solvers if proof.proof is Proof.SOLVERS else found.unchecked
    assert sentence in told[0]
    assert told[1].startswith("status: OPTIMAL")
    assert not found.all_confirmed


@pytest.mark.parametrize("kind", [Proof.SEARCH, Proof.SOLVERS])
def test_a_proof_is_repeated_strictly_below_its_bound(monkeypatch, kind):
    plan = planned(certificate=Certificate(kind, LOWEST))
    asked = answering(monkeypatch, Outcome.NONE)
    found = findings_of(plan, 1.0)
    assert found.all_confirmed
    assert any("repeated by two solvers" in fact for fact in found.confirmed)
    assert asked == [LOWEST * (1 - 2e-9)]


def test_a_repetition_that_proves_nothing_is_a_fault(monkeypatch):
    plan = planned(certificate=Certificate(Proof.SEARCH, LOWEST))
    answering(monkeypatch, Outcome.UNDECIDED)
    assert "the solvers proved nothing in 1 s" in findings_of(plan, 1.0).faults[0]
    answering(monkeypatch, Outcome.FOUND, PLACES)
    assert "the solvers proved nothing" in findings_of(plan, 1.0).faults[0]


def test_a_placement_below_the_bound_is_a_fault(monkeypatch):
    worse = {"m0": ("a",), "m1": ("a",), "m2": ("a",)}
    plan = planned(places=worse, certificate=Certificate(Proof.SEARCH, LOWEST * 1.01))
    answering(monkeypatch, Outcome.FOUND, PLACES)
    assert "the solvers found a placement" in findings_of(plan, 1.0).faults[0]


def test_a_bound_where_every_model_sleeps_is_wrong():
    models = tuple(replace(model, sleep_cost=1.0) for model in MODELS)
    problem = Problem(GPUS, models)
    asleep = {model.name: () for model in models}
    for proof in (Certificate(Proof.VOLUME, 0.0), Certificate(Proof.SOLVERS, 0.0)):
        faults = findings_of(planned(problem, asleep, certificate=proof)).faults
        assert "bound: one is stated, though every model sleeps" in faults


FULL = Problem((Gpu("a", 80),), (Model("x", 80, load=1),))


def test_an_infinite_pressure_can_be_the_lowest():
    proof = tree_certificate(FULL, inf, finite=True)
    plan = planned(FULL, {"x": ("a",)}, certificate=proof)
    assert (plan.status, plan.gap, plan.as_dict()["bound"]) == (Status.OPTIMAL, 0.0, "Infinity")
    found = findings_of(plan)
    assert found.all_confirmed
    assert any("no placement has a finite pressure" in fact for fact in found.confirmed)
    wrong = replace(plan, certificate=replace(proof, finite=False))
    assert "bound: says that there is no placement" in findings_of(wrong).faults[0]
    calm = replace(plan, certificate=None, status=Status.FEASIBLE)
    assert findings_of(calm).all_confirmed


CROWDED = Problem(GPUS, tuple(Model(f"m{n}", 50, load=1) for n in range(3)))


def nothing(problem, proof=None, **fields):
    plan = Plan(problem, Status.INFEASIBLE, reason="nothing fits", certificate=proof)
    return replace(plan, **fields)


def test_that_nothing_fits_is_confirmed_by_its_certificate():
    found = findings_of(nothing(CROWDED, tree_certificate(CROWDED, inf)))
    assert found.all_confirmed
    stated = "status: INFEASIBLE, no placement (nothing fits), by exhaustive search"
    assert found.confirmed[0].startswith(stated)
    sleepy = replace(CROWDED, models=(*CROWDED.models, Model("s", 1, load=1, sleep_cost=1)))
    assert findings_of(nothing(sleepy, tree_certificate(CROWDED, inf))).all_confirmed
    full = Problem(GPUS, (Model("m", 90, load=1),))
    assert findings_of(nothing(full, Certificate(Proof.MODEL, inf, model="m"))).all_confirmed


def test_a_false_proof_that_nothing_fits_is_wrong():
    proof = tree_certificate(CROWDED, inf)
    assert findings_of(nothing(PROBLEM, proof)).faults
    all_sleep = Problem(GPUS, (Model("m", 90, load=1, sleep_cost=1),))
    assert "all models may sleep" in findings_of(nothing(all_sleep)).faults[0]
    assert findings_of(nothing(PROBLEM, status=Status.OPTIMAL)).faults


def test_that_nothing_fits_without_a_proof_is_unchecked(monkeypatch):
    assert findings_of(nothing(CROWDED)).unchecked
    assert findings_of(nothing(CROWDED, Certificate(Proof.SEARCH, inf))).unchecked
    assert findings_of(nothing(CROWDED, Certificate(Proof.SOLVERS, inf))).by_solvers
    assert findings_of(nothing(CROWDED, status=Status.UNKNOWN)).unchecked
    answering(monkeypatch, Outcome.NONE)
    assert findings_of(nothing(CROWDED), 1.0).all_confirmed
    answering(monkeypatch, Outcome.UNDECIDED)
    assert "proved nothing" in findings_of(nothing(CROWDED), 1.0).faults[0]
    answering(monkeypatch, Outcome.FOUND, PLACES)
    assert "found a placement" in findings_of(nothing(PROBLEM), 1.0).faults[0]


def test_a_limit_on_the_pressure_that_is_out_of_reach():
    problem = replace(PROBLEM, most_pressure=0.04)
    proof = tree_certificate(PROBLEM, LOWEST * (1 - 1e-9))
    assert findings_of(nothing(problem, proof)).all_confirmed
    low = Certificate(Proof.VOLUME, 0.03)
    assert findings_of(nothing(problem, low)).unchecked
    finite = tree_certificate(FULL, inf, finite=True)
    assert findings_of(nothing(replace(FULL, most_pressure=9.0), finite)).all_confirmed
    assert findings_of(nothing(FULL, finite)).unchecked


def test_what_is_lost_is_bounded_by_the_checker_itself(monkeypatch):
    models = tuple(Model(f"m{n}", 40, load=1, sleep_cost=1 + n) for n in range(5))
    problem = Problem(GPUS, models)
    places = {"m0": (), "m1": (), "m2": ("b",), "m3": ("a",), "m4": ("a",)}
    plan = planned(problem, places)
    assert plan.lost == 3
    found = findings_of(replace(plan, lost_bound=0.9))
    assert any("at least 0.9 for any choice, by volume" in fact for fact in found.confirmed)
    assert found.all_confirmed
    more = replace(plan, lost_bound=3.0)
    assert "by two solvers, not checkable" in findings_of(more).by_solvers[0]
    answering(monkeypatch, Outcome.FOUND, places, cost_bound=3.0)
    assert any("repeated by two solvers" in fact for fact in findings_of(more, 1.0).confirmed)
    answering(monkeypatch, Outcome.FOUND, places, cost_bound=1.0)
    assert "the solvers prove only 1" in findings_of(more, 1.0).faults[0]


def test_a_plan_comes_back_from_its_text():
    plan = planned(certificate=tree_certificate(PROBLEM, LOWEST * (1 - 1e-9)), strategy="s", seed=3)
    assert Plan.from_dict(PROBLEM, plan.as_dict()) == plan
    plan = nothing(CROWDED, tree_certificate(CROWDED, inf))
    assert Plan.from_dict(CROWDED, plan.as_dict()) == plan
