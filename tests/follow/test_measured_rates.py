"""Rates from what a source tells: what it does not tell is no change."""

from dataclasses import replace
from math import nan

import numpy as np
import pytest

from colocate.follow.measured_rates import measured_rates
from colocate.inputs.observation.estimate import Estimate
from colocate.replan.policy.settings import PolicySettings
from tests.follow.fleets import measured, small_fleet


def rate_of(rates, mean):
    """Return the rate of a model from its rates in bins of ten seconds."""
    (chat,) = (steady := measured(chat=1.0)).models
    told = replace(chat, rates=tuple(rates), rate=Estimate(mean, 0.1))
    (found,) = measured_rates(
        small_fleet(), replace(steady, bin_seconds=10.0, models=(told,)), PolicySettings()
    )
    return found


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("missing", [1, 2, 30])
@pytest.mark.parametrize(("long_ago", "now"), [(1.0, 10.0), (10.0, 1.0)])
def test_bins_of_which_nothing_is_known_are_no_change(seed, missing, long_ago, now):
    means = [long_ago * 10.0] * 600 + [now * 10.0] * 120
    rates = np.random.default_rng(seed).poisson(means) / 10.0
    for begin in (len(rates) - missing, len(rates) - 60):
        told = rates.copy()
        told[begin : begin + missing] = nan
        found = rate_of(told, rates.mean())
        assert found.rate == pytest.approx(now, rel=0.2)
        assert found.seconds >= 500.0


def test_an_odd_count_before_a_gap_does_not_seem_to_last():
    rates = [1.0] * 100 + [12.0, nan, nan]
    assert rate_of(rates, 1.1).seconds == 1030.0


def test_before_the_first_known_bin_the_mean_counts():
    found = rate_of([nan] * 20 + [4.0] * 80, 4.0)
    assert (found.rate, found.seconds) == (4.0, 1000.0)
