"""Exchanges over many windows: the cheapest of a pair, and walks that only ever improve."""

from itertools import combinations
from math import inf

import numpy as np
import pytest

from colocate import Gpu, Model, Problem, verify
from colocate.problem.layout import arrange, empty_layout
from colocate.problem.reduction import reduction_of
from colocate.solver.budget import SolveBudget
from colocate.solver.construct.volume import volume_bound
from colocate.solver.deadline import Deadline
from colocate.solver.improve.exchange import (
    SwapPair,
    best_exchange,
    draw_models,
    sorted_for_exchange,
    walk,
)
from colocate.solver.portfolio.swap_search import SwapSearch
from colocate.solver.progress import ItemProgress

TARGET, POWER = 1.0, 20.0


def week(seed, gpus, models, windows=40):
    rng = np.random.default_rng(seed)
    fleet = [Gpu(f"g{n}", 80) for n in range(gpus)]
    loads = rng.gamma(4.0, size=(models, 1)) * rng.lognormal(0, 0.2, (models, windows))
    sizes = rng.uniform(3, 12, models)
    stated = zip(sizes, loads, strict=True)
    return Problem(fleet, [Model(f"m{n}", s, load=w.tolist()) for n, (s, w) in enumerate(stated)])


def laid_out(problem, homes):
    instance, table = sorted_for_exchange(reduction_of(problem).canonical)
    layout = empty_layout(instance)
    arrange(instance, layout, np.array(homes))
    return instance, layout, table


def cost_of(instance, layout, homes):
    arrange(instance, layout, homes)
    return float(((layout.pressure / TARGET) ** POWER).sum())


def fewer_than_three(models):
    return [chosen for count in range(3) for chosen in combinations(models, count)]


@pytest.mark.parametrize("seed", range(8))
def test_the_exchange_of_a_pair_is_the_cheapest_there_is(seed):
    homes = np.array([0, 0, 0, 0, 1, 1, 1])
    instance, layout, table = laid_out(week(seed, 2, 7), homes)
    first = cost_of(instance, layout, homes)
    pair = SwapPair(
        np.zeros((2, 9), np.int64),
        np.zeros(2, np.int64),
        np.zeros(2, np.int64),
        np.full(4, -1),
    )
    rng = np.random.default_rng(0)
    for gpu in (0, 1):
        draw_models(layout, table, gpu, pair, gpu, rng)
    swap = np.zeros(4, np.int64)
    best_exchange(instance, layout, table, 0, 1, pair, swap, TARGET, POWER, first)
    costs = [first]
    for gone in fewer_than_three(np.flatnonzero(homes == 0)):
        for come in fewer_than_three(np.flatnonzero(homes == 1)):
            after = homes.copy()
            after[list(gone)], after[list(come)] = 1, 0
            costs.append(cost_of(instance, layout, after))
    after = homes.copy()
    for place, model in enumerate(pair.chosen):
        if 0 <= model < len(homes):
            after[model] = 1 if place < 2 else 0
    assert cost_of(instance, layout, after) == pytest.approx(min(costs))


@pytest.mark.parametrize("seed", range(4))
def test_a_walk_finds_a_lower_peak_and_keeps_every_model(seed):
    problem = week(seed, 8, 32)
    instance, layout, table = laid_out(problem, np.arange(32) % 8)
    before, best = layout.pressure.max(), np.full(32, -1)
    bound = volume_bound(instance)
    rng = np.random.default_rng(seed)
    lowest, target = walk(instance, layout, table, rng, bound, inf, 100.0, 300_000, best)
    assert bound <= lowest < before
    assert target < before
    arrange(instance, layout, best)
    assert layout.pressure.max() == lowest


def test_walks_of_one_seed_are_the_same():
    found = []
    for _ in range(2):
        instance, layout, table = laid_out(week(0, 8, 32), np.arange(32) % 8)
        best = np.full(32, -1)
        walk(instance, layout, table, np.random.default_rng(1), 0.0, inf, 100.0, 50_000, best)
        found.append(best.tolist())
    assert found[0] == found[1]


def test_many_models_on_a_gpu_are_drawn_by_chance():
    instance, layout, table = laid_out(week(0, 2, 24), np.arange(24) % 2)
    before, best = layout.pressure.max(), np.full(24, -1)
    lowest, _ = walk(
        instance, layout, table, np.random.default_rng(0), 0.0, inf, 100.0, 100_000, best
    )
    assert lowest <= before


def test_models_that_rules_bind_stay_where_they_are_and_limits_hold():
    stated = week(3, 4, 12)
    models = [model.changed(uses={"busy": 1.0}) for model in stated.models]
    models[0] = models[0].changed(only=["g0"])
    gpus = [Gpu(f"g{n}", 80, limits={"busy": 4.0}) for n in range(4)]
    problem = Problem(gpus, models)
    reduction = reduction_of(problem)
    instance, table = sorted_for_exchange(reduction.canonical)
    assert not table.free[0]
    assert table.free[1:].all()
    layout, best = empty_layout(instance), np.arange(12) % 4
    arrange(instance, layout, best)
    walk(instance, layout, table, np.random.default_rng(0), 0.0, inf, 100.0, 100_000, best)
    assert layout.gpu_of[0] == 0
    assert verify(problem, reduction.placement(best)).valid
    assert np.bincount(layout.gpu_of).max() <= 4


def test_it_leaves_an_infinite_pressure_to_others():
    problem = Problem([Gpu("a", 10), Gpu("b", 10)], [Model("m", 10, load=[1, 2])])
    reduction = reduction_of(problem)
    progress = ItemProgress(reduction, SolveBudget(Deadline()))
    progress.offer(np.zeros(1, np.int64), "start")
    activity = SwapSearch(reduction, progress.deadline, 0)
    activity.step(progress)
    assert activity.exhausted
