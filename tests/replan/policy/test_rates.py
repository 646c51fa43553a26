"""Rates from counts: steady ones are sure, changes are seen soon, and bursts are no changes."""

import numpy as np
import pytest

from colocate.errors import InputError
from colocate.replan.policy.rates import estimated_rates
from colocate.replan.policy.settings import PolicySettings

SETTINGS = PolicySettings(window=900.0, recent=180.0)


def estimate(counts, interval=30.0, settings=SETTINGS):
    (found,) = estimated_rates(["m"], np.array(counts, np.int64)[:, None], interval, settings)
    return found


def poisson(*means, seed=0):
    return np.random.default_rng(seed).poisson(means)


def test_the_rate_of_a_steady_demand_is_the_mean_of_the_window():
    counts = poisson(*[60.0] * 40)
    found = estimate(counts)
    assert found.rate == pytest.approx(counts[-30:].mean() / 30.0)
    assert found.low < found.rate < found.high
    assert found.high - found.low == pytest.approx(2 * 1.5 * (60 / 30) ** 0.5 / 30, rel=0.5)
    assert found.seconds == 1200.0


@pytest.mark.parametrize("seed", range(20))
def test_a_change_that_lasts_is_seen_within_the_recent_time(seed):
    found = estimate(poisson(*[30.0] * 24, *[90.0] * 6, seed=seed))
    assert found.rate == pytest.approx(3.0, rel=0.2)
    assert found.seconds == 180.0
    gone = estimate(poisson(*[90.0] * 24, *[20.0] * 6, seed=seed))
    assert gone.rate == pytest.approx(20 / 30, rel=0.4)


@pytest.mark.parametrize("seed", range(20))
def test_a_single_burst_is_no_change(seed):
    found = estimate(poisson(*[30.0] * 24, *[30.0] * 3, 200.0, *[30.0] * 2, seed=seed))
    assert found.seconds == 900.0
    assert found.variation > 1.5


def test_bursts_make_rates_less_sure():
    steady = estimate([60] * 30)
    bursts = estimate([0, 0, 180] * 10)
    assert steady.rate == pytest.approx(bursts.rate)
    assert bursts.high - bursts.low > 3 * (steady.high - steady.low)


def test_few_counts_and_none_are_told():
    assert estimate(np.empty((0, 1), np.int64)[:, 0]).high == np.inf
    assert estimate([0, 0, 0]).rate == 0.0
    assert estimate([0, 0, 0]).high > 0.0


@pytest.mark.parametrize(
    ("counts", "interval"), [(np.zeros((3, 2), int), 30.0), (np.zeros((3, 1), int), 0.0)]
)
def test_counts_that_do_not_suit_are_told(counts, interval):
    with pytest.raises(InputError, match="counts"):
        estimated_rates(["m"], counts, interval)


