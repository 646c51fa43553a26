"""Guesses at what GPUs cost: right for engines alone, and hardly ever too high for any group."""

import numpy as np
import pytest

from colocate.problem.gpu import Gpu
from colocate.problem.kernel import entry_kernel
from colocate.problem.layout import NOWHERE, arrange
from colocate.problem.model import Model
from colocate.problem.problem import Problem
from colocate.problem.reduction import reduction_of
from colocate.solver.latency.cost import SATURATED
from colocate.solver.latency.guess import draw_lines, guessed, no_lines
from colocate.solver.latency.item_moves import rate_all
from colocate.solver.latency.now import empty_state
from tests.latency_fleets import latency_fleet, requests_of


@entry_kernel
def _guess_all(now, lines, gone, found):
    for gpu in range(found.shape[0]):
        here = gone if gone != NOWHERE and now.layout.gpu_of[gone] == gpu else NOWHERE
        found[gpu] = guessed(now, lines, gpu, here, NOWHERE)


def guesses(problem, gpu_of, sought, gone=NOWHERE):
    """What every GPU costs, and what is guessed for it, with one item gone."""
    now = empty_state(reduction_of(problem))
    lines, found = no_lines(now.table), np.zeros(len(problem.gpus))
    draw_lines(now.table, sought, lines)
    arrange(now.instance, now.layout, np.asarray(gpu_of, np.int64))
    rate_all(now)
    _guess_all(now, lines, gone, found)
    return now.costs.cost.copy(), found


@pytest.mark.parametrize("sharing", ["slices", "mps"])
@pytest.mark.parametrize("seed", range(5))
def test_guesses_are_close_below_the_ratio_that_is_looked_for(seed, sharing):
    problem = latency_fleet(60, 20, seed, load=0.5, sharing=sharing)
    rng = np.random.default_rng(seed)
    rated = [guesses(problem, rng.integers(0, 20, 60), 1.0) for _ in range(20)]
    costs, found = (np.concatenate(each) for each in zip(*rated, strict=True))
    shares, near = found[costs > 0.0] / costs[costs > 0.0], costs[costs > 0.0]
    assert (near < 1.0).sum() > 100
    assert np.quantile(shares[near < 1.0], 0.98) < 1.03
    assert np.quantile(shares[near < 1.0], 0.1) > 0.75
    assert np.median(shares[near < 1.0]) > 0.9


def test_an_engine_alone_is_guessed_exactly_and_an_empty_gpu_costs_nothing():
    problem = latency_fleet(3, 3, 0)
    cost, guess = guesses(problem, [0, 1, 2], 1.0)
    assert guess == pytest.approx(cost, rel=1e-6)
    _, without = guesses(problem, [0, 1, 2], 1.0, gone=1)
    assert without[1] == 0.0


def test_an_engine_that_never_keeps_up_is_guessed_to_be_infinitely_bad():
    busy = requests_of(7e9, 1e4, 2000.0, 300.0, 0.03, 1.0, binding=False, request_gb=0.05)
    calm = requests_of(1e9, 0.1, 100.0, 50.0, 0.03, 1.0, binding=False, request_gb=0.05)
    models = (
        Model("busy", 16.0, load=1.0, requests=busy),
        Model("calm", 4.0, load=1.0, requests=calm),
    )
    gpus = tuple(Gpu(f"g{n}", 80.0, kind="h100") for n in range(2))
    cost, guess = guesses(Problem(gpus, models, objective="latency"), [0, 1], 0.5)
    assert cost[0] >= SATURATED
    assert guess[0] == np.inf
    assert guess[1] == pytest.approx(cost[1], rel=1e-6)
