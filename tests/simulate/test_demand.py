"""Demand has the means and variances that theory says, and is the same however it is cut."""

import tracemalloc
from itertools import islice
from math import inf, sqrt
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate import Gpu, Model, Problem
from colocate.errors import InputError
from colocate.problem.requests import EngineSpeed, Requests
from colocate.simulate.demand.day_curve import DAY, DayCurve
from colocate.simulate.demand.kinds import BurstDemand, DayDemand, PoissonDemand, TraceDemand
from colocate.simulate.demand.lengths import LengthDistribution
from colocate.simulate.demand.requests import MOST_TOKENS, RequestStream
from tests.campaign import campaign

ENGINES = (("H", EngineSpeed(0.01, 0.0, 0.01, 0.01, 1.0)),)
HOURLY = tuple(1.0 + 0.5 * (hour % 3) for hour in range(24))
BOUND = 4.5
"""Standard errors: a right mean is that far off once in 150,000 fixed seeds."""


def problem(*asked, **more):
    """Return models with rates, mean outputs and mean prompts."""
    models = [
        Model(name, 1.0, 1.0, 1.0, requests=Requests(rate, output, ENGINES, prompt_tokens=prompt))
        for name, rate, prompt, output in asked
    ]
    return Problem([Gpu("g", 80.0, "H")], models, **more)


THREE = problem(("a", 20.0, 500.0, 200.0), ("b", 5.0, 100.0, 0.0), ("c", 0.2, 30.5, 1.0))
NOTHING = problem(("a", 0.0, 500.0, 200.0))


def joined(pieces):
    """Return one stream of several pieces, which must follow each other."""
    pieces = list(pieces)
    before = 0.0
    for piece in pieces:
        assert not len(piece) or piece.arrival[0] >= before
        before = piece.seconds
    fields = ("arrival", "model", "prompt", "output")
    arrays = [np.concatenate([getattr(piece, field) for piece in pieces]) for field in fields]
    return RequestStream(*arrays, pieces[-1].seconds)


def drawn(demand, given=THREE, seconds=600.0, seed=1):
    return joined(demand.pieces(given, seconds, seed))


def same(one, other):
    fields = ("arrival", "model", "prompt", "output", "seconds")
    return all(np.array_equal(getattr(one, field), getattr(other, field)) for field in fields)


DEMANDS = (
    PoissonDemand(),
    BurstDemand(LengthDistribution("log-normal", 2.0), variation=4.0),
    BurstDemand(variation=0.2),
    DayDemand(curve=DayCurve(HOURLY)),
    DayDemand(curve=DayCurve((0.0, 3.0, 0.0, 1.0), 20.5), variation=2.0),
)


class TestRequestStream:
    def test_it_keeps_what_it_is_given_and_cannot_be_written_to(self):
        stream = RequestStream([0, 1.5, 1.5], [0, 1, 0], [5.0, 6.0, 7.0], [0, 1, 2])
        assert (len(stream), stream.seconds) == (3, 1.5)
        assert [stream.arrival.dtype, stream.prompt.dtype] == [np.float64, np.int32]
        with pytest.raises(ValueError, match="read-only"):
            stream.arrival[0] = 3.0

    @pytest.mark.parametrize(
        ("wrong", "told"),
        [
            ({"arrival": [0.0, 2.0, 1.0]}, "arrival[2]=1.0, must be in order of time"),
            ({"arrival": [-1.0, 2.0, 3.0]}, "arrival[0]=-1.0, must be a finite number >= 0"),
            ({"arrival": [0.0, 2.0, inf]}, "arrival[2]=inf, must be a finite number >= 0"),
            ({"arrival": [0.0, np.nan, 3.0]}, "arrival[1]=nan, must be in order of time"),
            ({"arrival": [np.nan] * 3}, "arrival[1]=nan, must be in order of time"),
            ({"arrival": ["now"] * 3}, "arrival has the wrong form, must be one row of numbers"),
            ({"arrival": [[1.0, 2.0, 3.0]]}, "arrival has the wrong form"),
            ({"model": [0, -1, 0]}, "model[1]=-1, must be a whole number from 0 to"),
            ({"model": [0, 1]}, "model=2, must be as long as arrival: 3 requests"),
            ({"prompt": [1, 0, 1]}, "prompt[1]=0, must be a whole number from 1 to 10000000"),
            ({"prompt": [1, 1, 2.5]}, "prompt[2]=2.5, must be a whole number"),
            ({"output": [1, 2**40, 1]}, "output[1]=1099511627776, must be a whole number"),
            ({"output": [np.nan, 1, 1]}, "output[0]=nan, must be a whole number"),
            ({"seconds": 2.9}, "seconds=2.9, must be a finite number >= 3.0"),
            ({"seconds": inf}, "seconds=inf, must be a finite number"),
        ],
    )
    def test_it_refuses(self, wrong, told):
        rows = {name: [1, 2, 3] for name in ("arrival", "model", "prompt", "output")}
        with pytest.raises(InputError) as caught:
            RequestStream(**rows | wrong)
        assert told in str(caught.value)

    def test_one_without_requests_is_one_piece(self):
        nothing = RequestStream([], [], [], [], 5.0)
        assert [(len(piece), piece.seconds) for piece in nothing.cut(3)] == [(0, 5.0)]


