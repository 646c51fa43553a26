import socket
from dataclasses import replace
from math import inf
from time import perf_counter

import pytest

from colocate.arena.case_verdict import CaseVerdict, Failure
from colocate.arena.tally import Tally
from colocate.arena.verdict import Verdict
from colocate.errors import InputError, ProposerError
from colocate.lab.messages import Kind, LearningProposer, Request
from colocate.lab.patches.answer import read_patch
from colocate.lab.patches.patch import apply_patch
from colocate.lab.program import Program
from colocate.lab.proposers.openai.priced_model import PricedModel
from colocate.lab.proposers.openai.prompt import messages
from colocate.lab.proposers.openai.server import OpenAiProposer
from tests.lab.answers import CHILD, HEAD, ONE, PARENT, diff
from tests.lab.protocol_server import KEY, PATH, Reply, completion, fault, serving

GOOD = HEAD + diff(ONE)
SMALL = PricedModel("small", price_in=2.0, price_out=10.0)


def case(number=0, pressure=0.05, **words):
    return CaseVerdict(f"case-{number}", pressure, 0.04, bound=0.04, **words)


def failed(number=0, traceback=""):
    return case(
        number, inf, failure=Failure.CRASH, reason="KeyError: 'sevenfold'", traceback=traceback
    )


def program(source=PARENT, name="deal_out", results=(), hidden=()):
    public, unseen = Tally(tuple(results) or (case(),)), Tally(tuple(hidden) or (case(),))
    verdict = Verdict("adrs", public, unseen, walls=("process",))
    return Program(0, name, "Deals the models out.", source, verdict)


REQUEST = Request(Kind.DIFF, program(), seed=7)


@pytest.fixture(autouse=True)
def _no_proxy_on_loopback(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def proposer(server_or_url, **settings):
    url = getattr(server_or_url, "url", server_or_url)
    given = {"models": (SMALL,), "api_key": KEY, "request_timeout": 5.0, "retries": 1} | settings
    return OpenAiProposer(base_url=url, **given)


def refused(server, request=REQUEST, **settings):
    """Return the one sentence with which the proposer gives up."""
    begin = perf_counter()
    with pytest.raises(ProposerError) as caught:
        proposer(server, **settings).propose(request)
    assert perf_counter() - begin < 5
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert KEY not in sentence
    assert caught.value.__context__ is None
    return sentence


def test_a_good_answer_with_its_tokens_and_cost():
    with serving(completion(GOOD)) as server:
        answer = proposer(server, temperature=0.5, max_tokens=300).propose(REQUEST)
    assert (answer.text, answer.who, answer.cut_off) == (GOOD, "openai:small", False)
    assert (answer.tokens_in, answer.tokens_out) == (1000, 200)
    assert answer.cost == pytest.approx((1000 * 2 + 200 * 10) / 1e6)
    assert 0 < answer.seconds < 5
    assert apply_patch(read_patch(answer.text), PARENT).source == CHILD
    (seen,) = server.seen
    assert seen.path == PATH
    assert seen.headers["Authorization"] == f"Bearer {KEY}"
    asked = dict(seen.body)
    assert asked.pop("messages") == messages(REQUEST)
    assert asked == {"model": "small", "seed": 7, "temperature": 0.5, "max_tokens": 300}


def test_what_is_left_to_the_server_is_not_sent_and_large_seeds_are_cut():
    with serving(completion(GOOD)) as server:
        free = proposer(server, temperature=None, max_tokens=None)
        free.propose(replace(REQUEST, seed=2**40 + 3))
    assert set(server.seen[0].body) == {"model", "messages", "seed"}
    assert server.seen[0].body["seed"] == 3


def test_a_local_server_needs_no_key_and_the_environment_gives_none(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody")
    with serving(completion(GOOD)) as server:
        assert proposer(server, api_key=None).propose(REQUEST).text == GOOD
    assert server.seen[0].headers["Authorization"] is None


def test_a_cut_off_answer_says_so_and_is_counted():
    with serving(completion(GOOD[:90], finish_reason="length")) as server:
        answer = proposer(server).propose(REQUEST)
    assert (answer.text, answer.cut_off) == (GOOD[:90].strip(), True)
    assert answer.cost > 0


def test_too_many_requests_are_sent_again_when_the_server_says():
    with serving(fault(429, "slow down", Retry_After="1"), completion(GOOD)) as server:
        begin = perf_counter()
        assert proposer(server).propose(REQUEST).text == GOOD
        assert 1 <= perf_counter() - begin < 4
    assert len(server.seen) == 2


def test_an_hour_is_not_waited_for():
    with serving(fault(429, "slow down", Retry_After="3600")) as server:
        sentence = refused(server)
    assert "answered 429 (slow down) and asks to wait for 3,600 s; wait, ask less" in sentence


def test_silence_is_a_timeout():
    with serving(replace(completion(GOOD), seconds=20)) as server:
        sentence = refused(server, request_timeout=0.3)
    assert sentence == (
        f"openai:small at {server.url}: no whole reply within 0.3 s, tried 2 times; "
        "raise --request-timeout"
    )


def test_a_fault_that_stays_and_one_that_passes():
    with serving(fault(500, "out of memory")) as server:
        assert "answered 500 (out of memory), tried 2 times; look at the log" in refused(server)
    assert len(server.seen) == 2
    with serving(fault(503, "loading"), completion(GOOD)) as server:
        assert proposer(server).propose(REQUEST).text == GOOD


def test_a_broken_connection():
    with serving(replace(completion(GOOD), missing_bytes=100)) as server:
        sentence = refused(server)
    assert "the connection broke (it ended 100 bytes too early), tried 2 times" in sentence
    assert len(server.seen) == 2


def test_nobody_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    sentence = refused(url, retries=0)
    assert "Connection refused" in sentence
    assert "; check the address and that the server runs" in sentence


def test_a_wrong_key_is_not_tried_again_and_not_repeated():
    padding = "the key you sent does not fit " * 6
    with serving(fault(401, f"{padding} {KEY}")) as server:
        sentence = refused(server)
    assert "answered 401" in sentence
    assert KEY[:6] not in sentence.replace("***", "")
    assert "give the API key of this server, in OPENAI_API_KEY" in sentence
    assert len(server.seen) == 1


HTML = Reply("<!doctype html>\n<p>Welcome</p>", kind="text/html")


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply('{"choices": [{"mess'), 'but {"choices": [{"mess; check the address'),
        (HTML, "an HTML page; check the address, which often ends in /v1"),
        (replace(HTML, kind="application/json"), "but an HTML page"),
        (replace(HTML, status=502), "answered 502 (an HTML page)"),
        (Reply(""), "but nothing; check the address"),
        (Reply("[]"), "no chat completion"),
        (Reply('{"choices": []}'), "(choices: List should have at least 1 item"),
        (Reply('{"choices": null}'), "(choices: Input should be a valid"),
        (Reply('{"error": "no such model"}'), '(choices: Field required) but {"error": "no such'),
        (Reply('{"choices": [{"message": "a"}]}'), "choices: 0: message: Input should be"),
        (Reply("data: {}\n\n", kind="text/event-stream"), "streams, although it was not asked"),
        (Reply("[" * 100_000), "no chat completion"),
        (Reply('{"choices": 1' + "0" * 100_000 + "}"), "no chat completion"),
    ],
)
def test_replies_that_cannot_be_used(reply, words):
    with serving(reply) as server:
        assert words in refused(server, retries=0)
    assert len(server.seen) == 1


