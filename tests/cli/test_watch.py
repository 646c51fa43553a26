"""`colocate watch` as people start it: what it refuses, and what it leaves behind."""

import inspect
import json
from dataclasses import fields

import pytest
from typer.testing import CliRunner

from colocate.cli.main import app
from colocate.cli.replan import replan
from colocate.cli.watch import watch
from colocate.replan.policy.settings import PolicySettings
from colocate.replan.steps.step_times import StepTimes

FLEET = """
gpus: [{node: n, kind: H200, count: 2}]
models:
  - {name: chat, size_gb: 16, rate: 6, slo: 5, prompt_tokens: 512, output_tokens: 64,
     kv_bytes_per_token: 131072}
"""
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


def test_what_is_read_can_be_chosen_as_with_observe(site):
    done = watched("--engine", "vllm=0.9", "--where", 'cluster="a"', "--map", "m=chat")
    assert done.exit_code == 0
    done = watched("--engine", "nobody=1")
    assert "engine='nobody' is not known" in str(done.exception)
    assert watched("--map", "chat").exit_code == 2


def test_a_fleet_under_mps_is_told_what_the_command_must_do(site):
    text = FLEET.replace("gpus:", "sharing: mps\ngpus:")
    (site / "fleet.yaml").write_text(text)
    assert "MPS" not in watched().stderr
    assert "the fleet shares GPUs by MPS, and watch starts no daemons" in watched(
        "--run", "true"
    ).stderr.replace("\n", " ")