class TestLengths:
    @pytest.mark.parametrize("mean", [1.0, 1.4, 8.0, 261.3, 9000.0])
    @pytest.mark.parametrize("seed", range(3))
    def test_exponential_ones_have_mean_and_variance_of_a_geometric_distribution(self, mean, seed):
        number = 200_000
        lengths = LengthDistribution("exponential").draw(np.random.default_rng(seed), mean, number)
        deviation = sqrt(mean * (mean - 1.0))
        assert abs(lengths.mean() - mean) <= BOUND * deviation / sqrt(number)
        assert lengths.std() == pytest.approx(deviation, rel=0.03)
        assert lengths.min() >= 1

    @pytest.mark.parametrize("spread", [0.3, 1.0, 2.0])
    def test_log_normal_ones_have_the_mean_and_the_spread_that_are_stated(self, spread):
        number, mean = 1_000_000, 700.0
        lengths = LengthDistribution("log-normal", spread).draw(
            np.random.default_rng(5), mean, number
        )
        assert abs(lengths.mean() - mean) <= BOUND * spread * mean / sqrt(number) + 0.5
        assert lengths.std() / lengths.mean() == pytest.approx(spread, rel=0.05)
        assert np.log(lengths).std() == pytest.approx(sqrt(np.log1p(spread**2)), rel=0.02)

    def test_fixed_ones_are_the_mean_and_a_model_that_makes_no_tokens_makes_none(self):
        rng = np.random.default_rng(0)
        assert LengthDistribution("fixed").draw(rng, 96.4, 3).tolist() == [96, 96, 96]
        for shape in ("fixed", "exponential", "log-normal"):
            lengths = LengthDistribution(shape)
            assert lengths.draw(rng, 0.0, 2).tolist() == [0, 0]
            assert lengths.draw(rng, 0.3, 2).tolist() == [1, 1]
            assert lengths.draw(rng, 1e12, 9).max() <= MOST_TOKENS

    def test_it_refuses_shapes_and_spreads_that_mean_nothing(self):
        with pytest.raises(InputError, match=r"lengths='normal' is not known"):
            LengthDistribution("normal")
        with pytest.raises(InputError, match=r"spread=0.0, must be a finite number > 0"):
            LengthDistribution("log-normal", 0.0)