def test_letters_that_would_disturb_a_terminal_are_escaped():
    with serving(fault(400, "\x1b[31mred\nline " + 300 * "x")) as server:
        sentence = refused(server)
    assert r"answered 400 (\x1b[31mred line xxx" in sentence
    assert "\x1b" not in sentence
    assert "x…)" in sentence


def test_of_several_models_the_useful_one_is_asked_and_the_broken_one_left():
    models = (PricedModel("weak"), PricedModel("strong"))
    gains = {"openai:strong": 0.1, "openai:weak": 0.0}
    asked = []
    with serving(completion(GOOD)) as server:
        many = proposer(server, models=models)
        for seed in range(40):
            many.learn([("somebody else", 5.0, 0.0), *((who, gains[who], 0.0) for who in asked)])
            asked.append(many.propose(replace(REQUEST, seed=seed)).who)
    assert set(asked[:2]) == {"openai:weak", "openai:strong"}
    assert asked.count("openai:strong") > 25


def test_a_model_that_never_answers_does_not_hold_up_the_others():
    with serving(fault(404, "no such model"), completion(GOOD)) as server:
        many = proposer(server, models=(SMALL, PricedModel("other")))
        with pytest.raises(ProposerError, match="check the model's name"):
            many.propose(REQUEST)
        many.learn([])
        many.propose(REQUEST)
    assert {seen.body["model"] for seen in server.seen} == {"small", "other"}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"base_url": "localhost:8000"}, "must be an address like http://127.0.0.1:8000/v1"),
        ({"base_url": "http://[::1"}, "must be an address"),
        ({"base_url": "http://host:port/v1"}, "must be an address"),
        ({"api_key": f"{KEY}\n"}, "such as an end of line"),
        ({"temperature": -1}, "temperature=-1"),
        ({"max_tokens": 0}, "max_tokens=0"),
        ({"request_timeout": 0}, "request_timeout=0"),
        ({"total_timeout": -1}, "total_timeout=-1"),
        ({"left_out": ("model",)}, "field='model'"),
        ({"retries": -1}, "retries=-1"),
        ({"models": ()}, "the models are: none"),
        ({"models": (SMALL, SMALL)}, "each once"),
    ],
)
def test_settings_that_cannot_be_meant(settings, words):
    with pytest.raises(InputError) as caught:
        OpenAiProposer(**{"base_url": "http://127.0.0.1:1/v1", "models": (SMALL,)} | settings)
    assert words in str(caught.value)
    assert KEY not in str(caught.value)


def test_models_that_cannot_be_meant():
    with pytest.raises(InputError, match="must be a name that is not blank"):
        PricedModel(" ")
    with pytest.raises(InputError, match="price of 'a'=-1"):
        PricedModel("a", price_out=-1)


def test_it_is_a_proposer_that_learns_and_does_not_show_its_key():
    idle = proposer("http://127.0.0.1:1/v1")
    assert isinstance(idle, LearningProposer)
    assert KEY not in repr(idle)
