"""Readings from what engines count: exact, tiny values worked by hand."""

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from urllib.parse import parse_qs, urlsplit

import pytest

from colocate.errors import InputError, ServerError, UnknownNameError
from colocate.inputs.calibration.metrics_sources import (
    scrapes_in,
    scrapes_of_engine,
    scrapes_of_prometheus,
    window_seconds,
)
from colocate.inputs.calibration.metrics_text import metric_samples
from colocate.inputs.calibration.readings import calibration_of
from colocate.inputs.calibration.scrapes import readings_between, scrape_of
from colocate.inputs.server.address import ServerAddress
from colocate.inputs.server.prometheus import PrometheusServer

DATA = Path(__file__).parents[2] / "data" / "metrics"
MODEL = "meta-llama/Llama-3.1-8B-Instruct"


def of(engine):
    return scrapes_in([str(DATA / f"{engine}-{number}.txt") for number in (1, 2)], None)


def test_vllm_by_hand():
    (step,), (prefill,) = readings_between(of("vllm"))
    assert step.batch == pytest.approx(8000 / 1000)
    assert step.context == pytest.approx((25600 + 8050 / 2) / 50)
    assert step.milliseconds == pytest.approx((7.0 - 0.05 * 30.0) / 0.95)
    assert prefill.milliseconds == pytest.approx(30.0)
    assert prefill.tokens == pytest.approx(512 * 0.9)


def test_sglang_by_hand():
    (step,), (prefill,) = readings_between(of("sglang"))
    assert step.batch == pytest.approx(8.0)
    assert step.milliseconds == pytest.approx(7.0 - 0.05 * 30.0)
    assert prefill.milliseconds == pytest.approx(40.0 - 10.0)
    assert prefill.tokens == pytest.approx(512 * 0.9)


def test_one_scrape_counts_since_the_start():
    (step,), _ = readings_between(of("vllm")[:1])
    assert step.batch == pytest.approx(4.0)


def test_an_engine_that_started_anew_gives_no_reading():
    later, earlier = of("vllm")
    with pytest.raises(InputError, match="counts hardly any steps"):
        readings_between([earlier, later])


def varied(count=30):
    """Texts of an engine with an exact law, under a load that changes."""
    totals = dict.fromkeys(("steps", "gaps", "gap_s", "pre", "pre_s", "tokens", "out"), 0.0)
    for number in range(count):
        batch, prompt = 1 + number % 7, 200 + 400 * (number % 5)
        step = 5.0 + 0.2 * batch + 0.5 * batch * (prompt + 50) / 1000
        prefill = 3.0 + 25.0 * prompt / 1000
        steps, prefills = 1000, 10
        share = prefills / steps
        totals["steps"] += steps
        totals["gaps"] += steps * batch
        totals["gap_s"] += steps * batch * ((1 - share) * step + share * prefill) / 1000
        totals["pre"] += prefills
        totals["pre_s"] += prefills * prefill / 1000
        totals["tokens"] += prefills * prompt
        totals["out"] += prefills * 100
        yield "\n".join(
            f'vllm:{name}{{model_name="m",engine="0"}} {totals[key]!r}'
            for name, key in {
                "iteration_tokens_total_count": "steps",
                "inter_token_latency_seconds_count": "gaps",
                "inter_token_latency_seconds_sum": "gap_s",
                "request_prefill_time_seconds_count": "pre",
                "request_prefill_time_seconds_sum": "pre_s",
                "request_prompt_tokens_count": "pre",
                "request_prompt_tokens_sum": "tokens",
                "prompt_tokens_total": "tokens",
                "generation_tokens_total": "out",
            }.items()
        )


def test_a_load_that_changes_tells_every_constant():
    scrapes = [scrape_of(metric_samples(text), None) for text in varied()]
    constants = calibration_of(*readings_between(scrapes)).constants
    values = [constants[name].value for name in constants]
    assert values == pytest.approx([5.0, 0.2, 0.5, 3.0, 25.0], rel=1e-6)


def test_several_models_must_be_told_apart():
    text = 'vllm:prompt_tokens_total{model_name="a"} 1\nvllm:prompt_tokens_total{model_name="b"} 1'
    with pytest.raises(InputError, match=r"model.*one of: a, b.*--model"):
        scrape_of(metric_samples(text), None)
    with pytest.raises(UnknownNameError):
        scrape_of(metric_samples(text), "c")
    assert scrape_of(metric_samples(text), "b").model == "b"


def test_engines_of_one_model_are_added_up():
    text = 'vllm:prompt_tokens_total{engine="0"} 1\nvllm:prompt_tokens_total{engine="1"} 2'
    assert scrape_of(metric_samples(text), None).totals["prompt_tokens"] == 3.0


