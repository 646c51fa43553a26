"""The judges of the campaign: the world sees what must not be, and brute force what can be."""

import numpy as np
import pytest

from colocate import Gpu, Model, Problem
from colocate.replan.placed_engine import PlacedEngine
from colocate.replan.steps.fleet_change import FleetChange
from tests.replan.recovery.every_state import fits_somehow, keeps_serving_somehow
from tests.replan.recovery.world import BrokenRuleError, World

M, N = ("m", ("a",), 50.0), ("n", ("b",), 50.0)


def world():
    everywhere = frozenset("abc")
    made = World(
        dict.fromkeys("abc", 80.0),
        {"a": "x", "b": "x", "c": "y"},
        frozenset({frozenset("mo")}),
        {"m": everywhere, "n": frozenset("ab"), "o": everywhere},
        np.random.default_rng(0),
    )
    made.engines = {M: "open", N: "open"}
    return made


@pytest.mark.parametrize(
    ("engine", "told"),
    [
        (("n", ("a",), 50.0), "a holds 100 of 80 GB"),
        (("m", ("a",), 10.0), "a has two engines of m"),
        (("o", ("a",), 10.0), "must be apart"),
        (("n", ("c",), 10.0), "n may not be on"),
        (("m", ("b", "c"), 10.0), "several machines"),
    ],
)
def test_the_world_sees_who_comes_where_it_must_not(engine, told):
    with pytest.raises(BrokenRuleError, match=told):
        world().begin("load", engine)


def test_the_world_sees_a_model_that_is_lost_and_one_that_is_not_ready():
    made = world()
    made.least_open = {"m": 1}
    with pytest.raises(BrokenRuleError, match="m has 0 engines, 1 at least"):
        made.begin("drain", M)
    made = world()
    made.begin("load", ("o", ("c",), 10.0))
    with pytest.raises(BrokenRuleError, match="before it is ready"):
        made.begin("switch", ("o", ("c",), 10.0))


def test_a_gpu_that_is_known_to_be_gone_gets_nothing():
    made = world()
    made.lose("c")
    made.begin("load", ("o", ("c",), 10.0))
    assert not made.end("load", ("o", ("c",), 10.0), failed=False)
    made.known_lost = {"c"}
    with pytest.raises(BrokenRuleError, match="which is gone"):
        made.begin("load", ("o", ("c",), 10.0))


def test_steps_may_be_repeated():
    made, moved = world(), ("m", ("c",), 50.0)
    for kind in ("load", "load", "wait", "wait", "switch", "switch", "load"):
        made.begin(kind, moved)
        assert made.end(kind, moved, failed=False)
    assert made.engines[moved] == "open"
    for kind in ("drain", "drain", "unload", "unload"):
        made.begin(kind, M)
        assert made.end(kind, M, failed=False)
    assert made.engines == {N: "open", moved: "open"}


def change(gpus, **fields):
    now, then = (
        tuple(PlacedEngine(model, (gpu,), 50.0, 50.0) for model, gpu in places)
        for places in (("ma", "nb"), ("mb", "na"))
    )
    return FleetChange(dict.fromkeys(gpus, 80.0), now, then, **fields)


def test_a_swap_needs_a_spare_gpu():
    everywhere = {"m": [("a",), ("b",), ("c",)], "n": [("a",), ("b",)]}
    assert keeps_serving_somehow(change("abc"), everywhere) is True
    here = {"m": [("a",), ("b",)], "n": [("a",), ("b",)]}
    assert keeps_serving_somehow(change("abc"), here) is False
    assert keeps_serving_somehow(change("ab"), here) is False


def test_every_placement_is_tried():
    gpus = [Gpu("a", 80.0, node="x"), Gpu("b", 40.0, node="x")]
    wide = Model("w", 70.0, load=1.0, shards=2)
    assert fits_somehow(Problem(gpus, [wide, Model("m", 44.0, load=1.0)]))
    assert not fits_somehow(Problem(gpus, [wide, Model("m", 46.0, load=1.0)]))
    twice = Model("t", 30.0, load=1.0, replicas=2)
    assert fits_somehow(Problem(gpus, [twice]))
    assert not fits_somehow(Problem(gpus, [twice, wide]))
