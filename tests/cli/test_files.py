"""Files that commands read and write: which is which, what is never lost, and pipes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from colocate.cli.exit_codes import READER_GONE
from tests.cli.test_commands import EXAMPLE, ROOT, fleet, run

TINY = """
gpus: [{name: a, memory_gb: 80}]
models: [{name: m, size_gb: 10, load: 1}]
"""


@pytest.mark.parametrize("option", ["--save", "--report"])
def test_a_plan_is_never_written_over_its_fleet(tmp_path, option):
    path = fleet(tmp_path, TINY)
    done = run("plan", path, option, tmp_path / "." / "fleet.yaml")
    assert done.returncode == 2
    assert "is the input; write to another file" in done.stderr
    assert path.read_text() == TINY


def test_a_link_to_the_fleet_is_the_fleet(tmp_path):
    path = fleet(tmp_path, TINY)
    link = tmp_path / "plan.json"
    link.symlink_to(path)
    assert run("plan", path, "--save", link).returncode == 2
    assert path.read_text() == TINY


def test_capacity_does_not_write_over_its_fleet(tmp_path):
    path = fleet(tmp_path, TINY)
    done = run("capacity", path, "--pressure", "1", "--save", path)
    assert done.returncode == 2
    assert path.read_text() == TINY


def test_files_that_cannot_be_written_are_refused_before_any_work(tmp_path):
    path, page = fleet(tmp_path, TINY), tmp_path / "plan.json"
    done = run("plan", path, "--save", tmp_path / "nowhere" / "plan.json")
    assert (done.returncode, done.stdout) == (1, "")
    assert "plan.json: cannot be written: No such file or directory" in done.stderr
    done = run("plan", path, "--save", page, "--report", tmp_path / "." / "plan.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "is given twice; write to different files" in done.stderr


def test_what_was_written_is_said_on_stderr(tmp_path):
    path, saved, page = fleet(tmp_path, TINY), tmp_path / "plan.json", tmp_path / "plan.html"
    done = run("plan", path, "--json", "--save", saved, "--report", page)
    assert f"wrote {saved}" in done.stderr
    assert f"wrote {page}" in done.stderr
    assert json.loads(done.stdout) == json.loads(saved.read_text())


@pytest.mark.parametrize("command", [("explain",), ("check",), ("emit", "--to", "vllm")])
@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_fleet_where_a_plan_belongs_is_recognised(tmp_path, command, form):
    as_json = {
        "gpus": [{"name": "a", "memory_gb": 80}],
        "models": [{"name": "m", "size_gb": 1, "load": 1}],
    }
    path = fleet(tmp_path, TINY if form == "yaml" else json.dumps(as_json))
    name, *options = command
    done = run(name, path, *options)
    assert done.returncode == 3
    assert "is a fleet file, must be a plan; `colocate plan` makes one of it" in done.stderr


def test_a_plan_where_a_fleet_belongs_is_recognised(tmp_path):
    saved = tmp_path / "plan.json"
    run("plan", fleet(tmp_path, TINY), "--save", saved)
    done = run("plan", saved)
    assert done.returncode == 3
    assert "is a plan, must be a fleet file" in done.stderr


def test_a_fleet_is_read_from_standard_input():
    command = [sys.executable, "-m", "colocate", "plan", "-", "--json"]
    done = subprocess.run(command, input=TINY.encode(), capture_output=True, check=True, cwd=ROOT)
    assert json.loads(done.stdout)["placement"] == {"m": ["a"]}


def test_errors_in_standard_input_name_it():
    command = [sys.executable, "-m", "colocate", "plan", "-"]
    done = subprocess.run(command, input=b"gpus: []", capture_output=True, check=False, cwd=ROOT)
    assert done.returncode == 3
    assert done.stderr.startswith(b"standard input: ")


def test_fields_that_begin_with_x_are_a_place_for_anchors(tmp_path):
    text = """
x-usual: &usual {size_gb: 10, load: 1}
gpus: [{name: a, memory_gb: 80}]
models:
  - {name: m, <<: *usual}
  - {name: n, <<: *usual}
"""
    done = run("plan", fleet(tmp_path, text), "--json")
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)["placement"]) == {"m", "n"}


def test_who_stops_reading_is_not_told_about_it():
    pipe = f"{sys.executable} -m colocate plan {EXAMPLE} | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", pipe], capture_output=True, check=False, cwd=ROOT, timeout=120
    )
    assert done.returncode in (0, READER_GONE)
    assert len(done.stdout.splitlines()) == 1
    assert b"Error" not in done.stderr
    assert b"cannot write" not in done.stderr


def installed(*arguments, **environment):
    command = [Path(sys.executable).parent / "colocate", *arguments]
    env = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1", **environment}
    done = subprocess.run(command, capture_output=True, check=False, text=True, env=env)
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete(shell):
    assert f"complete_{shell}" in installed("--show-completion", shell)
    completed = installed(
        COMP_WORDS="colocate pl",
        COMP_CWORD="1",
        _TYPER_COMPLETE_ARGS="colocate pl",
        _TYPER_COMPLETE_FISH_ACTION="get-args",
        _COLOCATE_COMPLETE=f"complete_{shell}",
    )
    assert "plan" in completed
    assert "check" not in completed