class TestArrivals:
    @pytest.mark.parametrize("demand", DEMANDS[:3], ids=str)
    def test_counts_are_as_many_as_the_rates_say_and_vary_as_theory_has_it(self, demand):
        rate, seconds, runs = 20.0, 200.0, 400
        one = problem(("a", rate, 10.0, 10.0))
        counts = [len(drawn(demand, one, seconds, seed)) for seed in range(runs)]
        variance = getattr(demand, "variation", 1.0) ** 2 * rate * seconds
        assert abs(np.mean(counts) - rate * seconds) <= BOUND * sqrt(variance / runs)
        assert np.var(counts) == pytest.approx(variance, rel=0.35)

    @pytest.mark.parametrize("variation", [0.2, 1.0, 4.0])
    def test_gaps_have_the_mean_and_the_variation_that_are_stated(self, variation):
        one = problem(("a", 50.0, 10.0, 10.0))
        gaps = np.diff(drawn(BurstDemand(variation=variation), one, 4000.0).arrival)
        assert abs(gaps.mean() * 50.0 - 1.0) <= BOUND * variation / sqrt(len(gaps))
        assert gaps.std() / gaps.mean() == pytest.approx(variation, rel=0.05)

    def test_gaps_of_poisson_demand_are_exponential_and_know_nothing_of_each_other(self):
        one = problem(("a", 50.0, 10.0, 10.0))
        gaps = np.diff(drawn(PoissonDemand(), one, 4000.0).arrival)
        steps = np.sort(np.exp(-gaps * 50.0))
        distance = np.abs(steps - (np.arange(len(steps)) + 0.5) / len(steps)).max()
        assert distance < 1.95 / sqrt(len(steps)), "Kolmogorov and Smirnov, at one in a thousand"
        assert abs(np.corrcoef(gaps[1:], gaps[:-1])[0, 1]) < BOUND / sqrt(len(gaps))

    def test_lengths_are_those_of_each_model(self):
        stream = drawn(PoissonDemand(), seconds=20_000.0)
        for index, (prompt, output) in enumerate([(500, 200.0), (100, 0.0), (30, 1.0)]):
            mine = stream.model == index
            assert set(stream.prompt[mine]) == {prompt}
            assert stream.output[mine].mean() == pytest.approx(output, rel=0.02)

    def test_models_know_nothing_of_each_other(self):
        pair = problem(("a", 50.0, 9.0, 9.0), ("b", 50.0, 9.0, 9.0))
        stream = drawn(PoissonDemand(), pair, 5000.0)
        one, other = (
            np.histogram(stream.arrival[stream.model == model], 5000, (0.0, 5000.0))[0]
            for model in (0, 1)
        )
        assert abs(np.corrcoef(one, other)[0, 1]) < BOUND / sqrt(5000)

    @pytest.mark.parametrize("demand", DEMANDS, ids=str)
    def test_another_model_changes_nothing_for_the_others(self, demand):
        more = problem(("z", 90.0, 7.0, 7.0), ("c", 0.2, 30.5, 1.0), ("a", 20.0, 500.0, 200.0))
        few, many = drawn(demand), drawn(demand, more)
        for one, other in ((0, 2), (2, 1)):
            mine, theirs = few.model == one, many.model == other
            for field in ("arrival", "prompt", "output"):
                assert np.array_equal(getattr(few, field)[mine], getattr(many, field)[theirs])

    @pytest.mark.parametrize("demand", DEMANDS, ids=str)
    def test_it_is_the_same_for_a_seed_and_another_one_for_another(self, demand):
        assert same(drawn(demand), drawn(demand))
        assert not same(drawn(demand), drawn(demand, seed=2))

    @campaign(100)
    @given(st.sampled_from(DEMANDS), st.integers(1, 5000), st.integers(0, 2**64))
    def test_pieces_are_the_whole_however_small_they_are(self, demand, piece, seed):
        fields = {name: getattr(demand, name) for name in demand.__dataclass_fields__}
        small = type(demand)(**fields | {"piece": piece})
        pieces = list(small.pieces(THREE, 60.0, seed))
        assert max(map(len, pieces)) <= piece
        assert same(joined(pieces), drawn(demand, seconds=60.0, seed=seed))

    @pytest.mark.parametrize("demand", DEMANDS[:3], ids=str)
    def test_a_longer_stream_begins_like_a_shorter_one(self, demand):
        short, long = drawn(demand, seconds=50.0), drawn(demand, seconds=600.0)
        number = len(short)
        assert np.array_equal(short.arrival, long.arrival[:number])
        assert np.array_equal(short.output, long.output[:number])
        assert long.arrival[number] >= 50.0

    def test_models_that_nobody_asks_have_no_requests(self):
        stream = drawn(PoissonDemand(), NOTHING)
        assert (len(stream), stream.seconds) == (0, 600.0)

    def test_it_says_what_is_missing_or_too_much(self):
        bare = Problem([Gpu("g", 80.0, "H")], [Model("bare", 1.0, 1.0, 1.0)])
        with pytest.raises(InputError, match=r"model 'bare' has no requests|model 'bare': has no"):
            PoissonDemand().pieces(bare, 1.0, 0)
        with pytest.raises(InputError, match=r"model 'a': prompt_tokens is missing"):
            PoissonDemand().pieces(problem(("a", 1.0, 0.0, 9.0)), 1.0, 0)
        with pytest.raises(InputError, match=r"seconds=1e\+300, must be short enough"):
            PoissonDemand().pieces(THREE, 1e300, 0)
        for seconds in (0.0, -1.0, inf, float("nan")):
            with pytest.raises(InputError, match=r"seconds="):
                PoissonDemand().pieces(THREE, seconds, 0)
        for variation in (0.0, -1.0, 101.0, float("nan")):
            with pytest.raises(InputError, match=r"variation="):
                BurstDemand(variation=variation)
        with pytest.raises(InputError, match=r"piece=0"):
            PoissonDemand(piece=0)


