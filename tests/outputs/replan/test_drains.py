"""A drain lasts as long as requests are in work or waiting, or nobody knows."""

import re
import subprocess

import pytest

from colocate.inputs.observation.metrics.metric_names import known_metric_names
from colocate.outputs.emit.settings import Engine, Target
from colocate.outputs.replan.step_functions import FUNCTIONS
from tests.outputs.replan.written_steps import DRAIN_FIRST, write_steps


@pytest.fixture(params=[Target.COMPOSE, Target.KUBERNETES, Target.KVCACHED])
def written(request, tmp_path):
    return write_steps(request.param, tmp_path / "steps", tmp_path / "fake", DRAIN_FIRST)


def test_a_drain_waits_for_requests_however_long_the_page_is(written):
    done = written.run(BUSY=3, DRAIN_SECONDS=60)
    assert done.returncode == 0, done.stderr
    assert written.lines("polls") == ["goes"] * 4
    assert "goes on" not in done.stderr


def test_a_drain_that_takes_too_long_ends_and_says_so(written):
    done = written.run(BUSY=10**6, DRAIN_SECONDS=1)
    assert done.returncode == 0, done.stderr
    assert "goes on after 1 s (DRAIN_SECONDS): requests are still in work" in done.stderr
    assert written.running == {"a"}


def test_metrics_that_cannot_be_read_are_not_taken_for_a_drained_engine(written):
    done = written.run(BUSY="dark", DRAIN_SECONDS=1)
    assert "no metrics tell whether requests are in work; asks again" in done.stderr
    assert "goes on after 1 s (DRAIN_SECONDS): no metrics tell" in done.stderr
    assert len(written.lines("polls")) > 1


@pytest.mark.parametrize(
    ("page", "left"),
    [
        ("vllm:num_requests_running{m=\"1 } 2\"} 0.0\nvllm:num_requests_waiting 0.0", False),
        ("vllm:num_requests_running 0.0\nvllm:num_requests_waiting{m=\"m\"} 10.0", True),
        ("sglang:num_running_reqs 0\nsglang:num_queue_reqs{m=\"m\"} 2 1700000000", True),
        ("sglang:num_running_reqs{m=\"m\"} 1e+03", True),
        ("vllm:num_requests_waiting_by_reason{r=\"x\"} 3.0\nvllm:num_requests_running 0.0", False),
    ],
)  # fmt: skip
def test_pages_are_read_as_they_are_meant(tmp_path, page, left):
    script = tmp_path / "steps.sh"
    script.write_text(FUNCTIONS.format(head="x") + "finished printf '%s\\n' \"$PAGE\"\n")
    done = subprocess.run(
        ["bash", str(script)],
        env={"PATH": "/usr/bin:/bin", "PAGE": page, "DRAIN_SECONDS": "0"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ("requests are still in work" in done.stderr) == left
    assert "no metrics" not in done.stderr


def test_scripts_read_the_metrics_that_observe_reads():
    known = {each.engine: each.metrics for each in known_metric_names().engines}
    line = next(line for line in FUNCTIONS.splitlines() if line.startswith("REQUESTS="))
    pattern = re.compile(line.split("'")[1].replace("{{", "{").replace("}}", "}"))
    for engine in Engine:
        for quantity in ("running", "waiting"):
            (name,) = known[engine.value][quantity]
            assert pattern.match(f"{name.total} 1"), name
