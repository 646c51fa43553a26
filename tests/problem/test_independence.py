"""The checker shares no code with what it checks: faults planted in the solver do not pass."""

from fractions import Fraction
from math import inf

import pytest

import colocate.problem.reduction as parts_module
from colocate import Gpu, Model, Problem, Status, solve, verify
from colocate.problem.model import Model as StatedModel
from colocate.problem.reduction import Portion
from colocate.problem.verify_bound import refuted

GPUS = [Gpu(f"{node}{n}", 80, node=node) for node in "lr" for n in range(3)]
MODELS = [
    Model("copied", 20, load=6, replicas=3),
    Model("sharded", 90, load=8, shards=2),
    Model("both", 60, load=9, shards=2, replicas=2),
    *(Model(f"small-{n}", 5 + 3 * n, load=1 + n) for n in range(4)),
]
PROBLEM = Problem(GPUS, MODELS)


def exact_pressures(problem, placement):
    """Work out all pressures once more, from nothing but what was stated."""
    load = {gpu.name: Fraction(0) for gpu in problem.gpus}
    free = {gpu.name: Fraction(gpu.memory_gb) for gpu in problem.gpus}
    for model in problem.models:
        for gpu in placement[model.name]:
            load[gpu] += Fraction(model.load[0]) / len(placement[model.name])
            free[gpu] -= Fraction(model.size_gb) / model.shards
    return {gpu: float(load[gpu] / free[gpu]) if load[gpu] else 0.0 for gpu in load}


def planted(load_factor, size_factor):
    """Return a division of models among their parts that is wrong by some factors."""

    def portion_of(model):
        divided = model.parts
        load = tuple(
            amount / divided * (load_factor if divided > 1 else 1) for amount in model.load
        )
        size = model.size_gb / model.shards * (size_factor if model.shards > 1 else 1)
        return Portion(size, load, model.uses)

    return portion_of


@pytest.mark.parametrize("factors", [(1.3, 1.0), (0.7, 1.0), (1.0, 1.2), (1.0, 0.6), (3.0, 1.1)])
def test_a_wrong_division_among_replicas_and_shards_is_caught(monkeypatch, factors):
    best = solve(PROBLEM, time_limit=5)
    assert best.status is Status.OPTIMAL
    monkeypatch.setattr(parts_module, "_portion_of", planted(*factors))
    plan = solve(PROBLEM, time_limit=2)
    if plan.placement:
        assert dict(plan.pressures) == pytest.approx(exact_pressures(PROBLEM, plan.placement))
        assert plan.status is not Status.OPTIMAL or plan.pressure <= best.pressure * (1 + 1e-8)
    assert plan.bound <= best.pressure * (1 + 1e-12)
    assert plan.status is not Status.INFEASIBLE
    if plan.certificate:
        assert refuted(PROBLEM, plan.certificate) is None


def test_a_proof_from_a_wrong_division_is_refused(monkeypatch):
    monkeypatch.setattr(parts_module, "_portion_of", planted(3.0, 1.0))
    wrong = parts_module.reduction_of(PROBLEM)
    monkeypatch.undo()
    right = parts_module.reduction_of(PROBLEM)
    assert wrong.instance.load.sum() > right.instance.load.sum()
    monkeypatch.setattr(parts_module, "_portion_of", planted(3.0, 1.0))
    plan = solve(PROBLEM, time_limit=2)
    assert plan.alarms or plan.status is not Status.OPTIMAL


def test_the_checker_asks_models_for_nothing_but_what_was_stated(monkeypatch):
    plan = solve(PROBLEM, time_limit=5)
    crowded = Problem(GPUS, [*MODELS, *(Model(f"large-{n}", 45, load=1) for n in range(9))])
    impossible = solve(crowded, time_limit=5)
    assert impossible.bound == inf

    def fault(*_args, **_options):
        raise AssertionError("the checker relies on code of the solver")

    for name in ("part", "_uses_of", "awake", "changed", "may_be_on"):
        monkeypatch.setattr(StatedModel, name, fault)
    monkeypatch.setattr(StatedModel, "parts", property(fault))
    monkeypatch.setattr(Problem, "instance", property(fault))
    assert verify(PROBLEM, plan.placement).pressures == plan.pressures
    assert refuted(PROBLEM, plan.certificate) is None
    assert refuted(crowded, impossible.certificate) is None
