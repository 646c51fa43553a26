"""Engines with shards move as a whole, within a budget."""

from itertools import product

import numpy as np
import pytest

from colocate import Gpu, Model, Problem, verify
from colocate.replan.replan import replan
from colocate.replan.search.item_homes import homes_of
from colocate.replan.search.shard_seats import seats_elsewhere

GPUS = [Gpu(f"{node}{n}", 80.0, node=node) for node in "ab" for n in range(2)]
LARGE = Model("large", 40.0, load=1.0, shards=2)


def fleet(*others):
    return Problem(GPUS, [LARGE, *others])


def test_seats_are_on_one_node_and_never_where_a_replica_is():
    problem = Problem(GPUS, [LARGE, Model("two", 20.0, load=1.0, shards=2, replicas=2)])
    homes = homes_of(problem, {"large": ["a0", "a1"], "two": ["a0", "a1", "b0", "b1"]}, {})
    found = [
        homes.reduction.placement(each) for each in seats_elsewhere(homes, homes.start, np.zeros(4))
    ]
    assert [(set(each["large"]), set(each["two"])) for each in found] == [
        ({"b0", "b1"}, {"a0", "a1", "b0", "b1"})
    ]


def test_many_gpus_of_a_node_are_taken_in_rows_those_with_the_least_to_do_first():
    gpus = [Gpu(f"g{n:02}", 80.0, node="n") for n in range(14)]
    problem = Problem(gpus, [LARGE])
    homes = homes_of(problem, {"large": ["g00", "g01"]}, {})
    values = np.arange(14.0)[::-1]
    found = [
        homes.reduction.placement(each)["large"]
        for each in seats_elsewhere(homes, homes.start, values)
    ]
    assert len(found) == 12
    assert set(found[0]) == {"g13", "g12"}


def test_a_budget_for_one_engine_with_shards_is_used_for_it():
    small = [Model(f"m{n}", 2.0, load=3.0) for n in range(4)]
    old = {"large": ["a0", "a1"], **{model.name: [f"a{n % 2}"] for n, model in enumerate(small)}}
    pinned = [model.changed(only=["a"]) for model in small]
    found = replan(fleet(*pinned), old, budget_gb=40.0, time_limit=0.3)
    assert set(found.point.placement["large"]) == {"b0", "b1"}
    assert found.point.moved_gb == 40.0


@pytest.mark.parametrize("seed", range(12))
def test_no_placement_within_the_budget_is_lower(seed):
    rng = np.random.default_rng(seed)
    others = [
        Model(f"m{n}", float(rng.integers(2, 25)), load=float(rng.integers(1, 9))) for n in range(3)
    ]
    problem = fleet(*others)
    names = [gpu.name for gpu in GPUS]
    placed = [
        {"large": pair, **{f"m{n}": (gpu,) for n, gpu in enumerate(where)}}
        for pair in (("a0", "a1"), ("b0", "b1"))
        for where in product(names, repeat=3)
    ]
    judged = [(verify(problem, places), places) for places in placed]
    rated = [(verdict.pressure, places) for verdict, places in judged if verdict.valid]
    old = rated[int(rng.integers(len(rated)))][1]
    homes = homes_of(problem, old, {})
    budget = float(rng.uniform(0.3, 1.0)) * 90.0
    best = min(value for value, places in rated if homes.moved_gb(places) <= budget)
    found = replan(problem, old, budget_gb=budget, time_limit=0.3)
    assert found.point.value == pytest.approx(best, rel=1e-6)
