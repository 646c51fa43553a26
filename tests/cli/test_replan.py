"""`colocate replan` and `colocate diff`, as a user calls them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from colocate.cli.main import app
from colocate.cli.replan import SIZES, in_units
from colocate.errors import InfeasibleError, StepFaultError, UnknownNameError
from colocate.replan.checker import step_check

EXAMPLES = Path(__file__).parents[2] / "examples"
EVENING = EXAMPLES / "evening.yaml"


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    path = tmp_path_factory.mktemp("plans") / "plan.json"
    assert run("plan", EXAMPLES / "morning.yaml", "--save", path).exit_code == 0
    return path


def test_a_budget_gives_a_plan_with_pages_steps_and_a_picture(plan, tmp_path):
    new, page, plot, steps = (tmp_path / n for n in ("new.json", "r.html", "r.svg", "steps"))
    done = run(
        "replan", EVENING, "--from", plan, "--budget", "20GB", "--memory", "elastic",
        "--save", new, "--page", page, "--plot", plot, "--steps", steps,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "move: pressure" in done.stdout
    assert "optimal" in done.stdout
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert plot.read_text().startswith("<svg xmlns")
    for told in ("What moving brings", "highest pressure", "weights to load", "best found"):
        assert told in plot.read_text()
    assert {"plot wide", "plot narrow"} <= set(re.findall(r'class="(plot \w+)"', page.read_text()))
    assert run("check", new).exit_code == 0
    script = (steps / "steps.sh").read_text()
    assert 'on alpha "$NEW/vllm-alpha.sh" start' in script
    assert (steps / "new" / "vllm-alpha.sh").exists()
    command = [str(Path(sys.executable).parent / "shellcheck"), str(steps / "steps.sh")]
    checked = subprocess.run(command, check=False, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
    told = run("diff", plan, new)
    assert "elsewhere" in told.stdout
    data = json.loads(run("diff", plan, new, "--json").stdout)
    assert 0 < data["loaded_gb"] <= 20
    assert set(data["moved"])
    assert run("diff", plan, new, "--page", tmp_path / "d.html").exit_code == 0


def test_steps_that_do_not_stand_the_check_are_not_written(plan, tmp_path, monkeypatch):
    monkeypatch.setattr(step_check, "faults_of_steps", lambda found: ["a GPU is overfilled"])
    asked = ["replan", EVENING, "--from", plan, "--budget", "20GB", "--steps", tmp_path / "steps"]
    done = run(*asked)
    assert isinstance(done.exception, StepFaultError)
    assert "not safe: a GPU is overfilled" in str(done.exception)
    assert not (tmp_path / "steps").exists()


@pytest.mark.parametrize("name", ["r.png", "r.bmp", "r"])
def test_a_picture_that_is_no_svg_is_refused_before_any_work(plan, tmp_path, name):
    done = run("replan", EVENING, "--from", plan, "--plot", tmp_path / name)
    assert done.exit_code == 2
    assert "must end in .svg" in " ".join(done.stderr.replace("│", " ").split())
    assert done.stdout == ""
    assert not (tmp_path / name).exists()


def test_the_frontier_leads_to_the_best_net_gain(plan, tmp_path):
    new, page = tmp_path / "new.json", tmp_path / "r.html"
    asked = ("replan", EVENING, "--from", plan)
    data = json.loads(run(*asked, "--json", "--save", new).stdout)
    stay, *moves = data["points"]
    assert stay["worth"] is None
    gains = [point["worth"]["net_gain"] for point in moves]
    chosen = data["points"][data["chosen"]]
    assert data["rule"] == "net gain"
    assert chosen["worth"] == data["worth"]
    assert data["worth"]["net_gain"] == max(gains) > gains[-1]
    assert chosen["value"] > moves[-1]["value"]
    assert json.loads(run("diff", plan, new, "--json").stdout)["loaded_gb"] == chosen["moved_gb"]
    told = " ".join(run(*asked, "--page", page).stdout.split())
    assert "chosen: the best net gain, 817 seconds of the fleet's work" in told
    assert "* 31 GB 0.2585 0.2585 817 optimal" in told
    assert "<td>chosen</td>" in page.read_text().replace(' class="words"', "")
    assert "net gain" in page.read_text()


def test_a_budget_is_used_though_a_smaller_move_brings_more(plan):
    done = run("replan", EVENING, "--from", plan, "--budget", "1TB", "--json")
    data = json.loads(done.stdout)
    assert data["rule"] == "asked"
    assert data["chosen"] == len(data["points"]) - 1
    assert data["worth"]["net_gain"] < 700


def test_if_no_move_pays_the_answer_is_stay_with_the_figures_and_nothing_is_done(plan, tmp_path):
    new, steps = tmp_path / "new.json", tmp_path / "steps"
    done = run(
        *("replan", EVENING, "--from", plan, "--lasts", "2min", "--save", new, "--steps", steps)
    )
    told = " ".join(done.stdout.split())
    assert told.startswith("stay: no move pays; the best is pressure 0.529 -> ")
    assert "chosen: staying; the best net gain of a move is -8.59 " in told
    assert "if demand lasts 60 s (120 s less 50%)" in told
    assert json.loads(run("diff", plan, new, "--json").stdout)["loaded_gb"] == 0.0
    assert (steps / "steps.txt").read_text().startswith("no steps: everything stays")


def test_a_gpu_to_be_left_is_no_fault(plan):
    done = run("replan", EVENING, "--from", plan, "--drain", "alpha-3")
    told = " ".join(done.stdout.split())
    assert told.startswith("move: alpha-3 is to be left; ")
    assert "alpha-3 is to be left, so moves are not compared with staying" in told


def test_if_every_move_interrupts_a_model_and_none_may_everything_stays(plan):
    done = run("replan", EVENING, "--from", plan, "--always-serving")
    assert done.exit_code == 0
    assert done.stdout.startswith("stay: no steps to a better placement keep every model serving")
    refused = run("replan", EVENING, "--from", plan, "--always-serving", "--budget", "20GB")
    assert isinstance(refused.exception, InfeasibleError)


def test_json_has_points_worth_and_way(plan):
    done = run("replan", EVENING, "--from", plan, "--target", "0.31", "--json", "--lasts", "1min")
    data = json.loads(done.stdout)
    assert data["points"][data["chosen"]]["value"] <= 0.31
    assert data["worth"]["pays"] is False  # after a minute of demand nothing is gained yet
    assert data["way"]["steps"]


@pytest.mark.parametrize(
    "target", ["sglang", "kvcached", "kubernetes", "compose", "systemd", "ray"]
)
def test_every_target_gets_at_least_a_list(plan, tmp_path, target):
    done = run(
        "replan", EVENING, "--from", plan, "--budget", "20GB", "--steps", tmp_path, "--to", target
    )
    assert done.exit_code == 0, done.output
    assert "undo: unload" in (tmp_path / "steps.txt").read_text()
    assert (tmp_path / "steps.sh").exists() == (target != "ray")
    assert ("no commands: Ray" in done.stderr) == (target == "ray")
    assert list((tmp_path / "new").iterdir())


def test_rates_that_may_be_off_count(plan):
    exact = run("replan", EVENING, "--from", plan, "--budget", "20GB")
    assert "Rates count as exact" in " ".join(exact.stdout.split())
    unsure = run(
        "replan", EVENING, "--from", plan, "--budget", "20GB", "--rate-uncertainty", "0.3", "--json"
    )
    worth = json.loads(unsure.stdout)["worth"]
    assert set(worth["cases"]) == {"stated", "low", "high"}
    assert worth["rate_uncertainty"] == 0.3


def test_wrong_input_is_told(plan):
    assert run("replan", EVENING, "--from", plan, "--budget", "many").exit_code == 2
    assert run("replan", EVENING, "--from", EVENING).exit_code != 0
    lost = run("replan", EVENING, "--from", plan, "--without", "nowhere")
    assert isinstance(lost.exception, UnknownNameError)
    out = run("replan", EVENING, "--from", plan, "--target", "0.0001")
    assert isinstance(out.exception, InfeasibleError)


def test_a_lost_gpu_forces_a_move(plan):
    done = run("replan", EVENING, "--from", plan, "--without", "alpha-0", "--json")
    data = json.loads(done.stdout)
    assert data["stay"] is None
    assert data["forced_gb"] > 0


def test_a_plan_of_another_fleet_is_refused(tmp_path):
    other = tmp_path / "other.json"
    assert run("plan", EXAMPLES / "latency.yaml", "--save", other).exit_code == 0
    done = run("replan", EVENING, "--from", other)
    assert "other.json: is of another fleet: none of its GPUs is in this one" in str(done.exception)


def test_a_lost_gpu_is_told_with_who_is_not_served_and_what_more_is_loaded(plan):
    done = run("replan", EVENING, "--from", plan, "--without", "alpha-0")
    told = " ".join(done.stdout.split())
    assert "move: the old placement no longer works: model 'coder' is on no GPU" in told
    assert "for restarts and detours); not served at first: coder for" in told


def test_rates_that_may_be_anything_are_refused(plan):
    done = run("replan", EVENING, "--from", plan, "--rate-uncertainty", "1e9")
    assert done.exit_code == 2
    assert "'--rate-uncertainty': Input should be less than or equal to 10" in done.output


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--budget", "20GX"], "'20GX' is not a size such as 40GB or 40GiB, as --budget must be"),
        (["--lasts", "1x"], "'1x' is not a time such as 90min or 2h, as --lasts must be"),
        (["--budget", "1GB", "--target", "1"], "--budget and --target are both given"),
    ],
)
def test_a_slip_names_its_option(plan, options, told):
    done = run("replan", EVENING, "--from", plan, *options)
    assert done.exit_code == 2
    assert told in " ".join(done.stderr.replace("│", " ").split())


def test_a_budget_may_be_in_binary_units():
    assert in_units("20GiB", SIZES, "") == pytest.approx(21.474836)


def test_a_bound_holds_up_to_its_point_and_what_was_found_from_it_on(plan, tmp_path):
    plot = tmp_path / "frontier.svg"
    run("replan", EVENING, "--from", plan, "--budget", "20GB", "--plot", plot)
    found = re.findall(r'<path d="(M[^h"]+H[^"]+)" class="(value|bound)"', plot.read_text())
    lines = {kind: path for path, kind in found}
    drops = {kind: [float(x) for x in re.findall(r"H([0-9.]+)", d)] for kind, d in lines.items()}
    starts = {kind: float(re.match(r"M([0-9.]+)", d).group(1)) for kind, d in lines.items()}
    assert starts["bound"] == starts["value"] == drops["bound"][0]
    assert drops["value"][0] == drops["bound"][-1] > drops["bound"][0]