@pytest.mark.parametrize(
    "wrong",
    [
        {"commitment": 599.0},
        {"recent": 901.0},
        {"hysteresis": 1.0},
        {"most_moves_per_hour": -1},
        {"window": 0.0},
        {"memory": "none"},
        {"budget_gb": -1.0},
    ],
)
def test_settings_that_cannot_be_are_told(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        PolicySettings(**wrong)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("age", [6, 9, 13, 25])
def test_what_was_before_a_change_does_not_count_however_old_it_is(seed, age):
    found = estimate(poisson(*[30.0] * 40, *[90.0] * age, seed=seed))
    assert found.rate == pytest.approx(3.0, rel=0.2)
    assert found.seconds == pytest.approx(age * 30.0, abs=60.0)
    assert sum(found.phases) == pytest.approx(1200.0, abs=60.0)


def test_phases_tell_how_long_rates_last():
    found = estimate(poisson(*([30.0] * 20 + [120.0] * 10) * 3, *[30.0] * 12))
    assert found.phases == pytest.approx((300, 600, 300, 600, 300, 600), abs=60.0)
    assert len(found.past) * found.interval == 102 * 30.0


@pytest.mark.parametrize("seed", range(20))
def test_a_large_change_is_seen_in_half_a_minute(seed):
    counts = poisson(*[14.0] * 200, *[84.0] * 3, seed=seed)
    found = estimate(counts, interval=10.0, settings=PolicySettings())
    assert found.seconds == 30.0
    assert found.rate == pytest.approx(8.4, rel=0.2)


def test_the_past_is_kept_in_intervals_of_half_a_minute_that_end_now():
    counts = np.arange(100)
    found = estimate(counts, interval=10.0)
    assert found.interval == 30.0
    assert len(found.past) == 33
    assert found.past[-1] == pytest.approx(counts[-3:].mean() / 10.0)
    coarser = estimate(counts, interval=60.0)
    assert (coarser.interval, len(coarser.past)) == (60.0, 100)


def test_queues_belong_to_their_models():
    found = estimated_rates(["a", "b"], np.ones((9, 2), np.int64), 30.0, SETTINGS, [3.0, 4.0])
    assert [each.waiting for each in found] == [3.0, 4.0]
    assert estimate([1] * 9).waiting == 0.0


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("before", "after"), [(14.0, 110.0), (0.0, 60.0)])
def test_a_rise_far_beyond_chance_is_seen_in_ten_seconds(seed, before, after):
    found = estimate(poisson(*[before] * 100, after, seed=seed), 10.0, PolicySettings())
    assert found.rate == pytest.approx(after / 10.0, abs=5 * after**0.5 / 10.0)
    assert found.seconds == 10.0
    assert sum(found.phases) == 1000.0


@pytest.mark.parametrize("seed", range(20))
def test_demand_that_goes_from_one_model_to_another_is_seen_of_both(seed):
    counts = poisson(*[[14.0, 200.0, 50.0]] * 100, [110.0, 14.0, 50.0], seed=seed)
    found = estimated_rates(["a", "b", "c"], counts, 10.0)
    assert [each.seconds for each in found[:2]] == [10.0, 10.0]
    assert found[2].seconds > 300.0
    assert found[1].rate == counts[-1, 1] / 10.0


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    ("usual", "odd"), [(500.0, 250.0), (500.0, 1000.0), (130.0, 0.0), (100.0, 300.0), (20.0, 0.0)]
)
def test_a_first_odd_count_is_no_change_if_it_is_a_fall_or_not_far_off(seed, usual, odd):
    found = estimate([*poisson(*[usual] * 200, seed=seed), odd], 10.0, PolicySettings())
    assert found.seconds > 300.0
    assert found.rate == pytest.approx(usual / 10.0, rel=0.2)


@pytest.mark.parametrize("seed", range(20))
def test_what_bursts_explain_is_seen_no_sooner(seed):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.gamma(0.5, 40.0, 100))
    assert estimate([*counts, 110], 10.0, PolicySettings()).seconds > 10.0


def test_a_spike_in_short_intervals_is_no_change():
    counts = poisson(*[3.0] * 300, *[60.0] * 3)
    assert estimate(counts, 2.0, PolicySettings()).seconds == 606.0


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("usual", "odd"), [(10.0, 110.0), (200.0, 0.0)])
def test_a_single_odd_count_is_no_change_where_the_like_has_passed(seed, usual, odd):
    counts = poisson(*([usual] * 71 + [odd]) * 5, seed=seed)
    other = poisson(*[10.0] * 359, 110.0, seed=seed)  # a rise at the same time
    found, _ = estimated_rates(["m", "n"], np.stack([counts, other], axis=1), 10.0)
    assert found.rate == pytest.approx(usual / 10.0, rel=0.5)
    assert found.seconds > 600.0


@pytest.mark.parametrize("seed", range(20))
def test_what_lasted_before_is_seen_in_ten_seconds_though_something_passed_too(seed):
    phases = [10.0] * 60 + [110.0] * 60
    counts = poisson(*phases * 3, *[10.0] * 60, 110.0, *phases * 2, *[10.0] * 60, 110.0, seed=seed)
    assert estimate(counts, 10.0, PolicySettings()).seconds == 10.0