def test_steps_that_are_not_counted_are_named():
    text = re.sub(r"sglang:cuda_graph_passes_total.*\n", "", (DATA / "sglang-2.txt").read_text())
    with pytest.raises(InputError, match="has no sglang:cuda_graph_passes_total"):
        readings_between([scrape_of(metric_samples(text), None)])


@pytest.mark.parametrize(
    "text",
    [
        "vllm:prompt_tokens_total",
        "vllm:prompt_tokens_total{",
        "vllm:prompt_tokens_total nothing",
        "vllm:prompt_tokens_total NaN",
        "vllm:prompt_tokens_total +Inf",
        "\x00\x01\x02",
        "vllm:" + "a" * 100_000 + "{" * 100_000,
    ],
)
def test_what_is_no_sample_is_left_out(text):
    with pytest.raises(InputError, match="has no metrics of an engine"):
        scrape_of(metric_samples(text), None)


@pytest.mark.parametrize("labels", ['model_name="a', "model_name=" + '"\\' * 20_000, "=" * 100_000])
def test_labels_that_are_none_do_no_harm(labels):
    found = scrape_of(metric_samples(f"vllm:prompt_tokens_total{{{labels}}} 1"), None)
    assert found.totals["prompt_tokens"] == 1.0


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1800), ("1h", 3600)])
def test_windows(text, seconds):
    assert window_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "1", "h", "0s", "-1h", "99d", "1 h", "9999999s", "1w"])
def test_windows_that_are_none(text):
    with pytest.raises(InputError, match="window="):
        window_seconds(text)


class Scripted(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answer):
        super().__init__(("127.0.0.1", 0), Answering)
        self.answer, self.asked = answer, []


class Answering(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.asked.append(self.path)
        text = self.server.answer(len(self.server.asked) - 1).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text)


@pytest.fixture
def scripted():
    servers = []

    def start(answer):
        servers.append(Scripted(answer))
        Thread(target=servers[-1].serve_forever, daemon=True).start()
        return servers[-1], ServerAddress(f"http://127.0.0.1:{servers[-1].server_port}")

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_an_engine_is_read_now_and_then(scripted):
    texts = list(varied())
    server, address = scripted(lambda number: texts[number])
    scrapes = scrapes_of_engine(address, None, 1.0, Event())
    assert server.asked == ["/metrics"] * 25
    steps, prefills = readings_between(scrapes)
    assert (len(steps), len(prefills)) == (24, 24)


def test_looking_at_an_engine_can_be_stopped(scripted):
    texts = list(varied())
    _, address = scripted(lambda number: texts[number])
    stop = Event()
    stop.set()
    assert scrapes_of_engine(address, None, 3600.0, stop) == []


def kept(texts):
    """The answer of a Prometheus server that has read these texts every 30 seconds."""
    series = {}
    for number, text in enumerate(texts):
        for sample in metric_samples(text):
            series.setdefault(sample.name, []).append([1000.0 + 30 * number, repr(sample.value)])
    result = [
        {"metric": {"__name__": name, "model_name": "m"}, "values": values}
        for name, values in series.items()
    ]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})


def test_a_prometheus_server_tells_the_same(scripted):
    server, address = scripted(lambda _: kept(varied()))
    scrapes = scrapes_of_prometheus(PrometheusServer(address.url), "m", 3600.0, 'instance="a:8000"')
    constants = calibration_of(*readings_between(scrapes)).constants
    assert constants["base_ms"].value == pytest.approx(5.0, rel=1e-6)
    asked = parse_qs(urlsplit(server.asked[0]).query)
    assert urlsplit(server.asked[0]).path == "/api/v1/query_range"
    assert asked["query"][0].startswith("sum by (__name__, model_name, mode) ({__name__=~")
    assert asked["query"][0].endswith(',instance="a:8000"})')
    assert asked["step"] == ["30.000"]
    assert float(asked["end"][0]) - float(asked["start"][0]) == pytest.approx(3600)


@pytest.mark.parametrize("text", ["", "<html>", "[]", '{"data": 1}', '{"data": {"result": [1]}}'])
def test_what_is_no_answer_of_prometheus_is_an_error(scripted, text):
    _, address = scripted(lambda _: text)
    with pytest.raises(ServerError, match="none of Prometheus"):
        scrapes_of_prometheus(PrometheusServer(address.url), None, 3600.0, "")


def test_a_prometheus_server_without_engines_says_so(scripted):
    _, address = scripted(lambda _: '{"data": {"result": []}}')
    with pytest.raises(InputError, match=r"has no metrics of an engine.*--window"):
        scrapes_of_prometheus(PrometheusServer(address.url), None, 3600.0, "")
