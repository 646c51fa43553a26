import json
import sys
from pathlib import Path
from time import monotonic, sleep

import pytest

from colocate import InputError
from colocate.follow.step_command import StepCommand
from colocate.replan.placed_engine import PlacedEngine
from colocate.replan.steps.step import EngineStep, StepKind

STEP = EngineStep(3, StepKind.LOAD, PlacedEngine("my model", ("g0", "g1"), 40.0, 16.0, 12.5))


@pytest.fixture
def told():
    return []


def command(tmp_path, told, code, most_seconds=20.0):
    script = tmp_path / "do it.py"
    script.write_text(code)
    return StepCommand(f"'{sys.executable}' '{script}' extra", tmp_path, most_seconds, told.append)


def test_it_gets_the_step_as_a_file_and_in_its_environment(tmp_path, told, monkeypatch):
    monkeypatch.delenv("COLOCATE_LONG", raising=False)
    code = "import json, os, sys; step = json.load(open(sys.argv[2])); "
    code += "step['env'] = {k: v for k, v in os.environ.items() if k.startswith('COLOCATE')}; "
    code += f"json.dump([sys.argv[1], step], open({str(tmp_path / 'seen')!r}, 'w'))"
    assert command(tmp_path, told, code)(STEP)
    extra, step = json.loads((tmp_path / "seen").read_text())
    env = step.pop("env")
    assert (extra, step) == ("extra", STEP.as_dict())
    assert env == {
        "COLOCATE_STEP": "load",
        "COLOCATE_MODEL": "my model",
        "COLOCATE_GPUS": "g0,g1",
        "COLOCATE_CACHE_GB": "12.5",
    }
    assert told == []


def test_a_code_other_than_0_is_a_failure_with_its_last_words(tmp_path, told):
    code = "import sys; print('x' * 10_000_000); print('no such\\x1b[31m GPU'); sys.exit(7)"
    assert not command(tmp_path, told, code)(STEP)
    (sentence,) = told
    assert sentence.startswith("step 3, load my model: the command ended with 7: x")
    assert sentence.endswith("no such\\x1b[31m GPU")
    assert len(sentence) < 400
    assert (tmp_path / "step-3.log").stat().st_size > 10_000_000


def test_a_command_that_hangs_is_ended_with_its_children(tmp_path, told):
    code = "import subprocess, sys; p = subprocess.Popen(['sleep', '600']); "
    code += f"open({str(tmp_path / 'pid')!r}, 'w').write(str(p.pid)); p.wait()"
    assert not command(tmp_path, told, code, most_seconds=3.0)(STEP)
    assert told == ["step 3, load my model: the command was ended after 3 s"]
    state = Path(f"/proc/{(tmp_path / 'pid').read_text()}/stat")
    until = monotonic() + 20
    while state.exists() and state.read_text().split()[2] != "Z":
        assert monotonic() < until
        sleep(0.05)


def test_a_command_that_is_gone_has_done_nothing(tmp_path, told):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    perform = StepCommand(str(program), tmp_path, 1.0, told.append)
    program.unlink()
    assert perform(STEP) is None
    assert "the command does not start, nothing was done" in told[0]


def test_a_program_that_does_not_exist_is_refused_at_once(tmp_path):
    with pytest.raises(InputError, match="there is no program 'nocommand'"):
        StepCommand("nocommand --fast", tmp_path, 1.0, print)


@pytest.mark.parametrize("line", ["", "  ", "echo 'half"])
def test_what_is_no_command_is_refused(tmp_path, line):
    with pytest.raises(InputError, match="a command"):
        StepCommand(line, tmp_path, 1.0, print)
