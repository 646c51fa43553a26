"""What starts engines in containers under MPS, with processes in place of containers."""

import os
import signal
import subprocess
import sys
import time

import pytest

from colocate.outputs.emit.engines.mps import ProcessShare
from colocate.outputs.emit.targets.together import together

ENGINE = """
import os, pathlib, signal, sys, time
mine = pathlib.Path(sys.argv[1])
def finish(*_):
    time.sleep(0.3)
    mine.with_suffix(".finished").touch()
    sys.exit(0)
signal.signal(signal.SIGTERM, finish)
mine.write_text(f"{os.getpid()} {len(os.sched_getaffinity(0))}")
time.sleep(60)
"""


class Pod:
    """Containers that a kubelet restarts whenever one ends."""

    def __init__(self, folder):
        self.folder = folder
        self.running = {}

    def start(self, name, total=1000):
        record = self.folder / name
        record.unlink(missing_ok=True)
        share = ProcessShare(0, 1, total)
        words = together(str(self.folder / "shared"), name, share)
        command = [sys.executable, *words[1:], sys.executable, "-c", ENGINE, str(record)]
        variables = {k: v for k, v in os.environ.items() if not k.startswith("CUDA")}
        self.running[name] = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=variables
        )
        waits_for(lambda: record.exists() and record.read_text())
        return self.engine(name)

    def engine(self, name):
        return int((self.folder / name).read_text().split()[0])

    def stop(self):
        for process in self.running.values():
            process.terminate()
            process.communicate(timeout=20)


def waits_for(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it did not happen within 20 seconds"
        time.sleep(0.05)


@pytest.fixture
def pod(tmp_path):
    made = Pod(tmp_path)
    yield made
    made.stop()


def test_when_an_engine_dies_its_neighbours_finish_and_end_too(pod):
    first = pod.start("a")
    pod.start("b")
    os.kill(first, signal.SIGKILL)
    assert pod.running["a"].wait(20) == 1
    assert pod.running["b"].wait(20) == 1
    assert (pod.folder / "b.finished").exists(), "it was asked, not killed"
    assert "one of its neighbours has ended" in pod.running["b"].stdout.read()
    again = [pod.start(name) for name in ("b", "a")]
    time.sleep(2.5)
    assert [pod.engine(name) for name in ("b", "a")] == again, "they do not take turns for ever"
    assert all(process.poll() is None for process in pod.running.values())


def test_a_container_that_is_killed_brings_its_neighbours_back_with_it(pod):
    pod.start("a")
    pod.start("b")
    left = pod.engine("a")
    pod.running["a"].kill()
    pod.running["a"].wait()
    os.kill(left, signal.SIGKILL)  # as all that is in a container
    assert pod.running["b"].poll() is None, "nobody knows yet"
    engine = pod.start("a")
    assert pod.running["b"].wait(20) == 1
    pod.start("b")
    time.sleep(2.5)
    assert pod.engine("a") == engine
    assert all(process.poll() is None for process in pod.running.values())


def test_a_stop_lets_the_engine_finish_and_leaves_the_others_alone(pod):
    pod.start("a")
    pod.start("b")
    pod.running["a"].terminate()
    assert pod.running["a"].wait(20) == 0
    assert (pod.folder / "a.finished").exists()
    time.sleep(2)
    assert pod.running["b"].poll() is None


def test_an_engine_gets_its_part_of_the_cores_if_there_are_enough(pod):
    everything = len(os.sched_getaffinity(0))
    if everything < os.cpu_count() or everything < 2:
        pytest.skip("left out: this process has only some of the cores")
    pod.start("few")
    assert (pod.folder / "few").read_text().split()[1] == str(everything)
    pod.start("half", total=2)
    assert (pod.folder / "half").read_text().split()[1] == str(everything // 2)


def test_an_engine_does_not_start_before_those_that_it_waits_for(tmp_path):
    share = ProcessShare(0, 1, 1)
    words = together(str(tmp_path / "shared"), "a", share, ["http://127.0.0.1:1/"], 0)
    command = [sys.executable, *words[1:], "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "http://127.0.0.1:1/ does not answer" in done.stderr


def test_an_engine_waits_until_mps_listens(tmp_path):
    words = together(str(tmp_path / "shared"), "a", ProcessShare(0, 1, 1))
    command = [sys.executable, *words[1:], "touch", str(tmp_path / "started")]
    variables = {**os.environ, "CUDA_MPS_PIPE_DIRECTORY": str(tmp_path)}
    with subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL):
        time.sleep(1.5)
        assert not (tmp_path / "started").exists()
        (tmp_path / "control").touch()
    assert (tmp_path / "started").exists()
