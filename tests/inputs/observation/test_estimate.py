"""Figures and their uncertainty: worked by hand, and against many random repetitions."""

from math import isclose, nan

import numpy as np
import pytest

from colocate.inputs.observation.bins import coarse, coarse_rates
from colocate.inputs.observation.burstiness import burstiness_of, variation_of
from colocate.inputs.observation.estimate import BinTally, Estimate, rate_estimate, ratio_estimate


def tally(amount, per):
    return BinTally(np.array(amount, float), np.array(per, float))


def test_a_ratio_is_that_of_the_sums_and_not_the_mean_of_ratios():
    found = ratio_estimate(tally([10, 0, 20], [1, 1, 8]))
    assert found == Estimate(3.0, None)  # too few bins to know more


def test_the_margin_is_worked_by_hand():
    amounts, pers = [1, 2, 3, 4, 5], [1, 1, 1, 1, 1]
    found = ratio_estimate(tally(amounts, pers))
    # variance of the mean: (4 + 1 + 0 + 1 + 4) / 4 / 5, and t for 4 degrees of freedom
    assert found.value == 3.0
    assert found.margin == pytest.approx(2.77645 * (10 / 4 / 5) ** 0.5)
    assert found.low == 3.0 - found.margin
    assert found.high == 3.0 + found.margin


def test_unknown_bins_do_not_count():
    found = ratio_estimate(tally([1, nan, 1, 5], [1, 1, 1, nan]))
    assert found.value == 1.0
    assert ratio_estimate(tally([nan], [nan])) is None
    assert ratio_estimate(tally([], [])) is None
    assert ratio_estimate(tally([0, 0], [0, 0])) is None


def test_no_request_is_a_rate_of_zero_with_the_rule_of_three():
    found = rate_estimate(tally([0] * 100, [1] * 100))
    assert found.value == 0.0
    assert found.margin == pytest.approx(0.03)


def test_a_rate_is_never_surer_than_counting():
    found = rate_estimate(tally([4] * 100, [1] * 100))  # as even as no requests come
    assert found.value == 4.0
    assert found.margin == pytest.approx(1.959964 * 20 / 100)


@pytest.mark.parametrize("burst", [1, 8])
def test_nineteen_of_twenty_intervals_hold_the_rate_also_in_bursts(burst):
    random = np.random.default_rng(7)
    hits = 0
    for _ in range(400):
        counts = random.poisson(2.0 / burst, 600) * burst
        found = rate_estimate(tally(counts, [1.0] * 600))
        hits += found.low <= 2.0 <= found.high
    assert 0.92 <= hits / 400 <= 0.99


def test_dispersion_is_one_for_independent_requests_and_the_burst_for_bursts():
    random = np.random.default_rng(3)
    calm = burstiness_of(BinTally(random.poisson(5.0, 5000).astype(float), np.ones(5000)))
    wild = burstiness_of(BinTally(6.0 * random.poisson(5.0, 5000), np.ones(5000)))
    assert calm.dispersion == pytest.approx(1.0, rel=0.1)
    assert wild.dispersion == pytest.approx(6.0, rel=0.1)
    assert wild.peak >= 6 * 10


def test_too_few_requests_tell_nothing_of_bursts():
    found = burstiness_of(tally([1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0], [1] * 12))
    assert found.dispersion is None
    assert found.peak == 3.0
    assert burstiness_of(tally([nan], [nan])).peak == 0.0


def test_variation_of_equal_gaps_is_zero_and_of_random_ones_is_one():
    assert variation_of(100, 200.0, 400.0) == 0.0
    gaps = np.random.default_rng(1).exponential(2.0, 20_000)
    assert variation_of(len(gaps), gaps.sum(), (gaps**2).sum()) == pytest.approx(1.0, rel=0.03)
    assert variation_of(3, 3.0, 3.0) is None


def test_coarse_bins_add_up_and_are_unknown_if_most_is():
    amounts = np.ones(240)
    amounts[0:2] = nan
    found = coarse(BinTally(amounts, np.ones(240)))
    assert len(found.amount) == 120
    assert np.isnan(found.amount[0])
    assert found.amount[1] == 2.0
    rates = coarse_rates(np.array([amounts, np.arange(240.0)]))
    assert np.isnan(rates[0, 0])
    assert isclose(rates[1, 1], 2.5)
