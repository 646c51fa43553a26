"""Forecasts by hand, for series whose law is known."""

import numpy as np
import pytest

from colocate.inputs.observation.estimate import BinTally
from colocate.inputs.observation.predictability import DAY, predictability_of

BIN = 300.0
A_DAY = round(DAY / BIN)


def found(rates):
    return predictability_of(BinTally(np.array(rates) * BIN, np.full(len(rates), BIN)), BIN)


def daily(days, noise=0.0, seed=0):
    times = np.arange(days * A_DAY) / A_DAY
    random = np.random.default_rng(seed)
    return 5.0 + 4.0 * np.sin(2 * np.pi * times) + noise * random.normal(size=len(times))


def test_a_day_that_comes_again_is_told_by_yesterday():
    told = found(daily(4))
    assert told.yesterday.value == pytest.approx(1.0)
    assert told.last_week is None
    assert told.follows_hours is True
    assert told.horizon == 3600.0
    assert told.recent == 600.0


def test_a_week_is_told_by_last_week_alone():
    week = np.repeat([1.0, 9.0, 2.0, 8.0, 3.0, 7.0, 4.0], A_DAY)
    told = found(np.tile(week, 3))
    assert told.last_week.value == pytest.approx(1.0)
    assert told.yesterday.value < 0.0
    assert told.follows_hours is True


def test_a_random_walk_is_told_by_the_last_minutes():
    walk = 100.0 + np.cumsum(np.random.default_rng(5).normal(size=10 * A_DAY)) * 0.3
    told = found(walk)
    assert told.yesterday.value < 0.0
    assert told.follows_hours is False
    assert 0.0 < told.error < 0.2


def test_steady_demand_follows_no_hours_though_an_hour_of_yesterday_beats_ten_minutes():
    requests = np.random.default_rng(11).poisson(0.05 * BIN, 6 * A_DAY)
    told = found(requests / BIN)
    assert told.yesterday.value > 0.3  # an hour holds more requests than ten minutes
    assert told.yesterday_over_mean.value < 0.0
    assert told.follows_hours is False


def test_a_day_and_night_with_chance_follows_hours():
    rates = 0.05 * (1.0 + 0.8 * np.sin(2 * np.pi * np.arange(6 * A_DAY) / A_DAY))
    told = found(np.random.default_rng(12).poisson(rates * BIN) / BIN)
    assert told.follows_hours is True


def test_with_less_than_two_days_nothing_is_told_of_yesterday():
    assert found(daily(1)).yesterday is None
    assert found(daily(1)).follows_hours is None
    assert found(daily(2)).yesterday is not None
    assert found(daily(7)).last_week is None
    assert found(daily(8)).last_week is not None


def test_the_skill_is_worked_by_hand():
    # two days of hours: in the second one, each hour is off yesterday by 1 and off the hour
    # before it by 2, so the ratio of squared errors is 1 / 4
    hours = np.array([0.0, 2.0] * 24) + np.repeat([0.0, 1.0], 24) + 5.0
    told = found(np.repeat(hours, round(3600 / BIN)))
    expected = 1.0 - (24 * 1.0) / (23 * 4.0 + 1.0)  # the first hour of day two is off by 1 only
    assert told.yesterday.value == pytest.approx(expected, abs=0.01)


def test_gaps_leave_out_what_needs_them():
    rates = daily(4)
    rates[A_DAY + 5 : 2 * A_DAY - 5] = np.nan
    told = found(rates)
    assert told.yesterday.value == pytest.approx(1.0)
    assert told.yesterday.margin == pytest.approx(0.0)


def test_a_short_history_has_a_short_horizon():
    told = predictability_of(BinTally(np.ones(120), np.ones(120)), 1.0)
    assert told.horizon == told.recent == 10.0
    assert told.error == 0.0
    one = predictability_of(BinTally(np.ones(1), np.ones(1)), 60.0)
    assert (one.error, one.yesterday, one.last_week) == (None, None, None)
    nobody = predictability_of(BinTally(np.zeros(120), np.ones(120)), 1.0)
    assert nobody.error is None


@pytest.mark.parametrize(
    ("rates", "least", "most"),
    [
        (daily(4), 0.99, 1.0),
        (100.0 + np.cumsum(np.random.default_rng(5).normal(size=10 * A_DAY)) * 0.3, -99.0, 0.0),
        (np.random.default_rng(11).poisson(0.05 * BIN, 6 * A_DAY) / BIN, -99.0, 0.0),
        (np.tile(np.repeat([1.0, 9.0, 2.0, 8.0, 3.0, 7.0, 4.0], A_DAY), 3), 0.99, 1.0),
    ],
)
def test_the_skill_of_a_fleet_file_is_above_0_only_where_hours_come_again(rates, least, most):
    told = found(rates)
    assert least <= told.skill <= most
    assert (told.skill > 0.0) == told.follows_hours


def test_a_short_history_has_no_skill():
    assert found(daily(1)).skill is None
