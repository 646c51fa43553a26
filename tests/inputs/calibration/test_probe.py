"""A probe finds the law of a server, and says what is wrong with one that has none."""

from threading import Event, Timer
from time import perf_counter

import numpy as np
import pytest

from colocate.errors import InputError, ServerError
from colocate.inputs.calibration.dialect import Dialect, random_prompt
from colocate.inputs.calibration.known_models import known_models, only_model
from colocate.inputs.calibration.probe import Probe
from colocate.inputs.calibration.probe_settings import ProbeSettings
from colocate.inputs.calibration.readings import calibration_of
from colocate.inputs.server.address import ServerAddress
from tests.inputs.calibration import broken_server as broken
from tests.inputs.calibration.broken_server import answering, status
from tests.inputs.calibration.step_server import Law, serving

SLACK = 3.0
"""Seconds beyond its time that a probe may take on a busy machine."""


def probed(url, seconds=4.0, stop=None, model="small", **settings):
    chosen = ProbeSettings(seconds, **{"most_requests": 8, "seed": 1, **settings})
    begin = perf_counter()
    probe = Probe(ServerAddress(url), model, chosen, stop or Event(), lambda *_: None)
    try:
        return probe.run()
    finally:
        assert perf_counter() - begin < seconds + SLACK


def test_the_law_of_a_server_comes_back():
    law = Law()
    with serving(law) as url:
        findings = probed(url, 10.0)
    constants = calibration_of(findings.steps, findings.prefills).constants
    for name in ("base_ms", "per_request_ms", "per_1k_context_ms", "prefill_ms_per_1k_tokens"):
        found, true = constants[name], getattr(law, name)
        assert abs(found.value - true) <= 2 * found.margin + 0.02 * true, (name, found)
    assert all(constants[name].is_clear for name in ("base_ms", "per_request_ms"))
    overhead = constants["prefill_base_ms"].value - law.prefill_base_ms  # of HTTP, both ends
    assert -2 * constants["prefill_base_ms"].margin < overhead < 25
    assert (findings.too_many, findings.too_long, findings.failures) == (None, None, 0)
    assert findings.tokens_per_arrival == 1.0
    assert not findings.counted_words


def test_hiccups_of_a_server_hardly_matter():
    with serving(Law(hiccup=0.002)) as url:
        findings = probed(url)
    constants = calibration_of(findings.steps, findings.prefills).constants
    assert constants["base_ms"].value == pytest.approx(8.0, rel=0.15)


def test_a_server_with_few_slots_says_how_many():
    with serving(Law(slots=3)) as url:
        findings = probed(url)
    assert (findings.too_many, findings.at_once) == (4, 3)
    assert {reading.batch for reading in findings.steps} == {1, 2}


def test_a_server_with_one_slot_tells_no_cost_of_a_request():
    with serving(Law(slots=1)) as url:
        findings = probed(url)
    constants = calibration_of(findings.steps, findings.prefills).constants
    assert (findings.too_many, findings.at_once) == (2, 1)
    assert constants["per_request_ms"].merged_into == "base_ms"
    assert constants["base_ms"].value == pytest.approx(8.6, rel=0.1)


def test_prompts_that_are_too_long_are_made_shorter():
    with serving(Law(prefill_base_ms=1.0, prefill_ms_per_1k_tokens=1.0, most_context=100)) as url:
        findings = probed(url, most_requests=2)
    assert findings.too_long is not None
    assert max(reading.context for reading in findings.steps) < 100


def test_a_server_that_only_chats_counts_nothing_and_takes_nothing():
    law = Law(completions=False, usage=False, ignore_eos=False, least_tokens=30)
    with serving(law) as url:
        findings = probed(url, most_requests=2)
    assert findings.dialect == Dialect("small", chat=True, full_length=False)
    assert findings.counted_words
    assert findings.steps


def test_a_slow_server_is_probed_with_less():
    with serving(Law(base_ms=60.0, prefill_ms_per_1k_tokens=5000.0)) as url:
        findings = probed(url, 6.0)
    constants = calibration_of(findings.steps, findings.prefills).constants
    assert constants["base_ms"].value == pytest.approx(60.0, rel=0.2)


def test_a_probe_can_be_stopped_and_keeps_what_it_has():
    stop = Event()
    with serving(Law()) as url:
        timer = Timer(3.0, stop.set)
        timer.start()
        begin = perf_counter()
        findings = probed(url, 60.0, stop)
    assert perf_counter() - begin < 3.0 + SLACK
    assert findings.interrupted
    assert findings.steps


