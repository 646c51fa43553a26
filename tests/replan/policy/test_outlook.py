"""The demand to come: as now for as long as rates last here, then as in the past."""

from dataclasses import replace

import numpy as np
import pytest

from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.problem import Problem
from colocate.replan.policy.outlook import (
    DrawnDemand,
    expected_demand,
    outlook,
    parts_of,
    settled_lives,
)
from colocate.replan.policy.rates import RateEstimate
from colocate.replan.policy.settings import PolicySettings
from colocate.simulate.engine_life import EngineLife
from colocate.simulate.live.run import simulate_lives
from colocate.simulate.options import SimulateOptions
from tests.simulate.drawn_fleets import KIND, asked, drawn_case

SETTINGS = PolicySettings(horizon=1200.0)


def estimate(name, past, lasted, phases=()):
    """Return a rate that has lasted for some intervals of 30 s, as counts of the past show it."""
    rate = float(np.mean(past[-lasted:]))
    return RateEstimate(name, rate, rate, rate, 1.0, lasted * 30.0, tuple(past), 30.0, phases)


def arrivals(estimates, seed=0, requests=None):
    """Return requests of each model in each minute to come."""
    names = [each.model for each in estimates]
    stated = requests or asked()
    problem = Problem(
        [Gpu("g", 80.0, KIND)], [Model(n, 1.0, load=1.0, requests=stated) for n in names]
    )
    demand = expected_demand(problem, estimates, "rate", SETTINGS, seed)
    counts = np.zeros((len(names), 20), int)
    for piece in demand.pieces:
        for model in range(len(names)):
            mine = piece.arrival[piece.model == model]
            counts[model] += np.histogram(mine, np.arange(0.0, 1201.0, 60.0))[0]
    return counts


def test_a_rate_that_never_changed_goes_on():
    (found,) = arrivals([estimate("a", [5.0] * 20, 20)])
    assert found.mean() == pytest.approx(300.0, rel=0.05)


def test_measured_rates_replace_those_of_all_time_windows():
    stated = replace(asked(), rate=9.0, rates=(1.0, 9.0))
    (found,) = arrivals([estimate("a", [5.0] * 20, 20)], requests=stated)
    assert found.mean() == pytest.approx(300.0, rel=0.05)


def test_a_new_rate_lasts_as_earlier_ones_did_and_then_the_past_comes_again():
    past = [1.0] * 40 + [10.0] * 4
    (short,) = arrivals([estimate("a", past, 4, (240.0,))])
    assert short[:4].mean() == pytest.approx(600.0, rel=0.1)
    assert short[5:17].mean() == pytest.approx(60.0, rel=0.2)
    (unknown,) = arrivals([estimate("a", past, 4)])
    assert unknown.mean() == pytest.approx(600.0, rel=0.05)


def test_a_rate_lasts_at_least_as_long_again_as_it_has_lasted():
    (found,) = arrivals([estimate("a", [1.0] * 40 + [10.0] * 20, 20, (60.0,))])
    assert found[:10].mean() == pytest.approx(600.0, rel=0.1)


def test_a_rate_younger_than_an_interval_goes_on_as_it_was_counted():
    mixed = RateEstimate("a", 12.0, 12.0, 12.0, 1.0, 20.0, (*[2.0] * 19, 9.0), 30.0, (580.0,))
    (found,) = arrivals([mixed])
    assert found[:9].mean() == pytest.approx(720.0, rel=0.05)


def test_bursts_come_together_as_they_did():
    past = ([1.0] * 8 + [12.0] * 2) * 4
    first, second = arrivals([estimate("a", past, 40), estimate("b", past, 40)])
    assert np.corrcoef(first, second)[0, 1] > 0.9
    assert first.max() > 4 * np.median(first)


def test_requests_that_wait_come_first_and_do_not_count():
    promised = asked(step=0.01, prefill=0.02, tpot_slo=0.02, ttft_slo=0.5, slots=1.0)
    problem = Problem([Gpu("g", 80.0, KIND)], [Model("a", 1.0, load=1.0, requests=promised)])
    known = estimate("a", [0.5] * 20, 20)
    lives = settled_lives(problem, {"a": ("g",)})
    found = [
        outlook(expected_demand(problem, [each], "rate", SETTINGS, 0), lives)
        for each in (known, known._replace(waiting=300.0))
    ]
    assert found[0].arrived == pytest.approx(600.0, rel=0.1)
    assert found[1].arrived == pytest.approx(600.0, rel=0.1)
    assert found[1].lost["a"] > found[0].lost["a"] + 10.0


def test_those_who_wait_come_again_also_if_nobody_else_does():
    waiting = estimate("a", [0.0] * 20, 20)._replace(waiting=50.0)
    (found,) = arrivals([waiting])
    assert found[0] == pytest.approx(50, abs=25)
    assert found[1:].sum() == 0


@pytest.mark.parametrize("seed", range(40))
def test_a_replay_in_parts_is_that_of_the_whole(seed):
    problem, placement, stream, _ = drawn_case(seed)
    options = SimulateOptions(cache=("elastic", "blocks")[seed % 2], router="least-requests")
    lives = settled_lives(problem, placement)
    whole = simulate_lives(problem, lives, [stream], options)
    demand = DrawnDemand(problem, (stream,), options)
    for _ in range(2):  # the second time, all parts are known
        found = outlook(demand, lives)
        assert found.arrived == sum(each.arrived for each in whole.models)
        for each in whole.models:
            lost = each.arrived - each.attainment * each.judged
            assert found.lost[each.name] == pytest.approx(lost, abs=1e-9)


def test_parts_share_neither_gpus_nor_models():
    lives = [
        EngineLife("a", ("g0",)),
        EngineLife("b", ("g1",)),
        EngineLife("c", ("g3",)),
        EngineLife("a", ("g2",)),
        EngineLife("d", ("g1", "g2")),
    ]
    found = {frozenset(life.model for life in part) for part in parts_of(lives)}
    assert found == {frozenset("abd"), frozenset("c")}
