"""`colocate lab run` with a model server: costs, fields and faults as a user sees them."""

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from time import monotonic, sleep

import pytest

from colocate.lab.archive import Archive
from tests.cli.test_commands import run
from tests.lab.protocol_server import Reply, completion, serving

COSTLY = "small=100,1000"
EMPTY = completion("I have no idea.")
LIMIT = Reply('{"error": {"message": "Unrecognized request argument supplied: seed"}}', 400)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    assert run("lab", "init", "--proposals", "2", cwd=folder).returncode == 0
    return folder


@pytest.fixture
def lab(made, tmp_path):
    shutil.copytree(made / "lab", tmp_path / "lab")
    return tmp_path


def options(server, *others, model=COSTLY):
    return (
        "lab",
        "run",
        "--proposer",
        "openai",
        "--base-url",
        server.url,
        "--model",
        model,
        *others,
    )


def test_a_budget_ends_the_run_within_a_generation_and_the_next_one_goes_on(lab):
    with serving(LIMIT, EMPTY) as server:
        done = run(*options(server, "--cost", "0.5", "--askers", "1"), cwd=lab)
        assert done.returncode == 0, done.stderr
        sent = len(server.seen)
        again = run(*options(server, "--cost", "0.5", "--askers", "1"), cwd=lab)
        assert len(server.seen) == sent
        more = run(*options(server, "--cost", "0.8", "--askers", "1"), cwd=lab)
        assert len(server.seen) == sent + 1
    # Every answer costs 0.3, so two of them reach 0.5 and three 0.8.
    assert sent == 3
    last = done.stdout.splitlines()[-1]
    assert last == (
        "the budget of 0.5 cost is spent, within generation 1 "
        "(1 programs, 2 answers refused, 2,000 tokens in, 400 out, cost 0.6000)"
    )
    assert "openai:small does not take seed; the run leaves it out" in done.stderr
    assert done.stderr.count("does not take seed") == 1
    assert again.stdout.splitlines()[-1] == last
    assert "3,000 tokens in, 600 out, cost 0.9000" in more.stdout
    assert "cost 0.9000" in " ".join(run("lab", "status", cwd=lab).stdout.split())


def test_estimates_are_called_so(lab):
    free = completion("I have no idea.", usage=None)
    with serving(free) as server:
        done = run(*options(server, "--tokens", "100", model="small"), cwd=lab)
    assert "in part estimated)" in done.stdout
    assert "(estimated for" in " ".join(run("lab", "status", cwd=lab).stdout.split())


def test_a_cost_without_prices_gets_a_note(lab):
    with serving(EMPTY) as server:
        done = run(*options(server, "--cost", "1", "--generations", "0", model="small"), cwd=lab)
    assert done.stderr.startswith("--cost: models without a price count as free")


def test_fields_by_option(lab):
    fields = ["--send", "top_p=0.9", "--send", "user=me", "--leave-out", "seed"]
    fields += ["--rename", "max_tokens=max_completion_tokens"]
    with serving(EMPTY) as server:
        run(*options(server, *fields, "--tokens", "1"), cwd=lab)
    sent = server.seen[0].body
    assert set(sent) == {
        *("model", "messages", "temperature", "top_p", "user", "max_completion_tokens"),
    }
    assert (sent["top_p"], sent["user"], sent["max_completion_tokens"]) == (0.9, "me", 8192)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (["--send", "top_p"], "send='top_p', must be NAME=VALUE"),
        (["--send", "=3"], "send='=3', must be NAME=VALUE"),
        (["--rename", "seed="], "rename='seed=', must be OLD=NEW"),
        (["--leave-out", "messages"], "field='messages', must be"),
    ],
)
def test_options_that_cannot_be_meant(lab, wrong, words):
    with serving(EMPTY) as server:
        done = run(*options(server, *wrong), cwd=lab)
    assert done.returncode == 2
    assert words in done.stderr


def test_a_silent_server_ends_the_run_in_time_and_says_what_that_cost(lab):
    with serving(replace(EMPTY, seconds=60)) as server:
        begin = monotonic()
        limits = ["--request-timeout", "1", "--total-timeout", "2", "--retries", "9"]
        done = run(*options(server, *limits), cwd=lab)
        assert monotonic() - begin < 60
    assert done.returncode == 1
    assert "so far: 1 programs, " in done.stderr
    assert "in part estimated" in done.stderr
    assert "Traceback" not in done.stderr
    with Archive.open(lab / "lab" / "lab.db") as archive:
        assert archive.attempts() == []
        assert archive.unanswered().cost > 0


def test_an_interrupt_ends_at_once_and_requests_in_flight_count_as_paid(lab):
    with serving(replace(EMPTY, seconds=60)) as server:
        running = subprocess.Popen(
            [sys.executable, "-m", "colocate", *options(server)],
            cwd=lab,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "NO_PROXY": "127.0.0.1"},
        )
        try:
            end = monotonic() + 60
            while len(server.seen) < 2 and monotonic() < end:
                sleep(0.01)
            begin = monotonic()
            running.send_signal(signal.SIGINT)
            _, said = running.communicate(timeout=60)
        finally:
            running.kill()
        assert monotonic() - begin < 10
    assert running.returncode == 130
    assert "interrupted; all answers so far are kept" in said
    with Archive.open(lab / "lab" / "lab.db") as archive:
        spent = archive.unanswered()
    assert spent.estimated
    assert spent.tokens_out == 2 * 8192
