"""Which point of a replan is chosen: the best net gain, unless something else was asked for."""

import numpy as np
import pytest

from colocate import Gpu, Model, Problem
from colocate.errors import InfeasibleError
from colocate.outputs.replan.page import replan_page
from colocate.outputs.replan.words import choice_text, headline, net_text
from colocate.problem.placement import Placement
from colocate.problem.requests import EngineSpeed, Requests
from colocate.replan.choice import ChoiceRule, MoveTerms, choose
from colocate.replan.replan import replan
from colocate.replan.replanning import FrontierPoint, Replanning
from colocate.replan.steps.step_times import StepTimes
from colocate.replan.worth import RatesCase, worth_of

# Two models of 20 GB share a GPU of 80 GB. One of them leaves: 2/60. Both do: 2/80.
GPUS = (Gpu("a", 80), Gpu("b", 100), Gpu("c", 100))
OLD = {"m": ["a"], "n": ["a"]}
FLEET = Problem(GPUS, tuple(Model(name, 20, load=2) for name in "mn"))
SLOWLY = StepTimes(load_gb_per_second=0.05)
"""Then 20 GB load for 400 s, and another 96 s pass until the old engine is gone."""


@pytest.fixture(scope="module")
def found():
    frontier = replan(FLEET, OLD, time_limit=0.3)
    assert [point.moved_gb for point in frontier.points] == [0.0, 20.0, 40.0]
    assert [point.value for point in frontier.points] == pytest.approx([4 / 40, 2 / 60, 2 / 80])
    assert frontier.chosen == 2
    return frontier


def nets(choice):
    return [way.worth.net_gain for way in choice.ways if way.worth]


def test_a_smaller_move_is_chosen_if_more_is_left_of_what_it_brings(found):
    choice = choose(found, FLEET, MoveTerms("elastic", SLOWLY))
    # One of two equal models drains for 30 s: 15 s of the fleet's work; with both it is 30 s.
    small = (1 - (2 / 60) / (4 / 40)) * (1800 - 496) - 15
    large = (1 - (2 / 80) / (4 / 40)) * (1800 - 896) - 30
    assert nets(choice) == pytest.approx([small, large])
    assert choice.found.chosen == 1
    assert choice.rule is ChoiceRule.NET_GAIN
    assert choice.worth.pays
    assert choice.steps.seconds == pytest.approx(496)
    assert headline(choice) == "move: pressure 0.1 -> 0.03333 for 20 GB"
    assert choice_text(choice) == "chosen: the best net gain, 854 seconds of the fleet's work"
    assert "the best net gain, 854" in replan_page(choice)


def test_the_lowest_value_is_chosen_if_its_way_is_short(found):
    choice = choose(found, FLEET, MoveTerms("elastic"))
    assert nets(choice) == pytest.approx([2 / 3 * (1800 - 106) - 15, 3 / 4 * (1800 - 116) - 30])
    assert choice.found.chosen == 2


def test_if_no_move_pays_the_answer_is_to_stay_with_the_figures_of_the_best(found):
    choice = choose(found, FLEET, MoveTerms("elastic", lasts_seconds=200))
    assert nets(choice) == pytest.approx([-15, -30])  # demand changes after 100 s, on the way
    assert (choice.found.chosen, choice.best) == (0, 1)
    assert choice.steps.steps == ()
    assert choice.found.placement == choice.found.stay.placement
    assert not choice.worth.pays
    assert headline(choice).startswith("stay: no move pays; the best is pressure ")
    assert choice_text(choice).startswith("chosen: staying; the best net gain of a move is -15 ")


def test_what_was_asked_for_stays_chosen(found):
    choice = choose(found, FLEET, MoveTerms("elastic", SLOWLY), asked=True)
    assert choice.found.chosen == 2
    assert choice.rule is ChoiceRule.ASKED
    assert [way.worth is not None for way in choice.ways] == [False, False, True]
    assert net_text(choice, 1) == "not compared"


def test_every_point_has_its_worth_as_data(found):
    data = choose(found, FLEET, MoveTerms("elastic", SLOWLY)).as_dict()
    assert data["rule"] == "net gain"
    assert data["points"][0]["worth"] is None
    assert data["points"][1]["worth"] == data["worth"]
    assert data["points"][2]["worth"]["net_gain"] == pytest.approx(648)


def test_a_fleet_with_known_requests_is_simulated_for_each_point():
    speed = EngineSpeed(0.01, 0.0, 0.01, 0.01, 1.0)
    asked = Requests(1.0, 50.0, (("", speed),), 1.0, prompt_tokens=100.0)
    fleet = Problem(GPUS, tuple(Model(name, 20, load=2, requests=asked) for name in "mn"))
    choice = choose(replan(fleet, OLD, time_limit=0.3), fleet, MoveTerms("elastic"))
    assert [way.worth.simulated for way in choice.ways[1:]] == [True, True]
    assert "requests in time" in choice_text(choice)