def test_one_token_answers_are_too_short():
    with (
        serving(Law(ignore_eos=False, least_tokens=1)) as url,
        pytest.raises(ServerError, match=r"end after 1 pieces .* needs 9; .*ignore_eos"),
    ):
        probed(url)


@pytest.mark.parametrize(
    ("way", "told"),
    [
        (broken.whole, "came whole, not in pieces"),
        (broken.one_token, "end after 1 pieces of text"),
        (broken.endless, r"goes on after .* max_tokens=8; the server must stop there"),
        (broken.endless_line, "goes on after .* bytes"),
        (broken.no_json, "no JSON object"),
        (broken.deep_json, "no JSON object"),
        (broken.error_in_stream, r"broke off .*memory"),
        (broken.no_http, "no connection"),
        (broken.closing, "no connection"),
        (broken.moved, "answered 302"),
        (status(401), "answered 401 .*OPENAI_API_KEY"),
        (status(404), "answered 404 .*model's name"),
        (status(400), "answered 400 .*words of the server"),
        (status(429), "answered 429 .*nobody else"),
        (status(500), "answered 500 .*log of the server"),
        (status(503), "answered 503 .*loaded"),
        (broken.silent, "no reading within 2 s|no sign of life"),
        (broken.dripping, "no reading within 2 s"),
        (broken.dripping_head, "no reading within 2 s"),
    ],
)
def test_broken_servers(way, told):
    with answering(way) as (_, url), pytest.raises(ServerError, match=told) as raised:
        probed(url, 2.0)
    assert str(raised.value).startswith(url)
    assert str(raised.value).isprintable()


def test_few_requests_find_out_that_a_server_refuses():
    with answering(status(400)) as (server, url), pytest.raises(ServerError):
        probed(url, 5.0)
    assert server.asked == 4


def test_a_server_that_is_down_is_named():
    with answering(broken.whole) as (_, url):
        pass
    with pytest.raises(ServerError, match=r"no connection \(.*refused\); check the address"):
        known_models(ServerAddress(url))


def test_a_key_is_sent_and_never_shown():
    key = "sk-very-secret"
    with answering(status(401, f"the key {key} is wrong")) as (_, url):
        address = ServerAddress(url.replace("//", "//user:word@"), key)
        assert address.headers["Authorization"] == f"Bearer {key}"
        with pytest.raises(ServerError) as raised:
            Probe(address, "small", ProbeSettings(2.0), Event(), lambda *_: None).run()
    assert key not in str(raised.value)
    assert "word@" not in str(raised.value)
    assert key not in repr(address)


@pytest.mark.parametrize(
    "url",
    ["", "nowhere", "ftp://a", "http://", "http://a:0", "http://a:x", "http://a b", "http://é"],
)
def test_what_is_no_address(url):
    with pytest.raises(InputError, match="url="):
        ServerAddress(url)


def test_a_key_with_an_end_of_line_is_refused():
    with pytest.raises(InputError, match="letters that no key has"):
        ServerAddress("http://a", "key\n")


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_times_that_are_none(seconds):
    with pytest.raises(InputError, match="seconds="):
        ProbeSettings(seconds)


@pytest.mark.parametrize(
    ("listing", "names"),
    [
        (broken.small, ["small"]),
        (status(404), []),
        (broken.no_json, []),
        (status(200), []),
    ],
)
def test_names_of_models(listing, names):
    with answering(broken.whole, listing) as (_, url):
        assert known_models(ServerAddress(url)) == names


def test_a_list_that_drips_is_given_up(monkeypatch):
    monkeypatch.setattr("colocate.inputs.calibration.known_models.SECONDS_TO_ANSWER", 0.5)
    with answering(broken.whole, broken.dripping_head) as (_, url):
        begin = perf_counter()
        with pytest.raises(ServerError):
            known_models(ServerAddress(url))
        assert perf_counter() - begin < SLACK


def test_which_model_is_meant():
    assert only_model(["a"]) == "a"
    with pytest.raises(InputError, match=r"model is missing.*the server has: a, b"):
        only_model(["a", "b"])
    with pytest.raises(InputError, match="model is missing"):
        only_model([])


def test_prompts_are_never_the_same():
    generator = np.random.default_rng(1)
    prompts = {random_prompt(16, generator) for _ in range(1000)}
    assert len(prompts) == 1000
    assert len({prompt.split()[0] for prompt in prompts}) > 50
