"""Fleets with time windows, from the plan to what starts and replays it, as people use them."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from colocate.cli.main import app
from colocate.outputs.emit.catalogue import TARGETS

FLEET = Path(__file__).parents[2] / "examples" / "day_and_night.yaml"


def run(*arguments):
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    path = tmp_path_factory.mktemp("windows") / "plan.json"
    run("plan", FLEET, "--save", path)
    return path


def test_a_plan_over_windows_is_confirmed(plan):
    assert "confirmed  status: OPTIMAL" in run("check", plan).output


def test_a_plan_that_states_less_than_its_worst_window_is_refused(plan, tmp_path):
    data = json.loads(plan.read_text())
    data["ratio"] = data["bound"] = data["certificate"]["bound"] = data["ratio"] / 2
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(data))
    result = CliRunner().invoke(app, ["check", str(forged)])
    assert result.exit_code != 0
    assert "OPTIMAL, no placement" not in result.output


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_a_plan_over_windows_can_be_started(plan, tmp_path, target):
    run("emit", plan, "--to", target, "--out", tmp_path / "out")
    assert list((tmp_path / "out").iterdir())


def test_caches_of_a_plan_over_windows_fit_beside_each_other(plan, tmp_path):
    run("emit", plan, "--to", "vllm", "--out", tmp_path)
    script = (tmp_path / "vllm.sh").read_text()
    shares = [float(each) for each in re.findall(r"--gpu-memory-utilization=([0-9.]+)", script)]
    assert len(shares) == 4
    assert all(share > 0.3 for share in shares)
    assert sum(shares) <= 2.0


def test_a_percentile_that_leaves_nothing_out_says_why():
    told = " ".join(run("plan", FLEET, "--percentile", "95", "--time-limit", "1").stderr.split())
    why = "'night', the window with most demand, is 33.3% of the time"  # 8 hours of 24
    assert f"a percentile of 95 leaves nothing out: {why}" in told
    whole = run("plan", FLEET, "--percentile", "100", "--time-limit", "1").stderr
    assert "leaves nothing out" not in whole
    without = run("plan", FLEET.parent / "start" / "fleet.yaml", "--percentile", "95").stderr
    assert "a percentile of 95 leaves nothing out: the fleet has no time windows" in (
        " ".join(without.split())
    )


def test_a_replay_through_all_windows_is_not_held_against_the_worst_one(plan):
    told = " ".join(run("simulate", plan, "--minutes", "1").output.split())
    assert "the replay goes through all windows as they are stated, so the two are not" in told
    assert "the closed form" not in told
    models = json.loads(run("simulate", plan, "--minutes", "1", "--json").stdout)["models"]
    assert all(not model.get("disagrees") for model in models)


def test_windows_that_are_left_out_are_named():
    told = " ".join(run("plan", FLEET, "--percentile", "60").stderr.split())
    assert "'night': left out, 33.3% of the time; the plan promises nothing there" in told
