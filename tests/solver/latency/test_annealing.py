"""Annealing by latency keeps every rule, finds optima, and takes the time that it is given."""

from math import inf

import numpy as np
import pytest

from colocate import solve
from colocate.problem.gpu import Gpu
from colocate.problem.layout import arrange
from colocate.problem.model import Model
from colocate.problem.problem import Problem
from colocate.problem.reduction import reduction_of
from colocate.problem.verify import verify
from colocate.solver.deadline import Deadline
from colocate.solver.latency.annealing_rounds import (
    FIRST_DRAWS,
    GROWTH,
    LAST,
    SLICES,
    AnnealingRounds,
    RoundPace,
)
from colocate.solver.latency.cost import SATURATED
from colocate.solver.latency.item_moves import rate_all
from colocate.solver.latency.now import empty_state
from colocate.solver.plan import Status
from tests.latency_fleets import best_of_all, latency_fleet, requests_of, small_fleet


def annealed(problem, start, draws, seed=0):
    """The placement that one round of annealing leads to, and the cost of its GPUs before."""
    reduction = reduction_of(problem)
    now = empty_state(reduction)
    arrange(now.instance, now.layout, np.asarray(start, np.int64))
    rate_all(now)
    before = now.costs.cost.copy()
    pace = RoundPace(1)
    pace.draws = draws
    rounds = AnnealingRounds(now, Deadline(), pace, to_the_end=False)
    best = rounds.anneal(now, np.random.default_rng(seed))
    return reduction.placement(best), before


def fleets_with_a_choice():
    """Random fleets with rules, on several GPUs."""
    seeds = range(60)
    return [seed for seed in seeds if len(small_fleet(seed, most=9).gpus) > 1]


@pytest.mark.parametrize("seed", fleets_with_a_choice())
def test_annealing_keeps_every_rule_and_never_ends_higher(seed):
    problem = small_fleet(seed, most=9)
    plan = solve(problem, time_limit=0.2)
    if not plan.placement:
        assert plan.status is Status.INFEASIBLE
        return
    start = reduction_of(problem).indices(plan.placement)
    found, before = annealed(problem, start, 3000, seed)
    verdict = verify(problem, found)
    assert verdict.valid, verdict.faults
    assert verdict.ratio <= before.max() * (1 + 1e-9) or before.max() >= SATURATED


@pytest.mark.parametrize("seed", range(4))
def test_annealing_finds_the_optimum_of_small_fleets(seed):
    problem = latency_fleet(6, 3, seed)
    found, before = annealed(problem, np.zeros(6, np.int64), 20_000, seed)
    _, best = best_of_all(problem)
    assert before.max() > best * 1.2
    assert verify(problem, found).ratio == pytest.approx(best, rel=1e-6)


def test_shard_groups_change_nodes():
    """The slow node is no place for the busy engine, which began there."""
    gpus = tuple(
        Gpu(f"{node}{n}", 80.0, kind=kind, node=node)
        for node, kind in (("a", "h100"), ("b", "h200"))
        for n in range(2)
    )
    split = requests_of(7e9, 2.0, 500.0, 200.0, 0.02, 1.0, binding=False, request_gb=0.05)
    problem = Problem(
        gpus, (Model("m", 8.0, load=1.0, shards=2, requests=split),), objective="latency"
    )
    found, _ = annealed(problem, [0, 1], 200)
    assert set(found["m"]) == {"b0", "b1"}


def test_rounds_grow_and_the_last_one_fills_the_time():
    pace = RoundPace(10)
    assert not pace.is_last(0.001)
    pace.learn(500, 0.05)
    assert pace.draws == 10 * FIRST_DRAWS * GROWTH
    seconds = 1e-4 * pace.draws * LAST
    assert pace.is_last(seconds * 0.99)
    assert not pace.is_last(seconds * 1.01)


def test_a_last_round_ends_by_the_clock_and_others_by_their_draws():
    now = empty_state(reduction_of(latency_fleet(6, 3)))
    pace = RoundPace(6)
    clock = Deadline(inf)
    assert list(AnnealingRounds(now, clock, pace, to_the_end=True)._slices()) == [
        (0.0, 1.0, 6 * FIRST_DRAWS)
    ]
    pace.learn(100, 1.0)
    ended = AnnealingRounds(now, Deadline(0.05), pace, to_the_end=True)
    slices = list(ended._slices())
    assert slices[0][0] == 0.0
    assert len(slices) > SLICES, "so few draws take no time, and the clock decides"
    assert [first for first, _, _ in slices] == sorted(first for first, _, _ in slices)
    assert all(first < last <= 1.0 for first, last, _ in slices)


@pytest.mark.parametrize("ended", ["over", "stopped"])
def test_a_round_that_comes_too_late_changes_nothing(ended):
    reduction = reduction_of(latency_fleet(6, 3))
    now, clock, pace = empty_state(reduction), Deadline(10.0), RoundPace(6)
    pace.learn(100, 1.0)
    late = clock.part(0.0) if ended == "over" else clock
    if ended == "stopped":
        clock.stop()
    arrange(now.instance, now.layout, np.zeros(6, np.int64))
    rate_all(now)
    rounds = AnnealingRounds(now, late, pace, to_the_end=True)
    assert rounds.anneal(now, np.random.default_rng(0)).tolist() == [0] * 6
    assert pace.draws == 6 * FIRST_DRAWS * GROWTH
