"""Servers that are silent, slow, broken or hostile: each ends in time, with a clear sentence."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from email.utils import formatdate
from time import perf_counter, sleep, time

import pytest

from colocate.lab.messages import NOBODY, UnusableAnswer
from colocate.lab.proposers.openai.patience import Patience
from tests.lab.proposers.asked import GOOD, REQUEST, SMALL, proposer, unusable
from tests.lab.protocol_server import Reply, completion, fault, serving

SILENT = replace(completion(GOOD), seconds=30)


def test_a_body_that_drips_is_given_up():
    with serving(replace(completion(GOOD), pause=0.2)) as server:
        refusal, answer = unusable(server, 2, request_timeout=0.5)
    assert "no whole reply within 0.5 s; raise --request-timeout" in str(refusal)
    assert answer.who == NOBODY


def test_headers_that_drip_are_given_up():
    raw = b"HTTP/1.1 200 OK\r\n" + b"X-Filler: x\r\n" * 1000
    with serving(Reply("", raw=raw, pause=0.05)) as server:
        refusal, _ = unusable(server, 2, request_timeout=0.5)
    assert "no whole reply within 0.5 s" in str(refusal)


def test_a_body_without_end_is_not_read_for_ever():
    with serving(Reply("x" * 65536, endless=True)) as server:
        refusal, answer = unusable(server, 10)
    assert "the reply is too large (more than 16,777,216 bytes)" in str(refusal)
    assert answer.estimated


def test_a_redirect_is_not_followed():
    with serving(completion(GOOD)) as other:
        there = Reply("", 307, {"Location": f"{other.url}/chat/completions"})
        with serving(there) as server:
            refusal, answer = unusable(server)
        assert other.seen == []
    assert f"answered 307 and sends us to {other.url}/chat/completions; give that" in str(refusal)
    assert not answer.spending


@pytest.mark.parametrize("status", [500, 502, 503, 520, 529])
def test_a_fault_of_the_server_is_tried_again_and_free(status):
    with serving(fault(status, "busy")) as server:
        refusal, answer = unusable(server, retries=1)
    assert len(server.seen) == 2
    assert f"answered {status} (busy), tried 2 times" in str(refusal)
    assert not answer.spending


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (402, "add credit"),
        (403, "an API key that may use this model"),
        (404, "check the model's name and the address"),
        (413, "too long"),
        (501, "look at the log"),
    ],
)
def test_a_fault_that_stays_is_not_tried_again(status, words):
    with serving(fault(status, "no")) as server:
        refusal, _ = unusable(server, retries=3)
    assert len(server.seen) == 1
    assert words in str(refusal)


def test_an_empty_account_is_not_waited_for():
    body = '{"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}'
    with serving(Reply(body, 429, {"Retry-After": "1"})) as server:
        refusal, _ = unusable(server, retries=3)
    assert len(server.seen) == 1
    assert "(You exceeded your quota); add credit to the account" in str(refusal)


def test_a_filter_that_refuses_the_prompt_is_told_as_one():
    body = '{"error": {"message": "The prompt was filtered", "code": "content_filter"}}'
    with serving(Reply(body, 400)) as server:
        refusal, _ = unusable(server, retries=3)
    assert "(The prompt was filtered); the server's filter refuses this prompt" in str(refusal)


@pytest.mark.parametrize(
    "headers",
    [
        {"Retry-After": "1"},
        {"retry-after-ms": "1000"},
        {"Retry-After": lambda: formatdate(time() + 2, usegmt=True)},
    ],
)
def test_the_delay_that_a_server_asks_for_is_kept(headers):
    told = {name: value() if callable(value) else value for name, value in headers.items()}
    with serving(Reply("{}", 429, told), completion(GOOD)) as server:
        begin = perf_counter()
        assert proposer(server, retries=1).propose(REQUEST).text == GOOD
        assert 0.9 <= perf_counter() - begin < 4


@pytest.mark.parametrize("delay", ["soon", "-5", "nan", "Mon, 99 Foo"])
def test_a_delay_that_cannot_be_read_is_not_kept(delay):
    with serving(Reply("{}", 503, {"Retry-After": delay}), completion(GOOD)) as server:
        assert proposer(server, retries=1).propose(REQUEST).text == GOOD


def test_a_silent_server_ends_all_requests_together():
    with serving(SILENT) as server:
        silent = proposer(server, request_timeout=0.6, total_timeout=1.0, retries=5)

        def words(_):
            with pytest.raises(UnusableAnswer) as caught:
                silent.propose(REQUEST)
            return str(caught.value)

        begin = perf_counter()
        with ThreadPoolExecutor(4) as pool:
            told = list(pool.map(words, range(12)))
        assert perf_counter() - begin < 3
    assert any("no answer to any request within 1 s; raise --total-timeout" in w for w in told)


def test_a_server_that_answers_now_and_then_is_not_silent():
    patience = Patience(0.3)
    with patience.waiting():
        sleep(0.2)
        patience.heard()
        sleep(0.2)
        assert 0 < patience.left < 0.3
    sleep(0.3)  # nobody waits: this does not count
    assert patience.left > 0


def test_half_a_reply_is_paid_for_by_its_letters():
    with serving(Reply('{"choices": [{"message": {"content": "abc')) as server:
        refusal, answer = unusable(server, retries=3)
    assert len(server.seen) == 1  # it may have cost money
    assert "is no chat completion (Invalid JSON" in str(refusal)
    assert answer.estimated
    assert answer.tokens_out == 14  # 41 letters
    assert answer.cost == pytest.approx(SMALL.cost(answer.tokens_in, answer.tokens_out))


@pytest.mark.parametrize(
    "reply",
    [
        Reply("<html>", kind="text/html"),
        Reply('{"error": {"message": "overloaded", "code": 502}}'),
        Reply(""),
        fault(400, "no"),
        fault(429, "no"),
    ],
)
def test_what_no_model_wrote_is_free(reply):
    with serving(reply) as server:
        _, answer = unusable(server)
    assert not answer.spending


def test_a_reply_of_another_content_type_is_read():
    with serving(replace(completion(GOOD), kind="text/plain")) as server:
        assert proposer(server).propose(REQUEST).text == GOOD


def test_addresses_of_azure_keep_their_version_and_get_the_key_in_their_own_header():
    with serving(completion(GOOD)) as server:
        url = server.url.replace("/v1", "/openai/deployments/small?api-version=2024-10-21")
        with pytest.raises(UnusableAnswer, match="no such path"):
            proposer(url).propose(REQUEST)
    (seen,) = server.seen
    assert seen.path == "/openai/deployments/small/chat/completions?api-version=2024-10-21"
    assert seen.headers["api-key"]
    assert seen.headers["Authorization"] is None


def test_a_proxy_of_the_environment_is_used(monkeypatch):
    with serving(completion(GOOD)) as server:
        monkeypatch.setenv("http_proxy", server.url)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.setenv("NO_PROXY", "")
        with pytest.raises(UnusableAnswer, match="no such path"):
            proposer("http://models.invalid/v1").propose(REQUEST)
    assert server.seen[0].path == "http://models.invalid/v1/chat/completions"
