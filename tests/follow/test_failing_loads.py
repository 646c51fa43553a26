"""Loads that fail: the others stay where they are, and demand is followed all the same."""

from collections import Counter

import pytest

from colocate.follow.engine_records import places_of, serving
from colocate.follow.state_folder import StateFolder
from colocate.inputs.fleet import fleet_of
from tests.follow.fleets import Fixture, measured, small_fleet

ASKED = {"slo": 6, "prompt_tokens": 500, "output_tokens": 150, "tpot_slo": 0.05}
WEIGHTS_GB = 16.06
"""Of the model that all of `sized` are."""


@pytest.fixture
def folder(tmp_path):
    with StateFolder(tmp_path / "state") as made:
        yield made


def sized(count, **sizes_gb):
    """A fleet of models of some sizes, which are asked little."""
    models = [
        {
            "name": name,
            "config": "Llama-3.1-8B-Instruct",
            "rate": 0.3,
            "overhead_gb": size - WEIGHTS_GB,
            **ASKED,
        }
        for name, size in sizes_gb.items()
    ]
    gpus = [{"name": "g", "kind": "H100-80GB", "count": count}]
    return fleet_of({"gpus": gpus, "models": models, "sharing": "slices"})


def follow(fixture, seconds, every=30.0):
    """Let rounds pass, and return what was said in them."""
    told, end = len(fixture.told), fixture.now + seconds
    while fixture.now < end:
        fixture.watch.round()
        fixture.now += every
    return fixture.told[told:]


def places(fixture):
    return places_of(serving(fixture.watch.state.engines))


def test_a_model_that_cannot_come_moves_nobody_else(folder):
    fleet = sized(3, bad=35, x=40, y=30, z=25, u=30, v=25)
    there = {"x": ("g-0",), "y": ("g-1",), "z": ("g-1",), "u": ("g-2",), "v": ("g-2",)}
    fixture = Fixture(folder, fleet=fleet, places=there)
    fixture.observation = measured(**dict.fromkeys(("bad", *there), 0.3))
    fixture.failing = {("load", "bad")}
    follow(fixture, 7200.0)
    loads = Counter(model for kind, model, _ in fixture.performed if kind == "load")
    assert set(loads) == {"bad"}
    assert loads["bad"] < 20
    fixture.failing = set()
    follow(fixture, 960.0)
    assert places(fixture)["bad"] == ("g-0",)


def test_a_model_that_cannot_come_does_not_keep_others_from_moving(folder):
    config = "Llama-3.2-1B-Instruct"
    models = [
        {"name": "chat", "config": "Llama-3.1-8B-Instruct", "rate": 1.0, **ASKED},
        {"name": "code", "config": "Qwen2.5-7B-Instruct", "rate": 1.0, **ASKED},
        {"name": "tiny", "config": config, "rate": 1.0, **ASKED},
        {"name": "bad", "config": config, "rate": 1.0, **ASKED},
    ]
    fleet = small_fleet(gpus=[{"name": "g", "kind": "H100-80GB", "count": 3}], models=models)
    fixture = Fixture(folder, fleet=fleet)
    fixture.failing = {("load", "bad")}
    fixture.observation = measured(chat=0.5, code=0.5, tiny=0.5, bad=0.5)
    follow(fixture, 3000.0)
    assert places(fixture)["chat"] == places(fixture)["code"]
    fixture.observation = measured(chat=24.0, code=24.0, tiny=0.5, bad=0.5)
    follow(fixture, 300.0)
    assert places(fixture)["chat"] != places(fixture)["code"]


def test_a_gpu_that_failed_and_left_keeps_nobody_from_an_engine(folder):
    def gpus(*names):
        return [{"name": name, "kind": "H100-80GB"} for name in names]

    fleet = small_fleet(gpus=gpus("g-0", "g-1"))
    fixture = Fixture(folder, fleet=fleet, places={"chat": ("g-0",), "tiny": ("g-0",)})
    fixture.observation = measured(chat=2.0, code=2.0, tiny=0.5)
    fixture.failing = {("load", "code")}
    follow(fixture, 120.0)
    fixture.failing, fixture.fleet = set(), small_fleet(gpus=gpus("g-0", "g-2"))
    follow(fixture, 60.0)
    assert places(fixture)["code"] == ("g-2",)


