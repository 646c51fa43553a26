"""Replanning: against brute force, within budgets and targets, with GPUs that come and go."""

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate import Gpu, Model, Problem, solve, verify
from colocate.errors import InfeasibleError, InputError, UnknownNameError
from colocate.problem.layout import NOWHERE
from colocate.replan.bounds.eviction import evictions_of
from colocate.replan.bounds.exhaustion import search_below
from colocate.replan.checker.budget_check import exceeds_budget, least_moved_gb, none_is_below
from colocate.replan.replan import replan
from colocate.replan.replanning import BudgetProof
from colocate.replan.search.group_values import GroupValues
from colocate.replan.search.item_homes import homes_of
from colocate.replan.search.nearness import renamed_to_stay
from tests.campaign import campaign
from tests.latency_problems import random_problem
from tests.simulate.drawn_fleets import KIND, asked

GPUS = tuple(Gpu(name, 80, node=f"n{name}") for name in "abc")


def small(seed, models=5, gpus=3):
    """A small fleet whose loads have changed, and a valid placement."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 30, models)
    fleet = tuple(
        Model(f"m{n}", float(size), load=float(rng.integers(1, 9))) for n, size in enumerate(sizes)
    )
    problem = Problem(GPUS[:gpus], fleet)
    while True:
        old = {m.name: [str(rng.choice([g.name for g in problem.gpus]))] for m in fleet}
        if verify(problem, old).valid and verify(problem, old).pressure < np.inf:
            return problem, old


def all_placements(problem, old):
    """What every valid placement comes to, and what it moves."""
    for gpus in product([gpu.name for gpu in problem.gpus], repeat=len(problem.models)):
        placement = {m.name: [g] for m, g in zip(problem.models, gpus, strict=True)}
        verdict = verify(problem, placement)
        if verdict.valid:
            moved = sum(m.size_gb for m in problem.models if placement[m.name] != old[m.name])
            yield verdict.pressure, moved


def frontier(problem, old):
    best, found = float("inf"), []
    for value, gb in sorted(all_placements(problem, old), key=lambda each: (each[1], each[0])):
        if value < best * (1 - 1e-9):
            found.append((value, gb))
            best = value
    return found


@campaign(60)
@given(st.integers(0, 10**9))
def test_small_frontiers_are_exact_and_proven(seed):
    problem, old = small(seed)
    found = replan(problem, old, points=100, time_limit=1.0)
    expected = frontier(problem, old)
    points = [(point.value, point.moved_gb) for point in found.points]
    assert np.shape(points) == np.shape(expected)
    assert np.allclose(points, expected)
    assert all(point.proven for point in found.points)
    assert all(verify(problem, point.placement).valid for point in found.points)


@campaign(100)
@given(st.integers(0, 10**9))
def test_no_placement_is_below_what_evictions_say(seed):
    problem, old = small(seed, models=4)
    homes = homes_of(problem, old, {})
    evictions = evictions_of(homes, GroupValues(homes.reduction), 0.0)
    for value, gb in all_placements(problem, old):
        assert value >= evictions.least_value(gb) * (1 - 1e-9)
        assert gb >= evictions.least_gb(value * (1 + 1e-9))


@campaign(30)
@given(st.integers(0, 10**9))
def test_latencies_move_as_little_as_they_must(seed):
    problem = random_problem(seed)
    best = solve(problem, time_limit=0.2)
    if not best.placement or problem.sleepers or problem.open_replicas:
        return
    names = [gpu.name for gpu in problem.gpus]
    turned = dict(zip(names, names[1:] + names[:1], strict=True))
    old = {model: [turned[gpu] for gpu in gpus] for model, gpus in best.placement.items()}
    found = replan(problem, old, time_limit=0.3)
    values = [point.value for point in found.points]
    assert values == sorted(values, reverse=True)
    for point in found.points:
        assert verify(problem, point.placement).valid
        assert point.bound <= point.value


def test_a_budget_and_a_target_choose_points():
    problem, old = small(1)
    expected = frontier(problem, old)
    value, gb = expected[1]
    within = replan(problem, old, budget_gb=gb).point
    assert (within.value, within.moved_gb) == pytest.approx((value, gb))
    assert within.budget_gb == gb
    reached = replan(problem, old, target=value)
    assert reached.point.moved_gb == pytest.approx(gb)
    assert reached.least_gb <= gb


def test_out_of_reach_is_proven():
    problem, old = small(1)
    with pytest.raises(InfeasibleError, match=r"no placement reaches 0\.001"):
        replan(problem, old, target=0.001)
    lost = Problem(GPUS[1:], problem.models)
    alone = {m.name: ["a"] if n == 0 else ["b"] for n, m in enumerate(problem.models)}
    with pytest.raises(InfeasibleError, match="must be loaded, the budget is 1 GB"):
        replan(lost, alone, budget_gb=1)
    tiny = Problem((Gpu("a", 10),), (Model("m", 20, load=1),))
    with pytest.raises(InfeasibleError):
        replan(tiny, {"m": ["b"]})


def test_gpus_that_are_lost_force_their_models_to_move():
    problem, old = small(2)
    lost = [m for m in problem.models if old[m.name] == ["a"]]
    found = replan(problem, old, without=["na"], time_limit=0.5)
    assert found.forced_gb == sum(model.size_gb for model in lost)
    assert found.stay is None
    assert len(found.broken) == len(lost)
    assert all("a" not in gpus for gpus in found.placement.values())
    drained = replan(problem, old, drain=["a"], time_limit=0.5)
    assert drained.draining == ("a",)
    assert all("a" not in gpus for gpus in drained.placement.values())


def test_models_that_may_not_move_stay():
    problem, old = small(3)
    found = replan(problem, old, keep=["m0", "m1"], time_limit=0.5)
    assert all(p.placement[name] == tuple(old[name]) for p in found.points for name in ("m0", "m1"))


def test_new_models_are_placed_and_replicas_trade_places_for_nothing():
    models = (Model("m", 10, load=4, replicas=2), Model("n", 10, load=1), Model("new", 5, load=1))
    old = {"m": ["a", "b"], "n": ["c"]}
    found = replan(Problem(GPUS, models), old, time_limit=0.5)
    assert found.forced_gb == 5
    assert found.points[0].moved_gb == 5
    assert found.points[0].placement["m"] == ("a", "b")


def test_shards_count_as_moved_together():
    gpus = tuple(Gpu(name, 80, node="n") for name in "abcd")
    problem = Problem(gpus, (Model("m", 40, load=4, shards=2), Model("n", 10, load=1)))
    homes = homes_of(problem, {"m": ["a", "b"], "n": ["c"]}, {"m": 30.0})
    assert homes.moved_gb({"m": ["a", "c"], "n": ["c"]}) == 30.0
    assert homes.moved_gb({"m": ["b", "a"], "n": ["c"]}) == 0.0
    found = replan(problem, {"m": ["a", "x"], "n": ["c"]}, time_limit=0.5, weights_gb={"m": 30.0})
    assert found.forced_gb == 30.0
    assert found.points[0].moved_gb == 30.0


def test_identical_gpus_trade_names():
    problem, old = small(4)
    homes = homes_of(problem, old, {})
    turned = (homes.start + 1) % 3
    assert (renamed_to_stay(homes, turned) == homes.start).all()


def test_the_checker_refuses_bounds_that_are_too_high():
    problem, old = small(1)
    weights = {model.name: model.size_gb for model in problem.models}
    (value, gb), *_ = frontier(problem, old)[1:]
    assert none_is_below(problem, old, weights, value, gb)
    assert not none_is_below(problem, old, weights, value * 1.01, gb)
    assert none_is_below(problem, old, weights, value * 1.01, gb * 0.99)
    least = least_moved_gb(problem, old, weights, value)
    assert not exceeds_budget(least, 1e9)
    assert least_moved_gb(problem, {}, weights, 1e9) == sum(Fraction(w) for w in weights.values())


def test_an_exhaustive_search_says_when_it_found_nothing():
    problem, old = small(1)
    homes = homes_of(problem, old, {})
    assert NOWHERE not in homes.start
    nothing = search_below(homes, GroupValues(homes.reduction), 1e-6, 1e9)
    assert nothing.gpu_of is None
    assert nothing.complete


def test_bad_input_is_refused():
    problem, old = small(1)
    for fields, told in (
        ({"budget_gb": -1}, "budget_gb=-1"),
        ({"budget_gb": 1, "target": 1}, "both given"),
        ({"without": ["a", "b", "c"]}, "no GPU is left"),
    ):
        with pytest.raises(InputError, match=told):
            replan(problem, old, **fields)
    with pytest.raises(InputError, match="has no placement"):
        replan(problem, {})
    with pytest.raises(UnknownNameError, match="'z'"):
        replan(problem, old, drain=["z"])
    with pytest.raises(UnknownNameError, match="'z'"):
        replan(problem, old, keep=["z"])
    with pytest.raises(InputError, match="may not move"):
        replan(problem, {**old, "m0": ["gone"]}, keep=["m0"])


def test_a_large_fleet_improves_at_once_and_says_how_far_it_may_be_from_the_best():
    rng = np.random.default_rng(0)
    gpus = tuple(Gpu(f"g{n}", 80) for n in range(16))
    sizes, loads = rng.uniform(2, 25, 64), rng.uniform(0.1, 3, 64)
    first = Problem(gpus, tuple(Model(f"m{n}", s, load=1) for n, s in enumerate(sizes)))
    old = solve(first, time_limit=0.2, gap=0.05).placement
    now = Problem(gpus, tuple(Model(f"m{n}", s, load=loads[n]) for n, s in enumerate(sizes)))
    found = replan(now, old, budget_gb=60, time_limit=1.0)
    assert found.stay is not None
    assert found.stay.proof is BudgetProof.EVICTION
    assert found.point.value < 0.9 * found.stay.value
    assert found.point.moved_gb <= 60
    assert 0 < found.point.bound <= found.point.value
    assert found.first_seconds is not None


def test_no_point_moves_more_for_what_differs_by_rounding_alone():
    requests = asked(tpot_slo=0.02, ttft_slo=0.5, slots=4.0)
    gpus = [Gpu(f"g{n}", gb, KIND, node=f"n{n // 2}") for n, gb in enumerate((24, 24, 40, 40))]
    sizes = {"m0": (9, {}), "m1": (18, {"shards": 2}), "m2": (5, {"replicas": 2})}
    sizes["m3"] = (18, {"replicas": 2})
    models = [Model(n, gb, load=1, requests=requests, **kw) for n, (gb, kw) in sizes.items()]
    old = {"m0": ("g1",), "m1": ("g2", "g3"), "m2": ("g3", "g1"), "m3": ("g3", "g0")}
    found = replan(Problem(gpus, models, objective="latency"), old, time_limit=0.3)
    for one, next_one in pairwise(found.points):
        assert next_one.value < one.value * (1 - 1e-9)
        assert next_one.moved_gb > one.moved_gb
