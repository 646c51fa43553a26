"""Demand whose rates change: as many requests in every part of the time as its curve says."""

from itertools import pairwise
from math import inf, sqrt

import numpy as np
import pytest

from colocate.errors import InputError
from colocate.simulate.demand.kinds import PoissonDemand
from colocate.simulate.demand.moving import MovingDemand
from colocate.simulate.demand.patterns import burst_groups, day_and_night, drifting, hot_sets
from colocate.simulate.demand.rate_curve import RateCurve
from colocate.simulate.demand.reader import StreamReader
from tests.simulate.test_demand import BOUND, THREE, drawn, joined, same

NAMES = ["a", "b", "c", "d", "e", "f"]
CURVE = RateCurve((0.0, 100.0, 150.0, 400.0), (1.0, 4.0, 0.0, 0.5))


def test_every_part_of_the_time_has_the_requests_that_its_factor_says():
    stream = drawn(MovingDemand(curves={"a": CURVE}), seconds=1000.0)
    mine = stream.arrival[stream.model == 0]
    for (begin, end), factor in zip(pairwise([*CURVE.starts, 1000.0]), CURVE.factors, strict=True):
        expected = 20.0 * factor * (end - begin)
        found = np.count_nonzero((mine >= begin) & (mine < end))
        assert abs(found - expected) <= BOUND * sqrt(expected)
    other = drawn(PoissonDemand(), seconds=1000.0)
    assert np.array_equal(stream.arrival[stream.model == 1], other.arrival[other.model == 1])


def test_a_curve_that_ends_with_nobody_asks_no_more():
    stream = drawn(MovingDemand(curves={"a": RateCurve((0.0, 50.0), (1.0, 0.0))}), seconds=500.0)
    assert stream.arrival[stream.model == 0].max() <= 50.0
    assert stream.arrival[stream.model == 1].max() > 400.0


def test_a_flat_curve_changes_nothing():
    flat = MovingDemand(curves={"a": RateCurve((0.0, 30.0), (1.0, 1.0))})
    assert np.allclose(drawn(flat).arrival, drawn(PoissonDemand()).arrival, rtol=1e-12)


@pytest.mark.parametrize("piece", [7, 131_072])
def test_pieces_make_no_difference(piece):
    curves = {"a": CURVE, "b": RateCurve((0.0, 10.0), (0.0, 2.0))}
    whole = drawn(MovingDemand(variation=2.0, curves=curves))
    assert same(whole, drawn(MovingDemand(variation=2.0, curves=curves, piece=piece)))
    reader = StreamReader(MovingDemand(variation=2.0, curves=curves).pieces(THREE, 600.0, 1))
    read = [piece for end in (0.5, 99.0, 99.0, 601.0) for piece in reader.until(end)]
    assert np.array_equal(joined(read).arrival, whole.arrival)
    assert joined(read).seconds == 601.0


@pytest.mark.parametrize(
    ("starts", "factors", "told"),
    [
        ((), (), "as many as starts"),
        ((0.0, 1.0), (1.0,), "as many as starts"),
        ((1.0,), (1.0,), "where time begins"),
        ((0.0, 5.0, 5.0), (1.0, 1.0, 1.0), "more than 5"),
        ((0.0,), (-1.0,), "factors"),
        ((0.0,), (inf,), "factors"),
    ],
)
def test_wrong_curves_are_told(starts, factors, told):
    with pytest.raises(InputError, match=told):
        RateCurve(starts, factors)


def test_a_curve_of_a_model_that_is_not_there_is_told():
    with pytest.raises(InputError, match="curves"):
        drawn(MovingDemand(curves={"nobody": CURVE}))


@pytest.mark.parametrize(
    "curves",
    [
        drifting(NAMES, 3600.0, 5.0),
        day_and_night(NAMES, 3600.0, 1.8),
        hot_sets(NAMES, 3600.0, 600.0, 6.0, 2, seed=3),
        burst_groups(NAMES, 40_000.0, 60.0, 5.0, 2, seed=3),
    ],
)
def test_patterns_ask_about_as_much_as_the_rates_say(curves):
    assert list(curves) == NAMES or sorted(curves) == NAMES
    end = 40_000.0 if len(curves["a"].starts) > 200 else 3600.0
    total = sum(curve.mean(0.0, end) for curve in curves.values()) / len(NAMES)
    assert total == pytest.approx(1.0, rel=0.12)


def test_a_hot_set_is_hot_once_and_then_others_are():
    curves = hot_sets(NAMES, 3600.0, 600.0, 6.0, 2, seed=3)
    factors = np.array([curve.factors for curve in curves.values()])
    hot = factors > 1.0
    assert np.all(hot.sum(axis=0) == 2)
    assert not np.any(hot[:, 1:] & hot[:, :-1])
    assert np.allclose(factors.max(axis=0) / factors.min(axis=0), 6.0)
    assert curves == hot_sets(NAMES, 3600.0, 600.0, 6.0, 2, seed=3)
    assert curves != hot_sets(NAMES, 3600.0, 600.0, 6.0, 2, seed=4)


def test_groups_have_their_bursts_together():
    curves = burst_groups(NAMES, 3600.0, 60.0, 5.0, 2, seed=1)
    assert curves["a"] == curves["c"] == curves["e"]
    assert curves["a"] != curves["b"]
    assert max(curves["a"].factors) == pytest.approx(5.0 * min(curves["a"].factors))


def test_patterns_that_cannot_be_are_told():
    for wrong in (
        lambda: drifting(NAMES, 3600.0, 0.5),
        lambda: day_and_night(NAMES, 3600.0, 2.5),
        lambda: hot_sets(NAMES, 3600.0, 600.0, 3.0, 4, seed=1),
    ):
        with pytest.raises(InputError):
            wrong()
