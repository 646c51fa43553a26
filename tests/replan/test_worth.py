"""Whether moving pays, and the lives of engines on the way."""

from dataclasses import replace
from math import inf

import pytest

from colocate import Gpu, Model, Problem
from colocate.errors import InputError
from colocate.inputs.fleet import fleet_of
from colocate.outputs.replan.words import worth_text
from colocate.problem.placement import Placement
from colocate.problem.requests import EngineSpeed, Requests
from colocate.replan.lives import lives_of
from colocate.replan.replan import replan
from colocate.replan.replanning import FrontierPoint
from colocate.replan.steps.safe_steps import safe_steps
from colocate.replan.transition import change_between
from colocate.replan.worth import MoveWorth, RatesCase, WorthCase, rate_uncertainties, worth_of

GPUS = (Gpu("a", 80), Gpu("b", 80))
OLD = {"m": ["a"], "n": ["a"]}
NEW = {"m": ["a"], "n": ["b"]}
ASKED = Requests(
    1.0, 50.0, (("", EngineSpeed(0.01, 0.0, 0.01, 0.01, 1.0)),), 1.0, prompt_tokens=100.0
)


def fleet(requests=None, objective="pressure"):
    models = tuple(Model(name, 20, load=2, requests=requests) for name in "mn")
    return Problem(GPUS, models, objective=objective)


def steps_for(problem):
    return safe_steps(change_between((problem, OLD), (problem, NEW), "elastic"))


def test_lives_follow_the_steps():
    lives = {(life.model, life.gpus): life for life in lives_of(steps_for(fleet()))}
    assert lives["m", ("a",)].closed == inf
    left, came = lives["n", ("a",)], lives["n", ("b",)]
    assert came.loading == 0.0
    assert came.ready == 10.0 + 60.0 + 1.0
    assert (left.closed, left.gone) == (71.0, 106.0)


def test_a_move_pays_only_if_demand_lasts():
    problem = fleet()
    found = replan(problem, OLD, time_limit=0.3)
    way = steps_for(problem)
    long = worth_of(problem, found.stay, found.point, way, lasts_seconds=3600)
    short = worth_of(problem, found.stay, found.point, way, lasts_seconds=100)
    assert long.pays
    assert not short.pays
    assert 106.0 < long.break_even_seconds(long.stated) < 200.0
    same = worth_of(problem, found.stay, found.stay, way)
    assert same.break_even_seconds(same.stated) == inf


def test_rates_may_be_off_in_every_time_window():
    problem = fleet(replace(ASKED, rates=(0.25, 1.0)))
    found = replan(problem, OLD, time_limit=0.3)
    way = steps_for(problem)
    unsure = worth_of(problem, found.stay, found.point, way, rate_uncertainty={"m": 0.2})
    assert unsure.simulated
    assert [each.rates for each in unsure.cases] == list(RatesCase)


def test_a_move_must_also_pay_at_the_ends_of_what_rates_may_be():
    # m and n share a GPU of 80 GB, o is alone on another: if n joins o, the peak is theirs.
    loads = {"m": 2.0, "n": 2.0, "o": 1.5}
    problem = Problem(GPUS, tuple(Model(name, 20, load=loads[name]) for name in loads))
    old, new = {"m": ["a"], "n": ["a"], "o": ["b"]}, {"m": ["a"], "n": ["b"], "o": ["b"]}
    way = safe_steps(change_between((problem, old), (problem, new), "elastic"))

    def at(places, value, gb):
        return FrontierPoint(Placement(places), value, gb, gb)

    points = (at(old, 4 / 40, 0.0), at(new, 3.5 / 40, 20.0))
    sure = worth_of(problem, *points, way)
    unsure = worth_of(problem, *points, way, rate_uncertainty={"o": 0.5})
    assert sure.pays
    assert [each.rates for each in sure.cases] == [RatesCase.STATED]
    stated, low, high = unsure.cases
    assert stated == sure.stated
    assert low.gain_per_second == pytest.approx(1 - 2.75 / 4)  # o asks for 0.75
    assert high.gain_per_second == pytest.approx(1 - 4.25 / 4)  # o asks for 2.25: worse than now
    assert unsure.worst == high
    assert not unsure.pays
    assert unsure.as_dict()["cases"]["high"]["break_even_seconds"] == "Infinity"
    assert "highest likely rates" in worth_text(unsure)
    assert worth_of(problem, *points, way, rate_uncertainty={"o": 0.1}).pays


def test_uncertain_rates_are_simulated_at_both_ends():
    problem = fleet(ASKED, "latency")
    found = replan(problem, OLD, time_limit=0.3)
    way, unsure = steps_for(problem), {"m": 0.5, "n": 0.5}
    worth = worth_of(problem, found.stay, found.point, way, rate_uncertainty=unsure)
    assert worth.simulated
    assert [each.rates for each in worth.cases] == list(RatesCase)
    assert worth.rate_uncertainty == 0.5


