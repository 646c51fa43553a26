"""`colocate watch` as it is run, in a world that means it ill."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from math import inf, nan
from pathlib import Path

import pytest

from colocate.errors import OutputError
from colocate.follow.state_folder import StateFolder
from colocate.follow.watch import RoundOutcome
from colocate.inputs.fleet import fleet_of
from colocate.inputs.observation.metrics.from_prometheus import (
    PrometheusQuestion,
    observe_prometheus,
)
from tests.campaign import LONG
from tests.follow.fleets import PLACES as CROWDED
from tests.follow.fleets import Fixture, measured
from tests.follow.step_world import LockedWorld
from tests.inputs.observation.fake_prometheus import Store, serving

KILLS = 50 if LONG else 6
POINTS = 121
MODEL = {"slo": 6, "prompt_tokens": 500, "output_tokens": 150, "tpot_slo": 0.05}
MODELS = {
    "chat": "Llama-3.1-8B-Instruct",
    "code": "Qwen2.5-7B-Instruct",
    "tiny": "Llama-3.2-1B-Instruct",
}
PLACES = {"chat": ["g-0"], "code": ["g-1"], "tiny": ["g-2"]}
COMMAND = f"{sys.executable} {Path(__file__).parent / 'step_world.py'}"


def store(rates, now=None):
    """Return half an hour of steady counters of some models."""
    made = Store(now or time.time())
    for model, rate in rates.items():
        labels = {"model_name": model, "instance": f"{model}:8000", "job": "vllm"}
        done = [rate * 15.0 * n if isinstance(rate, float) else rate(n) for n in range(POINTS)]
        made.add("vllm:request_success_total", done, finished_reason="stop", **labels)
        made.add("vllm:num_requests_running", [1.0] * POINTS, **labels)
        made.add("vllm:num_requests_waiting", [0.0] * POINTS, **labels)
        made.histogram("vllm:request_prompt_tokens", [500 * n for n in done], done, **labels)
        made.histogram("vllm:request_generation_tokens", [150 * n for n in done], done, **labels)
    return made


STEADY = {"chat": 1.0, "code": 1.0, "tiny": 0.5}


class Site:
    """A folder with a fleet file, a placement and a world, and a watch to start there."""

    def __init__(self, folder):
        self.folder, self.world = folder, folder / "world"
        self.world.mkdir(parents=True)
        (self.world / "world.json").write_text("{}")
        (self.world / "memory.json").write_text("{}")
        self.write_fleet([0, 1, 2])
        (folder / "places.json").write_text(json.dumps(PLACES))

    def write_fleet(self, gpus):
        """Write the fleet file with some of its GPUs, all at once."""
        fleet = {
            "gpus": [{"name": f"g-{n}", "kind": "H100-80GB"} for n in gpus],
            "models": [{"name": n, "config": c, "rate": 1.0, **MODEL} for n, c in MODELS.items()],
            "sharing": "slices",
        }
        (self.folder / "new.json").write_text(json.dumps(fleet))
        os.replace(self.folder / "new.json", self.folder / "fleet.json")
        with LockedWorld(self.world) as engines:
            for name, step in list(engines.items()):
                if not {f"g-{n}" for n in gpus}.issuperset(step["gpus"]):
                    del engines[name]

    def started(self, url, *options, run=True, rounds=None):
        arguments = [
            sys.executable,
            "-m",
            "colocate",
            "watch",
            "fleet.json",
            "--from",
            "places.json",
        ]
        arguments += ["--prometheus", url, "--interval", "1", *options]
        arguments += ["--run", f"{COMMAND} {self.world}"] if run else []
        arguments += ["--rounds", str(rounds)] if rounds else []
        return subprocess.Popen(
            arguments, cwd=self.folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def watched(self, url, *options, **fields):
        """Run a watch to its end; return its exit code and what it said."""
        process = self.started(url, *options, **{"rounds": 1, **fields})
        _, said = process.communicate(timeout=300)
        return process.returncode, said

    @property
    def state(self):
        return json.loads((self.folder / "colocate-watch" / "state.json").read_text())

    @property
    def faults(self):
        file = self.world / "faults"
        return file.read_text().splitlines() if file.exists() else []

    def wait_until_losses_are_known(self, gpus):
        """Wait until no engine of the state is on a GPU that left.

        A GPU that leaves and comes back while nobody looks takes its engines along unseen.
        """
        there = {f"g-{n}" for n in gpus}
        until = time.monotonic() + 120.0
        while not all(there.issuperset(each["gpus"]) for each in self.state["engines"]):
            assert time.monotonic() < until, "the watch does not see that a GPU left"
            time.sleep(0.02)

    def run_what_is_known(self):
        """Let the engines of the state run in the world."""
        engines = {f"{e['model']} on {'+'.join(e['gpus'])}": e for e in self.state["engines"]}
        (self.world / "world.json").write_text(json.dumps(engines))
        (self.world / "memory.json").write_text(json.dumps({f"g-{n}": 81.0 for n in range(3)}))


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


def test_it_survives_kills_at_any_moment_while_gpus_come_and_go(site):
    rng = random.Random(1)
    with serving(store(STEADY)) as (url, _):
        assert site.watched(url)[0] == 0
        site.run_what_is_known()
        for _ in range(KILLS):
            gpus = rng.choice([[0, 1, 2], [0, 1], [0, 2], [1, 2]])
            site.write_fleet(gpus)
            process = site.started(url)
            site.wait_until_losses_are_known(gpus)
            time.sleep(rng.uniform(0.0, 5.0))
            process.send_signal(signal.SIGKILL)
            _, said = process.communicate()
            assert process.returncode == -signal.SIGKILL, said
        site.write_fleet([0, 1, 2])
        until = time.monotonic() + 600.0
        while True:
            code, said = site.watched(url, rounds=8)
            assert code == 0, said
            if "a step failed there lately" not in said.rpartition("stay: ")[2]:
                break
            assert time.monotonic() < until, said
    assert site.faults == []
    assert "load" in (site.world / "log").read_text()
    state = site.state
    assert {each["condition"] for each in state["engines"]} == {"serving"}, said
    assert {each["model"] for each in state["engines"]} == set(MODELS), said
    world = json.loads((site.world / "world.json").read_text())
    assert len(world) >= len(state["engines"])


@pytest.mark.parametrize("text", ["", '{"version": 1, "engines": [{"model": "chat"', "no state"])
def test_a_state_that_cannot_be_read_starts_nothing(site, text):
    folder = site.folder / "colocate-watch"
    folder.mkdir()
    (folder / "state.json").write_text(text)
    code, said = site.watched("http://127.0.0.1:9")
    assert (code, "state.json: not valid JSON" in said) == (3, True)
    assert "remove it to begin anew" in said
    assert (folder / "state.json").read_text() == text


def test_a_state_of_another_fleet_starts_nothing(site):
    with serving(store(STEADY)) as (url, _):
        assert site.watched(url)[0] == 0
        state = site.state
        state["gpus"] = ["other-0", "other-1"]
        (site.folder / "colocate-watch" / "state.json").write_text(json.dumps(state))
        code, said = site.watched(url)
    assert code == 3
    assert "state.json: is of another fleet" in said
    assert site.state == state


@pytest.fixture
def folder(tmp_path):
    with StateFolder(tmp_path / "state") as made:
        yield made


NONSENSE = {
    "no number": lambda _: nan,
    "endless": lambda _: inf,
    "below nothing": lambda n: -15.0 * n,
    "huge": lambda n: 1e300 * n,
    "always falling": lambda n: 1e6 - 15.0 * n,
    "a million a second": lambda n: 1.5e7 * n,
    "up and down": lambda n: (n % 7) * 1e9,
}


@pytest.mark.parametrize("counter", NONSENSE.values(), ids=NONSENSE)
def test_counters_that_cannot_be_move_nothing(folder, counter):
    fixture = Fixture(folder, places=CROWDED)
    with serving(store({**STEADY, "chat": counter})) as (url, _):
        question = PrometheusQuestion(1800.0)
        around = replace(
            fixture.watch.around, observe=lambda: observe_prometheus(url, question, None)
        )
        fixture.watch.around = around
        outcomes = [fixture.watch.round() for _ in range(2)]
    assert set(outcomes) <= {RoundOutcome.STAY, RoundOutcome.NO_DEMAND}
    assert fixture.performed == []
    assert len(fixture.told) == 1


class FullDisk:
    """A folder on whose disk there is no room from some write on, for some writes."""

    def __init__(self, folder, monkeypatch, first, number):
        self.left = range(first, first + number)
        self.count = 0
        write = folder.write

        def full(state):
            self.count += 1
            if self.count in self.left:
                raise OutputError("state.json: cannot be written: No space left on device")
            write(state)

        monkeypatch.setattr(folder, "write", full)


@pytest.mark.parametrize("first", range(1, 14))
def test_a_full_disk_stops_it_only_until_there_is_room(folder, monkeypatch, first):
    fixture = Fixture(folder)
    fixture.observation = measured(chat=24.0, code=24.0, tiny=0.5)
    FullDisk(folder, monkeypatch, first, 3)
    outcomes = [fixture.watch.round() for _ in range(8)]
    assert outcomes[-1] is RoundOutcome.STAY, fixture.told
    told = [words for words in fixture.told if "cannot be written" in words]
    assert 1 <= len(told) <= 3
    places = {each.engine.model: each.engine.gpus for each in fixture.watch.state.engines}
    assert len(places) == len(fixture.watch.state.engines) == 3
    assert places["chat"] != places["code"]
    assert folder.read() == fixture.watch.state


def test_a_model_that_the_fleet_has_not_any_more_is_unloaded(folder):
    fixture = Fixture(folder, places={"chat": ("g-0",), "code": ("g-1",), "tiny": ("g-1",)})
    fleet = fixture.fleet.as_dict()
    models = [each for each in fleet["models"] if each["name"] != "tiny"]
    fixture.fleet = fleet_of({**fleet, "models": models})
    fixture.observation = measured(chat=2.0, code=2.0)
    fixture.watch.round()
    assert fixture.performed == [("drain", "tiny", ("g-1",)), ("unload", "tiny", ("g-1",))]
    assert [each.engine.model for each in fixture.watch.state.engines] == ["chat", "code"]


def test_a_clock_that_was_far_ahead_and_is_set_back_holds_nothing_for_long(folder):
    fixture = Fixture(folder)
    fixture.observation = measured(chat=24.0, code=24.0, tiny=0.5)
    fixture.now = 4e9
    assert fixture.watch.round() is RoundOutcome.MOVE
    fixture.now = 10_000.0
    fixture.watch.round()
    assert all(move.when <= 10_000.0 for move in folder.read().moves)
