"""Constraints of real fleets: brute force over the independent checker agrees with the solver."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate import Gpu, InputError, Model, Problem, Status, place, solve, verify
from colocate.problem.reduction import reduction_of
from colocate.problem.verify_bound import refuted
from colocate.solver.decide import sleep
from tests.campaign import campaign
from tests.problems import assert_solved, lowest_pressure

NODE_MEMORY = {"large": 200, "small": 80}
NODES = {"left": ("l0", "l1"), "right": ("r0", "r1")}


def fleet(memories=(80, 80, 80, 80)):
    names = [(gpu, node) for node, gpus in NODES.items() for gpu in gpus]
    kinds = ["big" if memory > 60 else "small" for memory in memories]
    return [
        Gpu(gpu, memory, kind=kind, node=node)
        for (gpu, node), memory, kind in zip(names, memories, kinds, strict=True)
    ]


@st.composite
def constrained(draw):
    gpus = fleet(draw(st.lists(st.sampled_from([40, 80]), min_size=4, max_size=4)))
    tags = ["l0", "r1", "left", "right", *sorted({gpu.kind for gpu in gpus})]
    models = []
    for number in range(draw(st.integers(1, 3))):
        replicas, shards = draw(st.sampled_from([(1, 1), (1, 1), (2, 1), (1, 2)]))
        models.append(
            Model(
                f"m{number}",
                draw(st.sampled_from([5, 10, 30, 50])),
                load=draw(st.sampled_from([0, 1, 2, 5])),
                replicas=replicas,
                shards=shards,
                only=draw(st.lists(st.sampled_from(tags), max_size=2, unique=True)),
                never=draw(st.lists(st.sampled_from(tags[:4]), max_size=1)),
            )
        )
    names = [model.name for model in models]
    whole = [model.name for model in models if model.parts == 1]
    apart = (tuple(names[:2]),) if len(names) > 1 and draw(st.booleans()) else ()
    together = (tuple(whole[-2:]),) if len(whole) > 1 and not apart and draw(st.booleans()) else ()
    most = draw(st.sampled_from([None, None, 1, 2]))
    return Problem(tuple(gpus), tuple(models), apart, together, most)


@campaign(300)
@given(constrained())
def test_brute_force_agrees_under_every_constraint(problem):
    assert_solved(problem, lowest_pressure(problem), 2.0)


@campaign(100)
@given(constrained())
def test_strategies_respect_constraints_too(problem):
    if any(model.shards > 1 for model in problem.models):
        with pytest.raises(InputError, match="strategies do not know shards"):
            place(problem, "five_recommendations")
        return
    plan = place(problem, "five_recommendations")
    if plan.placement:
        assert verify(problem, plan.placement).valid
    elif plan.status is Status.INFEASIBLE:
        assert lowest_pressure(problem) is None


HOT = Model("hot", 20, load=6)


def test_a_second_copy_halves_what_one_hot_model_does():
    alone = solve(Problem(fleet(), (HOT, Model("cold", 10, load=1))))
    twice = solve(
        Problem(fleet(), (Model("hot", 20, load=6, replicas=2), Model("cold", 10, load=1)))
    )
    assert alone.pressure == pytest.approx(6 / 60)
    assert twice.pressure == pytest.approx(3 / 60)
    assert len(set(twice.placement["hot"])) == 2


def test_shards_share_size_and_load_in_one_node():
    plan = solve(Problem(fleet(), (Model("large", 120, load=4, shards=2),)))
    assert plan.pressure == pytest.approx(2 / 20)
    assert set(plan.placement["large"]) in ({"l0", "l1"}, {"r0", "r1"})


@pytest.mark.parametrize("replicas", [5, 10**9])
@pytest.mark.parametrize("answer", [solve, lambda problem: place(problem, "bisect_kvpr_packing")])
def test_more_replicas_than_gpus_are_refused_before_they_are_made(answer, replicas):
    problem = Problem(fleet(), (Model("hot", 1, load=1, replicas=replicas),))
    plan = answer(problem)
    assert plan.status is Status.INFEASIBLE
    assert f"replicas={replicas} with shards=1 take {replicas} GPUs" in plan.reason
    assert refuted(problem, plan.certificate) is None


@pytest.mark.parametrize("others", [3, 120])
def test_a_model_of_no_size_that_may_be_nowhere_is_refused_at_once(others):
    gpus = [Gpu(f"g{n}", 80, limits={"r": 1}) for n in range(4)]
    models = [Model(f"m{n}", 1, load=1, uses={"r": 0.001}) for n in range(others)]
    problem = Problem(gpus, [*models, Model("z", 0, load=1, uses={"r": 2})])
    plan = solve(problem)
    assert plan.status is Status.INFEASIBLE
    assert "'z': uses more than the limit of every GPU" in plan.reason
    assert refuted(problem, plan.certificate) is None


def test_a_sleeper_with_more_replicas_than_gpus_sleeps():
    hot = Model("hot", 1, load=1, replicas=10**9, sleep_cost=1)
    plan = solve(Problem(fleet(), (hot, Model("cold", 1, load=1))))
    assert plan.status is Status.OPTIMAL
    assert plan.asleep == ("hot",)


@pytest.mark.parametrize("others", [(), (Model("cold", 1, load=1), Model("cool", 1, load=2))])
def test_a_sleeper_with_more_replicas_than_gpus_sleeps_without_other_solvers(others, monkeypatch):
    monkeypatch.setattr(sleep, "small_enough", lambda _: False)
    hot = Model("hot", 1, load=1, replicas=10**9, sleep_cost=1)
    plan = solve(Problem(fleet(), (hot, *others)))
    assert plan.placement
    assert plan.asleep == ("hot",)


def test_replicas_of_shards_may_be_in_different_nodes():
    plan = solve(Problem(fleet(), (Model("large", 120, load=4, shards=2, replicas=2),)))
    first, second = plan.placement["large"][:2], plan.placement["large"][2:]
    assert {frozenset(first), frozenset(second)} == {
        frozenset({"l0", "l1"}),
        frozenset({"r0", "r1"}),
    }


@pytest.mark.parametrize(
    ("placement", "fault"),
    [
        (
            {"a": ["l0"], "b": ["l0"], "c": ["l1"], "t": ["r0", "r1"]},
            "a and b, which must be apart",
        ),
        (
            {"a": ["l0"], "b": ["l1"], "c": ["r0"], "t": ["r0", "l1"]},
            "a replica on nodes left, right",
        ),
        ({"a": ["l0"], "b": ["l1"], "c": ["l1"], "t": ["r0", "r0"]}, "one GPU more than once"),
        ({"a": ["r0"], "b": ["l1"], "c": ["l1"], "t": ["r0", "r1"]}, "'r0', where it must not be"),
        ({"a": ["l0"], "b": ["l1"], "c": ["l1"], "t": ["r0"]}, "must be on 2 GPUs"),
        (
            {"a": ["l0"], "b": ["l1"], "c": ["l0"], "t": ["r0", "r1"]},
            "without all that must be",
        ),
    ],
)
def test_the_checker_sees_every_breach(placement, fault):
    problem = Problem(
        fleet(),
        (
            Model("a", 10, load=1, only=["left"]),
            Model("b", 10, load=1),
            Model("c", 10, load=1),
            Model("t", 40, load=1, shards=2),
        ),
        apart=(("a", "b"),),
        together=(("b", "c"),),
    )
    verdict = verify(problem, placement)
    assert any(fault in sentence for sentence in verdict.faults)


def test_at_most_so_many_models_on_a_gpu():
    models = tuple(Model(f"m{n}", 1, load=1) for n in range(5))
    assert solve(Problem(fleet(), models, most_models=1)).status is Status.INFEASIBLE
    plan = solve(Problem(fleet(), models, most_models=2))
    assert max(len(on) for on in plan.models_by_gpu().values()) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"apart": (("a",),)}, "two or more different models"),
        ({"apart": (("a", "z"),)}, "holds 'z', which is not the name of a model"),
        (
            {"together": (("a", "t"),)},
            "together holds 't', which is on 2 GPUs, must be models on one GPU",
        ),
        (
            {"apart": (("a", "b"),), "together": (("b", "a"),)},
            "apart and together both hold a and b",
        ),
        ({"most_models": 0}, "most_models=0, must be a whole number >= 1"),
    ],
)
def test_constraints_that_cannot_be_meant_are_refused(arguments, message):
    models = (Model("a", 1, load=1), Model("b", 1, load=1), Model("t", 1, load=1, shards=2))
    with pytest.raises(InputError, match=message):
        Problem(fleet(), models, **arguments)


def test_a_place_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="only has 'cellar', which is no GPU, node or kind"):
        Problem(fleet(), (Model("a", 1, load=1, only=["cellar"]),))
    with pytest.raises(InputError, match="replicas=0, must be a whole number >= 1"):
        Model("a", 1, load=1, replicas=0)
    with pytest.raises(InputError, match="must be a list of names"):
        Model("a", 1, load=1, only="left")


def test_an_altered_constraint_is_another_problem():
    free = Problem(fleet(), (HOT, Model("cold", 10, load=1)))
    bound = Problem(fleet(), (HOT, Model("cold", 10, load=1, never=["l0"])))
    apart = Problem(fleet(), free.models, apart=(("hot", "cold"),))
    assert len({free.digest, bound.digest, apart.digest}) == 3


def test_a_larger_fleet_with_constraints_is_valid_and_nearly_proven():
    rng = np.random.default_rng(3)
    gpus = tuple(
        Gpu(f"n{n}g{g}", 80, kind="A100", node=f"n{n}") for n in range(8) for g in range(8)
    )
    models = tuple(
        Model(
            f"m{n}",
            float(rng.uniform(5, 40)),
            load=float(rng.uniform(0.5, 3)),
            replicas=int(rng.integers(1, 3)),
            never=[f"n{rng.integers(8)}"] if n % 3 == 0 else [],
        )
        for n in range(80)
    )
    problem = Problem(gpus, models, apart=(("m0", "m1", "m2"),), most_models=4)
    plan = solve(problem, time_limit=3.0)
    assert verify(problem, plan.placement).valid
    assert plan.gap < 0.02
    assert refuted(problem, plan.certificate) is None


def test_who_is_together_through_a_third_cannot_be_apart():
    models = [Model(name, 1, load=1) for name in "abc"]
    problem = Problem(fleet(), models, apart=[("a", "c")], together=[("a", "b"), ("b", "c")])
    plan = solve(problem)
    assert plan.status is Status.INFEASIBLE
    assert lowest_pressure(problem) is None


@pytest.mark.parametrize("pins", [{"only": ["l0"]}, {"never": ["l0"]}, {"only": ["left"]}])
def test_items_are_barred_from_where_pins_bar_their_models(pins):
    problem = Problem(fleet(), [Model("m", 10, load=1, **pins), Model("free", 10, load=1)])
    rules = reduction_of(problem).instance.rules
    allowed = [problem.models[0].may_be_on(gpu) for gpu in problem.gpus]
    assert rules.open[rules.pin[0]].tolist() == allowed
    assert rules.open[rules.pin[1]].all()


def test_replicas_of_shards_find_nodes_of_their_own():
    """The roomiest node for the first replica is so for the second, but holds one only."""
    gpus = [Gpu(f"{node}{n}", gb, node=node) for node, gb in NODE_MEMORY.items() for n in range(4)]
    problem = Problem(gpus, [Model("m", 160, load=1, shards=4, replicas=2)])
    plan = solve(problem)
    assert verify(problem, plan.placement).valid
