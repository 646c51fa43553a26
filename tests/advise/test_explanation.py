"""What is said about plans: exact on small ones, and as brute force has it on random ones."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from colocate import Gpu, Model, Problem, Status, place, solve, verify
from colocate.advise.explain.bottleneck import alone, bottleneck_of
from colocate.advise.explain.bound import MultiplierFacts, bound_of
from colocate.advise.explain.cause import Cause
from colocate.advise.explain.explanation import explain
from colocate.advise.explain.fixed_plan import fixed_plan_of
from colocate.advise.explain.idle import Idle, idle_gpus, tight_gpus
from colocate.advise.explain.moves import best_move
from colocate.advise.what_if import ChangeKind
from colocate.problem.certificate import Certificate, Proof
from colocate.problem.placement import Placement
from colocate.solver.plan import Plan
from tests.campaign import campaign
from tests.problems import problems
from tests.solver.test_constraints import constrained, fleet

HOT, COLD = Model("hot", 20, load=6), Model("cold", 10, load=1)


def plan_of(problem, **places):
    placement = Placement({name: gpus.split() for name, gpus in places.items()})
    verdict = verify(problem, placement)
    assert verdict.valid, verdict.faults
    return Plan(problem, Status.FEASIBLE, placement, verdict.pressures)


def random_plan(problem, seed):
    """Any valid placement, good or bad; None if none was met."""
    rng = np.random.default_rng(seed)
    names = [gpu.name for gpu in problem.gpus]
    for _ in range(300):
        places = {
            model.name: tuple(rng.permutation(names)[: model.replicas * model.shards].tolist())
            for model in problem.models
        }
        for group in problem.together:
            places.update(dict.fromkeys(group, places[group[0]]))
        if len({len(gpus) for gpus in places.values()} & {0}) == 0:
            verdict = verify(problem, places)
            if verdict.valid:
                return Plan(problem, Status.FEASIBLE, Placement(places), verdict.pressures)
    return None


def every_part(plan):
    """All that moves as one: models kept together, or a part of a model, by its number."""
    bundled = {name: group for group in plan.problem.together for name in group}
    for name, gpus in plan.placement.items():
        members = bundled.get(name, (name,))
        if members[0] == name or name not in members:
            for number, gpu in enumerate(gpus):
                yield tuple(members), number, gpu


def moved(placement, part, number, gpu):
    places = {name: list(gpus) for name, gpus in placement.items()}
    for name in part:
        places[name][number] = gpu
    return places


def best_by_trying_all(plan):
    """The lowest peak after any move off the bottleneck or any swap; None if none is allowed."""
    problem, found = plan.problem, []
    parts = list(every_part(plan))
    for part, number, here in parts:
        if here != plan.bottleneck:
            continue
        found += [
            verify(problem, moved(plan.placement, part, number, gpu.name))
            for gpu in problem.gpus
            if gpu.name != here
        ]
        for other, other_number, there in parts:
            if there != here and other != part:
                places = moved(plan.placement, part, number, there)
                found.append(verify(problem, moved(places, other, other_number, here)))
    return min((verdict.pressure for verdict in found if verdict.valid), default=None)


def agrees_with_brute_force(plan):
    best, move = best_by_trying_all(plan), best_move(fixed_plan_of(plan))
    if best is None:
        assert move is None
        return
    assert move.pressure == pytest.approx(best, rel=1e-9)
    assert move.lowers == (best < plan.pressure * (1 - 1e-9))


@campaign(200)
@given(problems(limited=True, max_windows=2), st.integers(0, 9))
def test_the_best_move_is_the_best_of_all(problem, seed):
    plan = random_plan(problem, seed)
    assume(plan is not None)
    agrees_with_brute_force(plan)


@campaign(200)
@given(constrained(), st.integers(0, 9))
def test_the_best_move_respects_every_constraint(problem, seed):
    plan = random_plan(problem, seed)
    assume(plan is not None)
    agrees_with_brute_force(plan)


def test_a_better_move_is_found_in_a_poor_plan():
    problem = Problem([Gpu("a", 80), Gpu("b", 80)], [HOT, COLD, Model("idle", 30, load=0)])
    told = explain(plan_of(problem, hot="a", cold="b", idle="a"))
    assert told.bottleneck.gpu == "a"
    assert told.bottleneck.free_gb == pytest.approx(30)
    assert told.move.models == ("idle",)
    assert told.move.target == "b"
    assert told.move.others == ()
    assert told.move.lowers
    assert told.move.pressure == pytest.approx(6 / 60)
    assert told.solved_again == pytest.approx(6 / 60)


def test_one_hot_model_alone_sets_the_peak_and_a_second_copy_halves_it():
    told = explain(solve(Problem(fleet(), (HOT, COLD))))
    assert told.why.cause is Cause.HOT_MODEL
    assert told.why.alone.model == "hot"
    assert told.why.alone.everywhere
    assert told.why.alone.pressure == pytest.approx(0.1)
    assert not told.move.lowers
    assert told.bottleneck.tenants[0].share == 1.0
    (replica,) = told.levers
    assert (replica.kind, replica.model, replica.count, replica.added_gb) == (
        ChangeKind.REPLICAS,
        "hot",
        2,
        20,
    )
    assert replica.status is Status.OPTIMAL
    assert replica.pressure == pytest.approx(3 / 60)
    assert told.solved_again is None
    assert [group.why for group in told.idle] == [Idle.NO_GAIN]
    assert sum(len(group.gpus) for group in told.idle) == 2


def test_more_shards_are_tried_where_one_model_sets_the_peak(monkeypatch):
    plan = solve(Problem(fleet(), (HOT, COLD)))
    sharded = HOT.changed(shards=2, size_gb=24)
    in_more = "colocate.advise.explain.explanation.in_more_shards"
    monkeypatch.setattr(in_more, lambda _, name: sharded if name == "hot" else None)
    monkeypatch.setattr("colocate.advise.explain.explanation.services_of", lambda *_: ())
    told = explain(plan, object())
    shards = told.levers[1]
    assert (shards.kind, shards.count, shards.added_gb) == (ChangeKind.SHARDS, 2, 4)
    assert shards.pressure == pytest.approx(3 / 68)


def test_a_copy_too_many_does_not_fit():
    problem = Problem([Gpu("a", 80), Gpu("b", 40)], [Model("hot", 50, load=2)])
    (replica,) = explain(solve(problem)).levers
    assert (replica.status, replica.pressure) == (Status.INFEASIBLE, inf)


def test_models_kept_together_get_no_second_copy():
    problem = Problem(fleet(), (HOT, COLD), together=(("hot", "cold"),))
    told = explain(solve(problem))
    assert told.levers == ()
    assert told.why.cause is Cause.CONSTRAINTS
    (relief,) = told.why.reliefs
    assert (relief.change.kind, relief.change.names) == (ChangeKind.TOGETHER, ("hot", "cold"))
    assert relief.pressure == pytest.approx(0.1)


def test_a_pin_that_forces_the_peak_is_named():
    gpus = [Gpu("big", 80), Gpu("small", 40)]
    told = explain(solve(Problem(gpus, (Model("hot", 20, load=6, only=["small"]), COLD))))
    assert told.why.cause is Cause.HOT_MODEL
    assert not told.why.alone.everywhere
    assert told.why.alone.gpu == "small"
    assert [relief.change.kind for relief in told.why.reliefs] == [ChangeKind.ONLY]
    assert told.why.reliefs[0].pressure == pytest.approx(0.1)


def test_evenly_pressed_gpus_are_said_to_be_so():
    models = [Model(f"m{n}", 10, load=1) for n in range(8)]
    told = explain(solve(Problem(fleet(), models)))
    assert told.why.cause is Cause.EVEN
    assert told.why.load == 8
    assert told.why.free_gb == 240
    assert told.why.even_pressure == pytest.approx(told.bottleneck.pressure)
    assert told.bottleneck.tied == 4


def test_what_is_left_is_how_models_fit_together():
    gpus = [Gpu("a", 80), Gpu("b", 80)]
    models = [Model(f"m{n}", 10, load=1) for n in range(3)]
    told = explain(solve(Problem(gpus, models)))
    assert told.why.cause is Cause.PIECES
    assert told.why.even_pressure == pytest.approx(3 / 130)
    assert told.bottleneck.pressure == pytest.approx(2 / 60)


def test_without_load_there_is_no_bottleneck():
    told = explain(solve(Problem(fleet(), [Model("m", 10, load=0)])))
    assert told.why.cause is Cause.NO_LOAD
    assert told.bottleneck.hottest is None
    assert (told.move, told.levers) == (None, ())


def test_a_full_gpu_has_infinite_pressure():
    problem = Problem([Gpu("a", 80)], [Model("m", 80, load=1)])
    told = explain(solve(problem))
    assert told.bottleneck.pressure == inf
    assert told.why.cause is Cause.HOT_MODEL
    assert told.move is None
    assert told.levers[0].status is Status.INFEASIBLE


def test_windows_are_told_apart():
    problem = Problem([Gpu("a", 80)], [Model("m", 40, load=[1, 3]), Model("n", 10, load=[4, 1])])
    told = explain(solve(problem))
    assert told.bottleneck.window == 0
    assert [(tenant.model, tenant.load) for tenant in told.bottleneck.tenants] == [
        ("n", 4.0),
        ("m", 1.0),
    ]


def test_sleeping_models_and_open_replicas_are_taken_as_the_plan_has_them():
    models = (
        Model("hot", 20, load=6, most_replicas=3),
        Model("cold", 10, load=1),
        Model("dormant", 10, load=1, sleep_cost=1),
    )
    problem = Problem(fleet(), models)
    told = explain(plan_of(problem, hot="l0 l1", cold="r0", dormant=""))
    assert told.asleep == ("dormant",)
    assert told.bottleneck.tenants[0].replicas == 2
    assert told.bottleneck.pressure == pytest.approx(3 / 60)
    assert told.levers[0].count == 3
    assert told.levers[0].pressure == pytest.approx(2 / 60)


def test_all_models_asleep_is_nothing_to_explain():
    problem = Problem(fleet(), [Model("m", 10, load=1, sleep_cost=1)])
    pressures = {gpu.name: 0.0 for gpu in problem.gpus}
    assert explain(Plan(problem, Status.OPTIMAL, Placement({"m": ()}), pressures)) is None


def test_alone_looks_at_gpus_that_the_model_may_be_on():
    gpus = [Gpu("big", 100, "X", {"compute": 0.5}), Gpu("small", 80, "Y", {"compute": 1})]
    model = Model("m", 20, load=3, uses={"compute": {"X": 0.9, "Y": 0.9}})
    state = fixed_plan_of(solve(Problem(gpus, [model])))
    found = alone(state, "m")
    assert (found.gpu, found.everywhere, found.pressure) == ("small", False, pytest.approx(0.05))
    assert bottleneck_of(state).gpu == "small"
    (tight,) = tight_gpus(state)
    assert (tight.gpu, tight.resource, tight.use, tight.limit) == ("small", "compute", 0.9, 1.0)
    assert [group.why for group in idle_gpus(state)] == [Idle.LIMITED]


def test_reasons_for_idle_gpus():
    gpus = [Gpu("busy", 80), Gpu("tiny", 5), Gpu("barred", 80, node="n")]
    models = [Model("m", 20, load=2, never=["n"]), Model("k", 20, load=2, never=["n"])]
    state = fixed_plan_of(solve(Problem(gpus, models)))
    assert {group.gpus: group.why for group in idle_gpus(state)} == {
        ("tiny",): Idle.TOO_SMALL,
        ("barred",): Idle.FORBIDDEN,
    }
    gpus = [Gpu("busy", 80), Gpu("free", 80), Gpu("small", 15)]
    models = [Model("m", 20, load=2), Model("k", 20, load=2), Model("s", 10, load=0)]
    state = fixed_plan_of(plan_of(Problem(gpus, models), m="busy", k="busy", s="busy"))
    assert {group.gpus: group.why for group in idle_gpus(state)} == {
        ("free",): Idle.HELPS,
        ("small",): Idle.HELPS,
    }
    models = [Model("m", 20, load=2), Model("s", 10, load=0)]
    state = fixed_plan_of(plan_of(Problem(gpus, models), m="busy", s="free"))
    assert {group.gpus: group.why for group in idle_gpus(state)} == {
        ("small",): Idle.NOT_FOR_BOTTLENECK
    }


def test_bounds_are_taken_apart():
    problem = Problem(fleet(), (HOT, COLD))
    plan = solve(problem)
    facts = bound_of(plan, plan.pressure)
    assert (facts.proof, facts.model, facts.load, facts.size_gb) == (Proof.MODEL, "hot", 6, 20)
    assert facts.memory_gb == pytest.approx(80)
    assert facts.gap <= 1e-8
    volume = replace(plan, certificate=Certificate(Proof.VOLUME, 7 / 290 * (1 - 1e-9)))
    facts = bound_of(volume, plan.pressure)
    assert facts.fault is None
    assert (facts.load, facts.memory_gb) == (7, 320)
    assert facts.size_gb == pytest.approx(30)
    assert facts.gap == pytest.approx(0.1 / (7 / 290) - 1)
    search = replace(plan, certificate=Certificate(Proof.SEARCH, 0.09, nodes=7))
    assert bound_of(search, plan.pressure).nodes == 7
    assert bound_of(replace(plan, certificate=None), plan.pressure) is None


def test_multipliers_are_counted():
    gpus = [Gpu(f"g{n}", 10) for n in range(3)]
    problem = Problem(gpus, [Model(f"m{n}", 3, load=1) for n in range(7)])
    plan = place(problem, "five_recommendations")
    proof = Certificate(Proof.MULTIPLIERS, 2.9, multipliers=(1,) * 7)
    facts = bound_of(replace(plan, certificate=proof), plan.pressure)
    assert facts.fault is None
    assert facts.multipliers == MultiplierFacts(counted=7, total=7, carried=6)


def test_a_bound_that_does_not_hold_is_not_believed():
    plan = solve(Problem(fleet(), (HOT, COLD)))
    for bound in (0.0999999, 0.2):
        forged = replace(plan, certificate=Certificate(Proof.VOLUME, bound))
        assert bound_of(forged, plan.pressure).fault
    assert bound_of(plan, plan.pressure).fault is None


@campaign(60)
@given(constrained())
def test_every_plan_can_be_explained(problem):
    plan = solve(problem, time_limit=0.2, workers=1)
    assume(plan.placement)
    told = explain(plan, seconds=0.3)
    assert told.bottleneck.pressure == plan.pressure
    assert told.bound is None or told.bound.fault is None
    if plan.status is Status.OPTIMAL and told.move:
        assert not told.move.lowers
    used = {gpu for gpus in plan.placement.values() for gpu in gpus}
    idle = {gpu for group in told.idle for gpu in group.gpus}
    assert idle == {gpu.name for gpu in problem.gpus} - used
    if told.why.alone and told.why.cause is Cause.HOT_MODEL:
        assert plan.pressure <= told.why.alone.pressure / 0.98
