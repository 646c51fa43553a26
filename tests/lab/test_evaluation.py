"""Programs are judged on this machine, and a judge who is interrupted waits for none of them."""

import subprocess
import sys
import time

import pytest

from colocate import Limits, Referee
from colocate.arena.repeats import FIRST_LOOK
from colocate.lab.judging.evaluation import LocalEvaluation
from tests.arena.test_leaks import interrupted
from tests.arena.test_sandbox import descendants
from tests.arena.tiny_contest import CONTEST, program

SLEEPS = program("import time; time.sleep(29)")


def test_who_stops_to_listen_waits_for_no_program():
    evaluation = LocalEvaluation(Referee(limits=Limits(seconds=30)), 2)
    verdicts = evaluation.judge([program(), SLEEPS, f"{SLEEPS}#"], CONTEST, FIRST_LOOK)
    place, verdict = next(verdicts)
    assert (place, verdict.correct) == (0, True)
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        verdicts.throw(KeyboardInterrupt)
    assert time.monotonic() - started < 3


def test_an_interrupted_lab_that_is_being_made_ends_within_a_second(tmp_path):
    (tmp_path / "sleeps.py").write_text(program("import time; time.sleep(9)"))
    command = [sys.executable, "-P", "-m", "colocate", "lab", "init", "--start", "sleeps.py"]
    making = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 20
    while len(descendants(making.pid)) < 6 and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.3)
    assert interrupted(making) < 1
    assert making.wait() == 130
    assert not (tmp_path / "lab").exists()
