"""`colocate watch` as people start it: what it refuses, and what it leaves behind."""

import inspect
import json
from dataclasses import fields
from pathlib import Path

import pytest
from typer.testing import CliRunner

from colocate.cli.main import app
from colocate.cli.replan import replan
from colocate.cli.watch import watch
from colocate.errors import ServerError
from colocate.follow import watch as following
from colocate.inputs.observation.metrics import from_prometheus, metric_names
from colocate.replan import choice
from colocate.replan.policy.settings import PolicySettings
from colocate.replan.steps.step_times import StepTimes

FLEET = """
gpus: [{node: n, kind: H200, count: 2}]
models:
  - {name: chat, size_gb: 16, rate: 6, slo: 5, prompt_tokens: 512, output_tokens: 64,
     kv_bytes_per_token: 131072}
"""
EXAMPLES = Path(__file__).parents[2] / "examples"
NOBODY = "http://name:secret@127.0.0.1:9"
"""Where no server is."""


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fleet.yaml").write_text(FLEET)
    (tmp_path / "places.json").write_text(json.dumps({"chat": ["n-0"]}))
    return tmp_path


def watched(*options, url=NOBODY, start="places.json"):
    asked = ["watch", "fleet.yaml", "--prometheus", url, "--from", start, "--rounds", "1"]
    return CliRunner().invoke(app, [*asked, *options])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"url": "foo"}, "prometheus='foo', must be an address like http://localhost:9090"),
        ({"start": "nowhere.json"}, "nowhere.json: cannot be read"),
        ({"start": "fleet.yaml"}, "fleet.yaml: is a fleet file, must be a plan"),
    ],
)
def test_what_cannot_be_watched_leaves_nothing_behind(site, given, message):
    before = sorted(site.iterdir())
    done = watched(**given)
    assert message in str(done.exception)
    assert "watching" not in done.stderr
    assert sorted(site.iterdir()) == before


@pytest.mark.parametrize("option", ["--listen", "--run"])
def test_an_option_that_makes_no_sense_leaves_nothing_behind(site, option):
    before = sorted(site.iterdir())
    assert watched(option, "").exit_code != 0
    assert sorted(site.iterdir()) == before


def test_a_state_that_is_there_stands_before_a_plan(site):
    first = watched()
    assert "watching 1 engine by http://127.0.0.1:9 (dry run)" in first.stderr
    assert "secret" not in first.stderr
    assert "--from" not in first.stderr
    said = watched().stderr
    assert "note: colocate-watch has state, so --from places.json is not read\n" in said
    (site / "places.json").unlink()
    assert str(watched().exception) == "places.json: does not exist"


def test_by_default_the_command_decides_as_the_policy_does():
    command, policy = inspect.signature(watch).parameters, PolicySettings()
    for name in ("commitment", "hysteresis", "horizon"):
        assert command[name].default == getattr(policy, name)
    assert command["most_moves"].default == policy.most_moves_per_hour


@pytest.mark.parametrize("command", [watch, replan])
def test_by_default_steps_take_as_long_as_in_python(command):
    given, times = inspect.signature(command).parameters, StepTimes()
    for each in fields(times):
        if each.name in given:
            assert given[each.name].default == getattr(times, each.name)
    assert {"load_gb_per_second", "ready_seconds", "drain_seconds"} <= given.keys()


def test_what_is_read_can_be_chosen_as_with_observe(site, monkeypatch):
    asked = []

    def observe(address, question, token):
        asked.append(question)
        raise ServerError("nobody answers")

    monkeypatch.setattr(from_prometheus, "observe_prometheus", observe)
    known = Path(metric_names.__file__).with_name("metric_names.yaml").read_text()
    (site / "names.yaml").write_text(known.replace("engine: vllm", "engine: own"))
    chosen = ["--engine", "own=0.9", "--where", 'cluster="a"', "--map", "m=chat", "--window", "3h"]
    done = watched(*chosen, "--label", "served", "--names", "names.yaml")
    assert done.exit_code == 0, done.output
    (question,) = asked
    assert (question.window, question.where) == (10800.0, 'cluster="a"')
    assert dict(question.mapping) == {"m": "chat"}
    assert {engine.labels for engine in question.names.engines} == {("served",)}
    assert "own" in {engine.engine for engine in question.names.engines}
    done = watched("--engine", "nobody=1")
    assert "engine='nobody' is not known" in str(done.exception)
    assert watched("--map", "chat").exit_code == 2


SPEEDS = ["--load-gb-per-second", "3", "--total-gb-per-second", "5", "--loads-at-once", "2"]
SPEEDS += ["--ready-seconds", "7", "--drain-seconds", "11"]


def test_watch_follows_with_the_settings_that_were_given(site, monkeypatch):
    made = []

    class Seen(following.Watch):
        def __init__(self, *given):
            super().__init__(*given)
            made.append(self.settings)

    monkeypatch.setattr(following, "Watch", Seen)
    rules = ["--commitment", "700", "--hysteresis", "0.5", "--most-moves", "3", "--horizon", "99"]
    assert watched(*SPEEDS, *rules, "--elastic").exit_code == 0
    (settings,) = made
    assert settings.times == StepTimes(3.0, 5.0, 2, 7.0, 11.0)
    assert (settings.commitment, settings.hysteresis, settings.horizon) == (700.0, 0.5, 99.0)
    assert (settings.most_moves_per_hour, settings.memory) == (3, "elastic")


def test_replan_weighs_moves_with_the_speeds_that_were_given(tmp_path, monkeypatch):
    class SeenError(Exception):
        """Ends the command where moves are weighed."""

    def weigh(found, problem, terms, **_):
        raise SeenError(terms.times)

    monkeypatch.setattr(choice, "choose", weigh)
    plan = tmp_path / "plan.json"
    fleet = str(EXAMPLES / "morning.yaml")
    assert CliRunner().invoke(app, ["plan", fleet, "--save", str(plan)]).exit_code == 0
    done = CliRunner().invoke(app, ["replan", fleet, "--from", str(plan), *SPEEDS])
    assert isinstance(done.exception, SeenError)
    assert done.exception.args == (StepTimes(3.0, 5.0, 2, 7.0, 11.0),)


def test_a_fleet_under_mps_is_told_what_the_command_must_do(site):
    text = FLEET.replace("gpus:", "sharing: mps\ngpus:")
    (site / "fleet.yaml").write_text(text)
    assert "MPS" not in watched().stderr
    assert "the fleet shares GPUs by MPS, and watch starts no daemons" in watched(
        "--run", "true"
    ).stderr.replace("\n", " ")
