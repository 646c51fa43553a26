"""All frameworks come to the same verdicts on the same programs, whatever a program tries."""

import json
import os
import subprocess
from functools import cache
from pathlib import Path

import pytest

from colocate import Limits, Referee
from tests.cli.test_commands import run
from tests.frameworks.contracts import CONTRACTS
from tests.frameworks.programs import CHEATS, PROGRAMS

INSTALLED = ("shinka", "openevolve", "skydiscover", "gepa")
SECONDS = 2
BROKEN = """
import colocate.arena.walls.sandbox as sandbox

def ask(self, *_):
    raise sandbox.SandboxError("the disk is full")

sandbox.Sandbox.ask = ask
"""


def written(framework, folder):
    done = run("evaluator", "--for", framework, "--out", folder, "--time-limit", str(SECONDS))
    assert done.returncode == 0, done.stderr
    return folder


def by_driver(framework, folder, programs, python, env=None):
    """Let the framework's own code judge: figures, what a model is told, what is held back."""
    command = [python, Path(__file__).with_name("drivers.py"), framework, folder]
    done = subprocess.run(
        list(map(str, command)),
        input=json.dumps(programs),
        capture_output=True,
        text=True,
        timeout=900,
        env=env,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "found.json").read_text())


def verdicts(framework, folder, programs, python, extra=None):
    if framework in INSTALLED:
        return by_driver(framework, folder, programs, python, os.environ | (extra or {}))
    found = {}
    for name, source in programs.items():
        figures, told, *held = CONTRACTS[framework](folder, source, python, extra)
        found[name] = [figures, [figures, told], *(held or [{}])]
    return found


@cache
def expected():
    referee = Referee("adrs", hidden=False, limits=Limits(seconds=SECONDS))
    return {name: referee.judge_source(source) for name, source in PROGRAMS.items()}


@pytest.mark.parametrize("framework", [*INSTALLED, *CONTRACTS])
def test_all_frameworks_come_to_the_same_verdicts(framework, tmp_path, python):
    found = verdicts(framework, written(framework, tmp_path), PROGRAMS, python)
    assert set(found) == set(PROGRAMS)
    for name, verdict in expected().items():
        figures, told, held = found[name]
        assert figures["combined_score"] == pytest.approx(verdict.score), name
        assert figures["ratio"] == pytest.approx(verdict.ratio), name
        assert figures["mean_score"] == pytest.approx(verdict.luck.mean), name
        assert figures["best_score"] == pytest.approx(verdict.luck.best), name
        assert bool(figures["correct"]) is verdict.correct, name
        assert verdict.correct is (name not in CHEATS), name
        assert "hidden" not in json.dumps(told).lower(), name
        if framework in ("shinka", "harbor"):
            assert held
    lucky = expected()["lucky"].luck
    assert lucky.lowest < lucky.mean < lucky.best
    best = max(PROGRAMS, key=lambda name: found[name][0]["combined_score"])
    assert best == "better"
    cheats = [found[name][0]["combined_score"] for name in CHEATS]
    assert max(cheats) < 1


@pytest.mark.parametrize("framework", [*INSTALLED, *CONTRACTS])
def test_a_fault_of_the_machine_is_never_scored(framework, tmp_path, python):
    home = tmp_path / "broken"
    home.mkdir()
    (home / "sitecustomize.py").write_text(BROKEN)
    extra = {"PYTHONPATH": str(home)}
    if framework == "harbor":  # it starts Python in isolation
        wrapper = home / "python"
        wrapper.write_text(f'#!/bin/sh\nshift\nPYTHONPATH={home} exec {python} "$@"\n')
        wrapper.chmod(0o755)
        extra = {"JUDGE_PYTHON": str(wrapper)}
    folder = written(framework, tmp_path / "out")
    figures, *rest = verdicts(framework, folder, {"start": PROGRAMS["start"]}, python, extra)[
        "start"
    ]
    assert "combined_score" not in figures
    if framework == "shinka":
        job = folder / "jobs" / "start" / "results"
        fault = json.loads((job / "correct.json").read_text())
        assert not fault["correct"]
        assert "the disk is full" in fault["error"]
    else:
        assert "the disk is full" in json.dumps([figures, *rest])


def test_the_test_of_skydiscover_in_docker_counts_hidden_cases(tmp_path, python):
    folder = written("skydiscover-docker", tmp_path)
    contract = CONTRACTS["skydiscover-docker"]
    metrics, _ = contract(folder, PROGRAMS["better"], python, mode="test")
    train, _ = contract(folder, PROGRAMS["better"], python)
    assert metrics["combined_score"] == train["combined_score"]
    assert 0.99 < metrics["hidden_ratio"] <= 1
    assert "hidden_ratio" not in train


def test_an_agent_that_writes_no_program_gets_nothing(tmp_path, python):
    folder = written("harbor", tmp_path / "task")
    judge = folder / "tests" / "judge.py"
    subprocess.run([python, judge, tmp_path / "none.py", tmp_path / "logs"], check=True)
    assert json.loads((tmp_path / "logs" / "reward.json").read_text())["reward"] == 0