def test_a_fleet_says_how_far_its_rates_may_be_off():
    models = [
        {"name": "known", "size_gb": 10, "load": 1, "rate_uncertainty": 0.3},
        {"name": "unknown", "size_gb": 10, "load": 1},
    ]
    read = fleet_of({"gpus": [{"name": "g", "memory_gb": 80}], "models": models})
    assert rate_uncertainties(read, 0.1) == {"known": 0.3, "unknown": 0.1}


def test_both_ways_are_simulated_where_requests_are_known():
    problem = fleet(ASKED, "latency")
    found = replan(problem, OLD, time_limit=0.3)
    worth = worth_of(problem, found.stay, found.point, steps_for(problem))
    assert worth.simulated
    assert worth.as_dict()["cost"] >= 0.0


def test_models_that_left_the_fleet_do_not_count():
    before, left = fleet(ASKED), Problem(GPUS, [Model("n", 20, load=2, requests=ASKED)])
    found = replan(left, OLD, time_limit=0.3)
    way = safe_steps(change_between((before, OLD), (left, found.placement), "elastic"))
    worth = worth_of(left, found.point, found.point, way)
    assert worth.simulated
    assert worth.stated.gain_per_second == 0.0


def test_it_is_enough_that_moving_costs_nothing_at_the_ends_of_what_rates_may_be():
    stated, nothing = WorthCase(RatesCase.STATED, 1.0, 0.0), WorthCase(RatesCase.LOW, 0.0, 0.0)
    neither = nothing._replace(rates=RatesCase.HIGH)
    assert MoveWorth(True, True, (stated, nothing, neither), 10.0, 3600.0, 0.5, 0.2).pays
    worse = WorthCase(RatesCase.HIGH, 0.0, 1.0)
    assert not MoveWorth(True, True, (stated, nothing, worse), 10.0, 3600.0, 0.5, 0.2).pays
    assert not MoveWorth(
        True, True, (nothing._replace(rates=RatesCase.STATED),), 10, 3600, 0.5
    ).pays


def test_a_move_that_was_not_compared_at_all_rates_is_not_known_to_pay():
    stated = WorthCase(RatesCase.STATED, 1.0, 5.0)
    exact, unsure = (MoveWorth(True, True, (stated,), 10.0, 3600.0, 0.5, off) for off in (0.0, 0.2))
    assert exact.net_gain == unsure.net_gain == 1800 - 10 - 5
    assert (exact.complete, exact.pays) == (True, True)
    assert (unsure.complete, unsure.pays) == (False, False)


def test_engines_that_share_their_caches_are_simulated_so():
    problem = fleet(ASKED)
    old, new = {"m": ["a"], "n": ["b"]}, {"m": ["a"], "n": ["a"]}
    way = safe_steps(change_between((problem, old), (problem, new), "elastic"))
    points = [FrontierPoint(Placement(at), 1.0, 20.0, 20.0) for at in (old, new)]
    worth = worth_of(problem, *points, way, memory="elastic")
    assert worth.simulated
    with pytest.raises(InputError, match="GB are free"):
        worth_of(problem, *points, way)


def test_staying_is_simulated_with_the_caches_that_engines_started_with():
    asked = replace(ASKED, rate=4.0, request_gb=1.0, slots=16.0, tpot_slo=0.05, ttft_slo=0.5)
    problem = fleet(asked)
    m, n = problem.models
    lopsided = replace(problem, models=(m.changed(load=39.0), n.changed(load=1.0)))
    points = [FrontierPoint(Placement(at), 1.0, gb, gb) for at, gb in ((OLD, 0.0), (NEW, 20.0))]

    def worth(before):
        way = safe_steps(change_between((before, OLD), (problem, NEW)))
        return worth_of(problem, *points, way)

    equal, short = worth(problem), worth(lopsided)  # n has 20 GB of cache, or 1
    assert equal.stated.gain_per_second == pytest.approx(0.0, abs=0.05)
    assert short.stated.gain_per_second > 1.0


def test_a_gpu_with_less_memory_than_before_is_simulated():
    before = fleet(ASKED, "latency")
    lowered = replace(before, gpus=(Gpu("a", 70), Gpu("b", 70)))
    found = replan(lowered, OLD, time_limit=0.3)
    way = safe_steps(change_between((before, OLD), (lowered, NEW)))
    worth = worth_of(lowered, found.stay, FrontierPoint(Placement(NEW), 1.0, 20.0, 20.0), way)
    assert worth.simulated
