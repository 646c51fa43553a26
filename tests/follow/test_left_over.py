"""Commands that outlived the watch that started them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Timer

import pytest

from colocate.follow.left_over import note_process, wait_for_left_over
from tests.follow.test_hostile_world import STEADY, Site, store
from tests.inputs.observation.fake_prometheus import serving

SLOW = """
import json, sys, time
step = json.load(open(sys.argv[2]))
with open(sys.argv[1], "a") as kept:
    print("begin", step["kind"], step["model"], file=kept, flush=True)
    time.sleep(3.0)
    print("end", step["kind"], step["model"], file=kept, flush=True)
"""


@pytest.fixture
def sleeper(tmp_path):
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    note_process(tmp_path / "step-3.pid", process.pid)
    yield process
    process.kill()
    process.wait()


def test_where_nothing_is_left_over_nothing_is_said(tmp_path):
    told = []
    wait_for_left_over(tmp_path, 60.0, told.append, Event())
    assert told == []


@pytest.mark.skipif(
    os.getuid() != 0, reason="left out: only root can start a process as another user"
)
def test_a_command_of_another_user_is_waited_for_and_told():
    code = """
import encodings.ascii, os, sys  # who may read libraries of this Python is not known
from pathlib import Path
from threading import Event
from colocate.follow.left_over import wait_for_left_over
os.setuid(65534)
stop = Event()
def say(words):
    print(words)
    if "another user" in words:
        stop.set()
wait_for_left_over(Path(sys.argv[1]), 0.3, say, stop)
"""
    command = ["sleep", "600"]
    with (
        TemporaryDirectory() as folder,
        subprocess.Popen(command, start_new_session=True) as sleeper,
    ):
        Path(folder).chmod(0o755)
        note_process(Path(folder) / "step-3.pid", sleeper.pid)
        asked = [sys.executable, "-c", code, folder]
        said = subprocess.run(asked, check=False, timeout=60.0, capture_output=True, text=True)
        still_runs = sleeper.poll() is None
        sleeper.kill()
    assert said.returncode == 0, said.stderr
    assert f"process {sleeper.pid} belongs to another user and cannot be ended" in said.stdout
    assert still_runs


def test_a_command_that_ends_is_waited_for(tmp_path, sleeper):
    told = []
    Timer(0.5, lambda: (sleeper.kill(), sleeper.wait())).start()
    wait_for_left_over(tmp_path, 60.0, told.append, Event())
    assert sleeper.poll() is not None
    waited = f"waiting for process {sleeper.pid}, the command of a step of an earlier watch"
    assert told == [f"{waited}, at most 60 s"]
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_does_not_end_is_ended(tmp_path, sleeper):
    told = []
    wait_for_left_over(tmp_path, 0.5, told.append, Event())
    assert sleeper.wait(10.0) == -signal.SIGKILL
    assert told[1].startswith(f"ending process {sleeper.pid}")


def test_waiting_can_be_stopped(tmp_path, sleeper):
    stop = Event()
    stop.set()
    wait_for_left_over(tmp_path, 60.0, [].append, stop)
    assert sleeper.poll() is None


@pytest.mark.parametrize("text", ["", "no number", "-1 5", "1 2 3", "{pid} 0"])
def test_other_processes_are_left_alone(tmp_path, sleeper, text):
    """The number of a process is given again; so is that of one which a broken note tells."""
    (tmp_path / "step-3.pid").write_text(text.format(pid=sleeper.pid))
    told = []
    wait_for_left_over(tmp_path, 0.5, told.append, Event())
    assert (told, sleeper.poll()) == ([], None)


def test_a_watch_that_is_killed_does_not_start_a_step_beside_itself(tmp_path):
    site = Site(tmp_path)
    (tmp_path / "slow.py").write_text(SLOW)
    heard = tmp_path / "heard"
    command = ["--run", f"{sys.executable} {tmp_path / 'slow.py'} {heard}"]
    with serving(store({**STEADY, "chat": 1.0})) as (url, _):
        assert site.watched(url)[0] == 0
        state = site.state
        (lost,) = [each for each in state["engines"] if each["model"] == "chat"]
        lost["condition"] = "idle"
        (tmp_path / "colocate-watch" / "state.json").write_text(json.dumps(state))
        process = site.started(url, *command, run=False)
        until = time.monotonic() + 60.0
        while not heard.exists() or "begin" not in heard.read_text():
            assert time.monotonic() < until, "no step begins"
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        code, said = site.watched(url, *command, run=False)
    assert code == 0, said
    assert "the command of a step of an earlier watch" in said
    lines = heard.read_text().split("\n")
    assert [line.split()[0] for line in lines if line][:4] == ["begin", "end", "begin", "end"]
