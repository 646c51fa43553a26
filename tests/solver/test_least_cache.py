"""The least cache as a constraint: brute force that knows it by itself agrees with the solver."""

from fractions import Fraction
from itertools import product
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate import Gpu, InputError, Model, Problem, Status, solve, verify
from colocate.solver.check import check_plan
from tests.campaign import campaign
from tests.problems import assert_solved, lowest_pressure

SIZES = st.sampled_from([0, 2, 5, 10, 12.5, 20])
CACHES = st.sampled_from([0, 0.1, 1, 4, 7.5, 20])


def model(name, size, load, least, **fields):
    return Model(name, size, load=load, least_cache_gb=least, **fields)


@st.composite
def with_least_cache(draw):
    gpus = [
        Gpu(f"g{n}", draw(st.sampled_from([16, 24, 40])), node=draw(st.sampled_from("ab")))
        for n in range(draw(st.integers(1, 3)))
    ]
    models = []
    for number in range(draw(st.integers(1, 4))):
        replicas, shards = draw(st.sampled_from([(1, 1), (1, 1), (2, 1), (1, 2)]))
        most = replicas + draw(st.sampled_from([0, 0, 1])) if shards == 1 else replicas
        models.append(
            model(
                f"m{number}",
                draw(SIZES),
                draw(st.sampled_from([0, 1, 2, 5])),
                draw(CACHES),
                replicas=replicas,
                most_replicas=most,
                shards=shards,
            )
        )
    return Problem(tuple(gpus), tuple(models))


def caches_fit(problem, placement):
    """Whether sizes and least caches fit on every GPU, worked out from the fields alone."""
    for gpu in problem.gpus:
        held = sum(
            (Fraction(m.size_gb) + Fraction(m.least_cache_gb)) / m.shards
            for m in problem.models
            for place in placement[m.name]
            if place == gpu.name
        )
        if held > Fraction(gpu.memory_gb) * (1 + Fraction(1, 10**11)):
            return False
    return True


@campaign(400)
@given(with_least_cache())
def test_brute_force_agrees(problem):
    plan = assert_solved(problem, lowest_pressure(problem), 2.0)
    if plan.placement:
        assert caches_fit(problem, plan.placement)


@campaign(300)
@given(with_least_cache(), st.data())
def test_the_checker_knows_least_caches_by_itself(problem, data):
    fixed = problem.with_replicas({m.name: m.replicas for m in problem.models})
    names = [gpu.name for gpu in fixed.gpus]
    placement = {
        m.name: data.draw(st.lists(st.sampled_from(names), min_size=m.parts, max_size=m.parts))
        for m in fixed.models
    }
    if verify(fixed, placement).valid:
        assert caches_fit(fixed, placement)
    elif not caches_fit(fixed, placement):
        assert not verify(fixed, placement).valid


def test_a_cache_that_does_not_fit_keeps_models_apart():
    gpus = (Gpu("a", 40), Gpu("b", 40))
    models = (model("x", 18, 1, 0), model("y", 18, 1, 0), model("z", 1, 9, 0))
    roomy = Problem(gpus, models)
    assert verify(roomy, {"x": ["a"], "y": ["a"], "z": ["b"]}).valid
    tight = Problem(gpus, tuple(m.changed(least_cache_gb=3.0) for m in models))
    verdict = verify(tight, {"x": ["a"], "y": ["a"], "z": ["b"]})
    assert verdict.faults == (
        "gpu 'a' needs 42 GB of 40 GB: its models hold 36 GB and must have 6 GB of cache",
    )
    plan = solve(tight)
    assert plan.status is Status.OPTIMAL
    assert plan.placement["x"] != plan.placement["y"]


@pytest.mark.parametrize(
    ("models", "reason"),
    [
        (
            [("m", 30, 1, 12)],
            "models[0] 'm': needs 42 GB with its least cache of 12 GB, must be at most 40 "
            "(the memory of 'a')",
        ),
        (
            [("m", 30, 1, 5), ("n", 25, 1, 10), ("o", 5, 1, 6)],
            "models: size_gb adds up to 60, with the least cache of all models to 81, must be at "
            "most 80 (the memory of all GPUs)",
        ),
    ],
)
def test_what_is_short_is_said_and_proven(models, reason):
    problem = Problem((Gpu("a", 40), Gpu("b", 40)), tuple(model(*m) for m in models))
    plan = solve(problem)
    assert (plan.status, plan.reason) == (Status.INFEASIBLE, reason)
    assert check_plan(problem, plan.as_dict()).all_confirmed


def test_all_models_state_a_least_cache_or_none_does():
    with pytest.raises(InputError, match=r"models\[1\] 'n': least_cache_gb is stated for some"):
        Problem((Gpu("a", 40),), (model("m", 1, 1, 1), Model("n", 1, load=1)))


def test_parts_do_not_share_memory():
    with pytest.raises(InputError, match="is not shared, size_gb and least_cache_gb say"):
        model("m", 1, 1, 1, shared_uses={"memory": 2.0})


def test_parts_and_changes_keep_the_least_cache():
    whole = model("m", 8, 4, 2, shards=2, most_replicas=2)
    part = whole.part(2)
    assert (part.size_gb, part.load, part.least_cache_gb) == (4, (1,), 1)
    assert dict(part.uses)["memory"] == (("", 5.0),)
    assert dict(whole.changed(size_gb=10).uses)["memory"] == (("", 6.0),)
    assert Problem((Gpu("a", 40),), (model("m", 1, 1, 1),)).gpus[0].limit_on("memory") == 40


def sleepers(problem):
    """Return what the best choice of sleepers loses, by trying all of them and all placements."""
    best = inf
    for places in product([None, *[gpu.name for gpu in problem.gpus]], repeat=len(problem.models)):
        placement = {
            m.name: [] if place is None else [place]
            for m, place in zip(problem.models, places, strict=True)
        }
        if any(m.sleep_cost is None and not placement[m.name] for m in problem.models):
            continue
        if caches_fit(problem, placement):
            lost = sum(m.sleep_cost or 0 for m in problem.models if not placement[m.name])
            best = min(best, lost)
    return best


@campaign(150)
@given(st.lists(st.tuples(SIZES, CACHES, st.sampled_from([None, 1, 2, 5])), min_size=1, max_size=5))
def test_models_sleep_for_room_and_lose_least(rows):
    models = [
        model(f"m{n}", size, 1, least, sleep_cost=cost)
        for n, (size, least, cost) in enumerate(rows)
    ]
    # Without pressure limits an overfull GPU is the only reason to sleep.
    problem = Problem((Gpu("a", 20), Gpu("b", 16)), tuple(models))
    plan = solve(problem, time_limit=2.0)
    least = sleepers(problem)
    assert bool(plan.placement) is (least < inf)
    if plan.placement:
        assert plan.lost == pytest.approx(least)
        assert plan.lost_bound <= least * (1 + 1e-9)
        assert check_plan(problem, plan.as_dict()).faults == []
