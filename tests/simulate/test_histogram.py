"""Percentiles of latencies that are counted in intervals."""

import numpy as np
import pytest

from colocate.simulate.histogram import BINS, bin_of, quantile


def counted(values):
    return np.bincount([bin_of(value) for value in values], minlength=BINS).astype(np.int64)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.95, 0.99, 1.0])
@pytest.mark.parametrize("count", [1, 2, 17, 5000])
def test_percentiles_are_within_one_in_a_hundred(share, count):
    values = np.random.default_rng(count).lognormal(-3.0, 1.0, count)
    found = quantile(counted(values), share, values.max())
    assert found == pytest.approx(np.quantile(values, share), rel=0.0101)


def test_nothing_has_no_percentiles_and_extremes_have_a_place():
    assert quantile(counted([]), 0.5, 0.0) == 0.0
    assert bin_of(0.0) == bin_of(1e-9) == 0
    assert bin_of(1e300) == BINS - 1
    assert bin_of(14 * 86400.0) < BINS - 1
