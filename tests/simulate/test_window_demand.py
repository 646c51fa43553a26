"""Replays of fleets with time windows: requests follow the windows, without headroom."""

import numpy as np
import pytest

from colocate import Gpu, Model, Problem
from colocate.problem.requests import EngineSpeed, Requests
from colocate.problem.window import Window
from colocate.simulate.demand.kinds import DayDemand, PoissonDemand
from colocate.simulate.demand.window_clock import WindowClock

SPEED = EngineSpeed(0.005, 1e-5, 0.01, 0.008, 32)


def problem(headroom=0.0):
    factor = 1.0 + headroom
    rates = (0.0, 8.0 * factor, 2.0 * factor)
    asked = Requests(max(rates), 50.0, (("H", SPEED),), 0.05, prompt_tokens=100.0, rates=rates)
    steady = Requests(3.0 * factor, 50.0, (("H", SPEED),), 0.05, prompt_tokens=100.0)
    models = [Model("moves", 1, load=1, requests=asked), Model("stays", 1, load=1, requests=steady)]
    windows = (Window("night", 1), Window("day", 2), Window("evening", 1))
    return Problem([Gpu("g", 80, "H")], models, stated_windows=windows, headroom=headroom)


def arrivals(demand, of, seconds):
    pieces = list(demand.pieces(of, seconds, 3))
    model = np.concatenate([piece.model for piece in pieces])
    times = np.concatenate([piece.arrival for piece in pieces])
    return times[model == 0], times[model == 1]


@pytest.mark.parametrize("headroom", [0.0, 0.5])
def test_requests_go_through_all_windows_by_their_weights(headroom):
    moving, steady = arrivals(PoissonDemand(), problem(headroom), 4000.0)
    counts = [
        ((moving >= a) & (moving < b)).sum() for a, b in ((0, 1000), (1000, 3000), (3000, 4000))
    ]
    assert counts[0] == 0
    assert counts[1] == pytest.approx(16_000, rel=0.05)
    assert counts[2] == pytest.approx(2_000, rel=0.1)
    assert len(steady) == pytest.approx(12_000, rel=0.05)


def test_a_day_curve_takes_the_mean_of_the_windows():
    moving, _ = arrivals(DayDemand(), problem(), 86_400.0)
    assert len(moving) == pytest.approx(86_400 * 4.5, rel=0.02)


def test_a_clock_maps_steady_time_to_the_windows():
    clock = WindowClock((0.0, 1.0, 0.5), (10.0, 20.0, 10.0))
    assert clock.mean == pytest.approx(25 / 40)
    assert clock.times(np.array([5.0, 22.5])).tolist() == pytest.approx([15.0, 35.0])
    assert clock.times(np.array([26.0])) > 40.0
