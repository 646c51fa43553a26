"""What changes between two placements, and which engines restart."""

from dataclasses import replace

import pytest

from colocate import Gpu, Model, Problem
from colocate.errors import InputError
from colocate.replan.placed_engine import checked_mode, engines_of
from colocate.replan.transition import change_between

GPUS = tuple(Gpu(name, 80, node="n") for name in "abc")
MODELS = (Model("m", 20, load=1), Model("n", 20, load=1), Model("o", 10, load=2))
PROBLEM = Problem(GPUS, MODELS)
OLD = {"m": ["a"], "n": ["b"], "o": ["b"]}
NEW = {"m": ["a"], "n": ["a"], "o": ["b"]}


def places(engines):
    return [(engine.model, engine.gpus) for engine in engines]


def test_engines_with_fixed_caches_fill_their_gpus():
    engines = engines_of(PROBLEM, OLD, "fixed", {"m": 18.0})
    assert [engine.held_gb for engine in engines] == pytest.approx(
        [80.0, 20 + 50 / 3, 10 + 100 / 3]
    )
    assert [engine.weights_gb for engine in engines] == [18.0, 20.0, 10.0]


def test_a_neighbour_with_a_fixed_cache_restarts_to_make_room():
    change = change_between((PROBLEM, OLD), (PROBLEM, NEW), "fixed")
    assert places(change.comes) == [("m", ("a",)), ("n", ("a",))]
    assert [engine.held_gb for engine in change.comes] == [40.0, 40.0]
    assert places(change.goes) == [("m", ("a",)), ("n", ("b",))]
    assert places(change.stays) == [("o", ("b",))]
    assert change.stays[0].held_gb == pytest.approx(10 + 100 / 3)


def test_elastic_engines_stay_whatever_they_held_when_they_started():
    running = [
        replace(each, held_gb=each.held_gb + 1) for each in engines_of(PROBLEM, OLD, "elastic", {})
    ]
    change = change_between((PROBLEM, OLD), (PROBLEM, NEW), "elastic", running=running)
    assert places(change.comes) == [("n", ("a",))]
    assert places(change.goes) == [("n", ("b",))]


def test_elastic_neighbours_stay():
    change = change_between((PROBLEM, OLD), (PROBLEM, NEW), "elastic")
    assert places(change.comes) == [("n", ("a",))]
    assert change.moved_gb == 20.0


def test_a_newcomer_takes_what_another_leaves_without_a_restart():
    change = change_between(
        (PROBLEM, OLD), (PROBLEM, {"m": ["b"], "n": ["a"], "o": ["b"]}), "fixed"
    )
    assert places(change.stays) == [("o", ("b",))]


def test_gpus_that_are_gone_take_their_engines_along_unless_they_drain():
    left = Problem(GPUS[1:], MODELS)
    new = {"m": ["c"], "n": ["b"], "o": ["b"]}
    lost = change_between((PROBLEM, OLD), (left, new), "elastic")
    assert places(lost.now) == [("n", ("b",)), ("o", ("b",))]
    assert "a" not in lost.memory_gb
    drained = change_between((PROBLEM, OLD), (left, new), "elastic", draining=["a"])
    assert places(drained.goes) == [("m", ("a",))]
    assert drained.open_to["n"] == frozenset("bc")


def test_another_size_is_a_restart():
    grown = Problem(GPUS, (Model("m", 30, load=1), *MODELS[1:]))
    change = change_between((PROBLEM, OLD), (grown, OLD), "elastic")
    assert places(change.comes) == [("m", ("a",))]


def test_pins_and_company_hold_on_the_way():
    pinned = Problem(GPUS, (Model("m", 20, load=1, only=["a"]), *MODELS[1:]), apart=(("m", "n"),))
    change = change_between((PROBLEM, OLD), (pinned, OLD))
    assert change.open_to == {"m": frozenset("a")}
    assert change.apart == {frozenset("mn")}


def test_modes_are_known():
    assert checked_mode("fixed") == "fixed"
    with pytest.raises(InputError, match="memory='other', must be fixed or elastic"):
        checked_mode("other")
