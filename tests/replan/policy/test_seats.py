"""Engines with shards: where they may be, and that they move as a whole."""

import numpy as np
import pytest

from colocate import Gpu, Model, Problem
from colocate.replan.policy.decide import decide
from colocate.replan.policy.decision import PolicyReason
from colocate.replan.policy.history import EngineMove
from colocate.replan.policy.outlook import Outlook
from colocate.replan.policy.proposals import nearby_proposals
from colocate.replan.policy.seats import exchanged_seats, moved, taken_seats
from colocate.replan.policy.units import Unit
from tests.replan.policy.test_decide import QUICK, rates
from tests.simulate.drawn_fleets import KIND, asked


def fleet(nodes=2, gpus=2, **fields):
    """Return two models of two shards each, on nodes of several GPUs."""
    requests = asked(step=0.01, prefill=0.02, tpot_slo=0.02, ttft_slo=0.5, slots=1.0)
    places = [
        Gpu(f"{node}{gpu}", 40.0, KIND, node=f"n{node}")
        for node in "xyz"[:nodes]
        for gpu in range(gpus)
    ]
    made = [
        Model(name, 20.0, load=1.0, requests=requests, shards=2, **fields.pop(name, {}))
        for name in "ab"
    ]
    return Problem(places, made, **fields)


BOTH_ON_ONE_NODE = {"a": ("x0", "x1"), "b": ("x0", "x1")}


def test_free_seats_are_on_one_node_and_the_emptiest_come_first():
    problem = fleet(gpus=3)
    places = {"a": ("x0", "x1"), "b": ("y2", "y0")}
    a, b = problem.models
    assert taken_seats(places, a) == [("x0", "x1")]
    assert Unit((a,)).free_seats(problem, places) == [("y1", "y0"), ("y0", "y2")]
    assert Unit((b,)).free_seats(problem, places) == [("x2", "x0"), ("x0", "x1")]


def test_seats_are_only_where_the_model_may_be():
    problem = fleet(a={"never": ("y1",)})
    assert Unit((problem.models[0],)).free_seats(problem, BOTH_ON_ONE_NODE) == []
    assert Unit((problem.models[1],)).free_seats(problem, BOTH_ON_ONE_NODE) == [("y0", "y1")]


def test_an_engine_takes_the_place_of_another_of_its_width_or_one_of_its_gpus():
    assert exchanged_seats(("x0", "x1"), 2) == [("x0", "x1")]
    assert exchanged_seats(("x0", "x1"), 1) == [("x0",), ("x1",)]
    assert exchanged_seats(("x0",), 2) == []


def test_all_shards_of_an_engine_move_and_no_other_engine():
    places = {"a": ("x0", "x1", "y0", "y1")}
    assert moved(places, "a", ("x0", "x1"), ("z1", "z0"))["a"] == ("y0", "y1", "z1", "z0")
    assert moved(places, "a", ("y0", "y1"), None)["a"] == ("x0", "x1")


def test_an_engine_with_shards_moves_where_it_has_gpus_for_itself():
    found = decide(fleet(), BOTH_ON_ONE_NODE, rates(0.8, 0.8), settings=QUICK)
    assert found.reason is PolicyReason.PAYS
    assert sorted(map(sorted, found.placement.values())) == [["x0", "x1"], ["y0", "y1"]]
    assert sorted((len(move.gpus), move.arrived) for move in found.moves) == [(2, False), (2, True)]


def test_a_hot_model_with_shards_gets_a_replica_of_as_many():
    problem = fleet(a={"most_replicas": 2}, apart=[("a", "b")], nodes=3)
    places = {"a": ("x0", "x1"), "b": ("y0", "y1")}
    found = decide(problem, places, rates(2.5, 0.1), settings=QUICK)
    assert found.reason is PolicyReason.PAYS
    assert found.placement["a"][:2] == ("x0", "x1")
    assert sorted(found.placement["a"][2:]) == ["z0", "z1"]


def test_no_seat_of_one_node_is_nothing_better():
    found = decide(fleet(nodes=1), BOTH_ON_ONE_NODE, rates(0.8, 0.8), settings=QUICK)
    assert found.reason is PolicyReason.NOTHING_BETTER


def test_an_engine_with_shards_that_left_lately_stays_away():
    history = tuple(EngineMove(name, ("y1", "y0"), 1000.0, False) for name in "ab")
    found = decide(fleet(), BOTH_ON_ONE_NODE, rates(0.8, 0.8), history, 1500.0, QUICK)
    assert found.reason is PolicyReason.NOTHING_BETTER


@pytest.mark.parametrize("seed", range(20))
def test_every_placement_that_is_rated_has_whole_engines_on_one_node_each(seed):
    rng = np.random.default_rng(seed)
    gpus = [Gpu(f"{node}{n}", 40.0, KIND, node=node) for node in "xyz" for n in range(3)]
    requests = asked()
    models = [
        Model(f"m{n}", 8.0, load=1.0, requests=requests, shards=shards, most_replicas=2)
        for n, shards in enumerate((1, 2, 3, 1, 2))
    ]
    problem = Problem(gpus, models)
    places = {}
    for model in models:
        node = str(rng.choice(list("xyz")))
        places[model.name] = tuple(f"{node}{n}" for n in rng.permutation(3)[: model.shards])
    rated = []

    def rate(at):
        rated.append(at)
        lost = dict.fromkeys(places, 1.0) | {"m1": 2.0, "m2": 3.0}
        return Outlook(100.0, float(rng.uniform(50.0, 90.0)), lost)

    nearby_proposals(problem, places, frozenset(), rate)
    assert any(at["m2"] != places["m2"] for at in rated)
    for at in rated:
        for model in models:
            mine = at[model.name]
            assert len(mine) == len(set(mine))
            assert len(mine) in (model.shards, 2 * model.shards)
            for seat in taken_seats(at, model):
                assert len({gpu[0] for gpu in seat}) == 1