def random_case(seed):
    """A fleet whose rates may be off, by shares that differ from model to model."""
    rng = np.random.default_rng(seed)
    models = tuple(Model(f"m{n}", 15, load=float(rng.uniform(1, 4))) for n in range(5))
    fleet = Problem((*GPUS, Gpu("d", 80)), models)
    old = {model.name: [str(rng.choice(["a", "b"]))] for model in models}
    unsure = {model.name: float(rng.choice([0.0, 0.9])) for model in models}
    return fleet, old, MoveTerms("elastic", SLOWLY, rate_uncertainty=unsure, uncertainty=0.0)


def test_the_chosen_point_is_the_best_though_not_all_are_compared_at_all_rates():
    left_out = overtaken = 0
    for seed in range(25):
        fleet, old, terms = random_case(seed)
        frontier = replan(fleet, old, time_limit=0.2)
        choice = choose(frontier, fleet, terms)
        moving = [n for n, way in enumerate(choice.ways) if way.worth]
        full = {
            n: worth_of(
                fleet, frontier.stay, frontier.points[n], choice.ways[n].steps,
                rate_uncertainty=terms.rate_uncertainty, uncertainty=0.0,
            )
            for n in moving
        }  # fmt: skip
        if not full:
            continue
        best = max(each.net_gain for each in full.values())
        assert choice.worth == full[choice.found.chosen]
        assert choice.worth.net_gain == best
        assert choice.worth.pays == any(each.pays for each in full.values())
        for n in moving:
            told = choice.ways[n].worth
            assert told.net_gain >= full[n].net_gain
            left_out += not told.complete
            overtaken += told.left_of(told.stated) > choice.worth.left_of(choice.worth.stated)
    assert left_out > 0
    assert overtaken > 0


def test_a_point_that_was_not_compared_at_all_rates_says_so():
    for seed in range(25):
        fleet, old, terms = random_case(seed)
        choice = choose(replan(fleet, old, time_limit=0.2), fleet, terms)
        some = [n for n, way in enumerate(choice.ways) if way.worth and not way.worth.complete]
        if some:
            assert net_text(choice, some[0]).startswith("at most ")
            assert not choice.ways[some[0]].worth.pays
            assert [each.rates for each in choice.ways[some[0]].worth.cases] == [RatesCase.STATED]
            return
    pytest.fail("all points were compared at all rates")


# x and y fill a GPU each, so they cannot change places while both serve; s can go to y's GPU.
FULL = Problem(
    (Gpu("a", 100), Gpu("b", 100)),
    (Model("x", 60, load=2), Model("y", 60, load=1), Model("s", 10, load=2)),
)
HERE = {"x": ["a"], "y": ["b"], "s": ["a"]}
MOVED = {"x": ["a"], "y": ["b"], "s": ["b"]}
SWAPPED = {"x": ["b"], "y": ["a"], "s": ["a"]}


def full_fleet(*places, stay=True, broken=()):
    """A replan as it may be found; its last point is said to be by far the best."""
    numbered = enumerate(places)
    points = tuple(
        FrontierPoint(Placement(p), 0.9 - 0.4 * n, 50.0 * n, 50.0 * n) for n, p in numbered
    )
    return Replanning(
        FULL, HERE, points, stay=points[0] if stay else None, broken=broken, chosen=len(points) - 1
    )


def test_a_point_without_steps_is_not_chosen_but_others_are():
    frontier, strict = full_fleet(HERE, MOVED, SWAPPED), MoveTerms("elastic", always_serving=True)
    assert choose(frontier, FULL, MoveTerms("elastic")).found.chosen == 2
    choice = choose(frontier, FULL, strict)
    assert choice.found.chosen == 1
    assert choice.worth.pays
    assert choice.ways[2].worth is None
    assert "no order of steps keeps every model serving" in choice.ways[2].refused
    assert net_text(choice, 2) == "no steps"
    assert "of those with steps" in choice_text(choice)
    assert choice.as_dict()["points"][2]["refused"] == choice.ways[2].refused
    with pytest.raises(InfeasibleError, match="keeps every model serving"):
        choose(frontier, FULL, strict, asked=True)


def test_if_no_point_has_steps_everything_stays():
    frontier = full_fleet(HERE, SWAPPED)
    choice = choose(frontier, FULL, MoveTerms("elastic", always_serving=True))
    assert choice.found.point is frontier.stay
    assert not choice.steps.steps
    assert headline(choice).startswith("stay: no steps to a better placement keep every model")
    assert "no order of steps keeps every model serving" in choice_text(choice)


def test_without_staying_the_lowest_value_with_steps_is_chosen():
    strict = MoveTerms("elastic", always_serving=True)
    broken = full_fleet(MOVED, SWAPPED, stay=False, broken=("no longer allowed",))
    assert choose(broken, FULL, MoveTerms("elastic")).found.chosen == 1
    choice = choose(broken, FULL, strict)
    assert choice.found.chosen == 0
    assert choice.rule is ChoiceRule.LOWEST_VALUE
    assert choice.worth is None
    assert choice_text(choice).startswith("chosen: the lowest pressure of those with steps; ")
    with pytest.raises(InfeasibleError, match="keeps every model serving"):
        choose(full_fleet(SWAPPED, stay=False, broken=("so",)), FULL, strict)
