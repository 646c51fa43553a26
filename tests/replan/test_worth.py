"""Whether moving pays, and the lives of engines on the way."""

from math import inf

from colocate import Gpu, Model, Problem
from colocate.problem.requests import EngineSpeed, Requests
from colocate.replan.lives import lives_of
from colocate.replan.replan import replan
from colocate.replan.steps.safe_steps import safe_steps
from colocate.replan.transition import change_between
from colocate.replan.worth import worth_of

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
    long = worth_of(problem, OLD, found.stay, found.point, way, lasts_seconds=3600)
    short = worth_of(problem, OLD, found.stay, found.point, way, lasts_seconds=100)
    assert long.pays
    assert not short.pays
    assert 106.0 < long.break_even_seconds < 200.0
    assert worth_of(problem, OLD, found.stay, found.stay, way).break_even_seconds == inf


def test_both_ways_are_simulated_where_requests_are_known():
    problem = fleet(ASKED, "latency")
    found = replan(problem, OLD, time_limit=0.3)
    worth = worth_of(problem, OLD, found.stay, found.point, steps_for(problem))
    assert worth.simulated
    assert worth.as_dict()["cost"] >= 0.0