class TestDays:
    def test_each_hour_has_as_many_requests_as_its_factor_says(self):
        one = problem(("a", 4.0, 9.0, 9.0))
        days = 5
        stream = drawn(DayDemand(curve=DayCurve(HOURLY, 6.0)), one, days * DAY)
        hours = ((stream.arrival / 3600.0 + 6.0) % 24.0).astype(int)
        for hour, factor in enumerate(HOURLY):
            expected = days * 4.0 * 3600.0 * factor
            assert abs((hours == hour).sum() - expected) <= BOUND * sqrt(expected)

    def test_a_smooth_curve_has_its_peak_and_its_mean(self):
        curve = DayCurve.smooth(1.8, 15.0)
        assert curve.mean == pytest.approx(1.0)
        assert max(curve.factors) == pytest.approx(1.8, abs=1e-3)
        assert abs(np.argmax(curve.factors) / 12 - 15.0) < 0.1
        assert min(DayCurve.smooth(2.0).factors) == pytest.approx(0.0, abs=1e-3)
        assert set(np.round(DayCurve.smooth(1.0).factors, 12)) == {1.0}

    def test_nobody_comes_while_a_factor_is_zero(self):
        curve = DayCurve((0.0, 3.0, 0.0, 1.0), 20.5)
        stream = drawn(DayDemand(curve=curve), seconds=3 * DAY)
        quarters = ((stream.arrival / 3600.0 + 20.5) % 24.0 // 6.0).astype(int)
        assert set(quarters) == {1, 3}

    def test_a_flat_curve_is_no_curve(self):
        flat, plain = drawn(DayDemand(curve=DayCurve((1.0,), 7.0))), drawn(PoissonDemand())
        assert np.allclose(flat.arrival, plain.arrival, rtol=0.0, atol=1e-6)
        assert np.array_equal(flat.output, plain.output)

    @pytest.mark.parametrize(
        ("factors", "begin", "told"),
        [
            ((), 0.0, "factors=0, must be 1 to 86400 factors"),
            ((0.0, 0.0), 0.0, "more than 0 at some time of day"),
            ((1.0, -1.0), 0.0, "factors[1]=-1.0"),
            ((1.0, float("nan")), 0.0, "factors[1]=nan"),
            ((1e308, 1e308), 0.0, "must be finite"),
            ((1.0,), 24.0, "begin_hour=24.0, must be from 0 to less than 24"),
        ],
    )
    def test_it_refuses(self, factors, begin, told):
        with pytest.raises(InputError) as caught:
            DayCurve(factors, begin)
        assert told in str(caught.value)

    @pytest.mark.parametrize("peak", [0.9, 2.1, float("nan")])
    def test_no_sinusoid_is_below_zero_or_has_its_peak_below_its_mean(self, peak):
        with pytest.raises(InputError, match=r"peak_to_mean="):
            DayCurve.smooth(peak)


class Rows(NamedTuple):
    arrival: np.ndarray
    model: np.ndarray
    prompt: np.ndarray
    output: np.ndarray


class Recorded:
    """A trace in parts of a given size: a request every half second, from 1 s on."""

    def __init__(self, number, part, known=True):
        self.number, self.part, self.known = number, part, known

    def rows(self, models):
        for begin in range(0, self.number, self.part):
            place = np.arange(begin, min(begin + self.part, self.number), dtype=np.int32)
            model = place % len(models) if self.known else np.full(len(place), -1)
            yield Rows(1.0 + place / 2.0, model.astype(np.int32), place + 1, place)


class TestTraces:
    def test_requests_are_those_of_the_trace(self):
        stream = joined(TraceDemand(Recorded(100, 7)).pieces(THREE, inf, 0))
        assert stream.arrival.tolist() == [1.0 + n / 2.0 for n in range(100)]
        assert stream.model.tolist() == [n % 3 for n in range(100)]
        assert (stream.prompt.tolist(), stream.output.tolist()) == (
            list(range(1, 101)),
            list(range(100)),
        )
        assert stream.seconds == 50.5

    def test_a_trace_is_cut_at_both_ends_and_runs_faster(self):
        demand = TraceDemand(Recorded(1000, 7), start=11.0, condense=4.0)
        stream = joined(demand.pieces(THREE, 10.0, 0))
        assert stream.arrival.tolist() == [n / 8.0 for n in range(80)]
        assert stream.prompt[0] == 21
        assert stream.seconds == 10.0

    def test_a_trace_that_ends_early_ends_the_stream(self):
        assert joined(TraceDemand(Recorded(10, 3)).pieces(THREE, 600.0, 0)).seconds == 5.5

    def test_a_quiet_part_of_a_trace_has_no_requests(self):
        pieces = list(TraceDemand(Recorded(10, 3)).pieces(THREE, 0.5, 0))
        assert [(len(piece), piece.seconds) for piece in pieces] == [(0, 0.5)]

    @pytest.mark.parametrize("part", [1, 7, 5000])
    def test_models_are_drawn_by_their_rates_where_the_trace_does_not_say(self, part):
        demand = TraceDemand(Recorded(20_000, part, known=False))
        stream = joined(demand.pieces(THREE, inf, 3))
        assert same(stream, joined(TraceDemand(Recorded(20_000, 999, False)).pieces(THREE, inf, 3)))
        rates = np.array([20.0, 5.0, 0.2])
        for share, index in zip(rates / rates.sum(), range(3), strict=True):
            found = (stream.model == index).mean()
            assert abs(found - share) <= BOUND * sqrt(share * (1 - share) / 20_000)

    def test_it_refuses_to_begin_after_the_end_and_to_draw_from_nothing(self):
        with pytest.raises(
            InputError, match=r"start=9.0, must be before the last request .* 5.5 s"
        ):
            list(TraceDemand(Recorded(10, 3), start=9.0).pieces(THREE, 1.0, 0))
        with pytest.raises(
            InputError, match=r"has no requests to simulate, give the models a rate"
        ):
            list(TraceDemand(Recorded(10, 3, known=False)).pieces(NOTHING, 9.0, 0))
        with pytest.raises(InputError, match=r"condense=0"):
            TraceDemand(Recorded(10, 3), condense=0.0)


def test_a_day_of_a_large_fleet_takes_no_more_memory_than_an_hour():
    fleet = problem(*((f"m{n}", 320.0 / 300, 500.0, 200.0) for n in range(300)))
    peaks = []
    for pieces in (3, 30):
        tracemalloc.start()
        for _ in islice(PoissonDemand().pieces(fleet, DAY, 0), pieces):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]
    assert peaks[1] < 50e6