def test_room_that_could_not_be_made_is_tried_again_soon(folder):
    fleet = sized(2, m=35, n=25, p=40, q=50)
    there = {"n": ("g-0",), "p": ("g-0",), "q": ("g-1",)}
    fixture = Fixture(folder, fleet=fleet, places=there)
    fixture.observation = measured(m=0.3, n=0.3, p=0.3, q=0.3)
    fixture.failing = {("load", "n")}
    follow(fixture, 15.0, every=15.0)
    assert ("load", "n", ("g-1",)) in fixture.performed
    fixture.failing = set()
    follow(fixture, 60.0, every=15.0)
    assert places(fixture)["m"] == ("g-0",)


def test_a_silent_model_is_named_beside_one_without_a_place_and_heard_at_once(folder):
    fleet = small_fleet()
    large = {"name": "big", "size_gb": 86.0, "kv_bytes_per_token": 1000, "rate": 0.1, **ASKED}
    models = [*fleet.as_dict()["models"], large]
    fixture = Fixture(folder, fleet=small_fleet(models=models))
    fixture.observation = measured(chat=24.0, tiny=0.5, big=0.1)
    (told,) = follow(fixture, 30.0)
    assert "big has no engine: it needs" in told
    assert told.endswith("some tell nothing until they were asked once")
    assert "nobody knows how often code is asked" in told
    fixture.observation = measured(chat=24.0, code=24.0, tiny=0.5, big=0.1)
    follow(fixture, 30.0)
    assert places(fixture)["chat"] != places(fixture)["code"]


def test_an_engine_that_was_never_to_stay_does_not_stay_because_a_drain_failed(folder):
    fixture = Fixture(folder)
    fixture.observation = measured(chat=24.0, code=24.0, tiny=0.5)
    fixture.failing = {(kind, model) for kind in ("switch", "drain") for model in ("chat", "code")}
    follow(fixture, 60.0)
    assert any(kind == "drain" for kind, _, _ in fixture.performed)
    fixture.failing = set()
    fixture.observation = measured(chat=0.5, code=0.5, tiny=0.5)
    follow(fixture, 120.0)
    assert sorted(map(len, places(fixture).values())) == [1, 1, 1]


@pytest.mark.parametrize("tiny", [("g-1",), ()])
def test_a_rule_that_is_new_and_broken_already_stops_nothing(folder, tiny):
    fleet = small_fleet(apart=[["chat", "code"]])
    there = {"chat": ("g-0",), "code": ("g-0",), "tiny": tiny}
    fixture = Fixture(folder, fleet=fleet, places={name: at for name, at in there.items() if at})
    fixture.observation = measured(chat=24.0, code=24.0, tiny=0.5)
    follow(fixture, 120.0)
    assert places(fixture)["chat"] != places(fixture)["code"]
    assert places(fixture)["tiny"]


def test_an_engine_that_failed_on_a_detour_is_not_sent_on_it_again_soon(folder):
    config = {"chat": "Llama-3.1-8B-Instruct", "code": "Qwen2.5-14B-Instruct"}
    config |= {"small": "Mistral-7B-Instruct-v0.3", "titles": "Qwen2.5-7B-Instruct"}
    asked = {"slo": 8, "prompt_tokens": 500, "output_tokens": 200, "tpot_slo": 0.05, "rate": 1.0}
    models = [{"name": name, "config": kind, **asked} for name, kind in config.items()]
    gpus = [{"name": "g", "kind": "A100-80GB", "count": 3}]
    fleet = fleet_of({"gpus": gpus, "models": models, "sharing": "slices"})
    there = {"chat": ("g-0",), "code": ("g-1",), "small": ("g-2",), "titles": ("g-2",)}
    fixture = Fixture(folder, fleet=fleet, places=there, memory="fixed")
    fixture.failing = {("load", name) for name in config}
    fixture.observation = measured(chat=3.0, code=12.0, small=9.0, titles=9.0)
    follow(fixture, 900.0, every=10.0)
    loads = [(model, gpus) for kind, model, gpus in fixture.performed if kind == "load"]
    assert loads
    assert max(Counter(loads).values()) <= 6
