"""A Prometheus server on loopback, with samples whose sums are known."""

from math import inf, nan
from threading import Event
from urllib.parse import parse_qs, urlsplit

import pytest

from colocate.errors import InputError, SourceError, Trouble
from colocate.inputs.observation.metrics.from_prometheus import (
    PrometheusQuestion,
    observe_prometheus,
)
from colocate.inputs.observation.metrics.metric_names import known_metric_names
from colocate.inputs.observation.observation import Basis, Remark
from colocate.inputs.server import prometheus as server_limits
from tests.inputs.observation.fake_prometheus import NOW, Store, serving

POINTS = 241
"""Samples of an hour, every 15 seconds."""


def vllm(store, model="m", instance="a:8000", each=15.0, waiting=lambda n: 0.0, **more):
    """An engine that ends so many requests between two samples."""
    labels = {"model_name": model, "instance": instance, "job": "vllm", **more}
    done = [each * n for n in range(POINTS)]
    store.add("vllm:request_success_total", done, finished_reason="stop", **labels)
    store.add("vllm:request_success_total", [0.0] * POINTS, finished_reason="abort", **labels)
    store.add("vllm:num_requests_running", [n % 2 for n in range(POINTS)], **labels)
    store.add("vllm:num_requests_waiting", [waiting(n) for n in range(POINTS)], **labels)
    store.histogram("vllm:request_prompt_tokens", [100 * n for n in done], done, **labels)
    store.histogram("vllm:request_generation_tokens", [50 * n for n in done], done, **labels)
    store.histogram("vllm:time_to_first_token_seconds", [0.2 * n for n in done], done, **labels)
    store.add("vllm:kv_cache_usage_perc", [0.25] * POINTS, **labels)
    tokens = [50 * n for n in done]
    store.histogram(
        "vllm:inter_token_latency_seconds", [0.03 * n for n in tokens], tokens, **labels
    )


def observed(store, answer=None, **asked):
    """Ask until the newest sample, unless another end is given; None is now, as users ask."""
    with serving(store, answer) as (url, _):
        return observe_prometheus(url, PrometheusQuestion(**{"end": store.now, **asked}))


def remarks(found):
    return [note.remark for note in found.notes if note.remark is not Remark.CLOCK]


def trouble(store, answer=None, **asked):
    with pytest.raises(SourceError) as caught:
        observed(store, answer, **asked)
    assert "\n" not in str(caught.value)
    return caught.value.trouble, str(caught.value)


def test_all_figures_of_two_replicas():
    store = Store()
    vllm(store, instance="a:8000")
    vllm(store, instance="b:8000", each=30.0)
    found = observed(store)
    (model,) = found.models
    assert (found.kind, found.bin_seconds, found.seconds) == ("prometheus", 30.0, 3600.0)
    assert found.taken == NOW
    assert found.begin == NOW - 3600.0
    assert model.basis is Basis.QUEUE
    assert model.replicas == 2
    assert model.rate.value == pytest.approx(3.0)
    assert model.prompt_tokens.value == pytest.approx(100.0)
    assert model.output_tokens.value == pytest.approx(50.0)
    assert model.ttft.value == pytest.approx(0.2)
    assert model.tpot.value == pytest.approx(0.03)
    assert model.cache.value == pytest.approx(0.25)
    assert model.tokens_per_second == pytest.approx(450.0)
    assert remarks(found) == []


def test_an_engine_that_nobody_has_asked_yet_has_a_rate_of_0():
    """Some kinds make their counters with the first request, and have their gauges before."""
    store = Store()
    vllm(store)
    idle = {"model_name": "idle", "instance": "b:8000", "job": "sglang"}
    busy = {"model_name": "other names", "instance": "c:8000", "job": "sglang"}
    for labels, running in ((idle, 0.0), (busy, 2.0)):
        store.add("sglang:num_running_reqs", [running] * POINTS, **labels)
        store.add("sglang:num_queue_reqs", [0.0] * POINTS, **labels)
    found = observed(store)
    assert [model.name for model in found.models] == ["m", "idle"]
    assert (found.models[1].rate.value, found.models[1].queue) == (0.0, 0.0)


def test_under_overload_the_queue_counts_and_that_is_told():
    store = Store()
    vllm(store, each=15.0, waiting=lambda n: 7.5 * n)
    found = observed(store)
    assert found.models[0].rate.value == pytest.approx(1.5)
    assert found.models[0].basis is Basis.QUEUE
    assert remarks(found) == [Remark.GROWING]
    assert found.notes[0].amount == pytest.approx(0.5)
    assert found.models[0].queue == pytest.approx(7.5 * (POINTS - 1))


def test_without_gauges_only_ended_requests_count_and_that_is_told():
    store = Store()
    store.add("vllm:request_success_total", list(range(POINTS)), model_name="m", instance="a")
    found = observed(store)
    assert found.models[0].basis is Basis.COMPLETED
    assert remarks(found) == [Remark.ENDED_ONLY]
    assert found.models[0].queue is None
    assert found.models[0].busy is None
    assert found.models[0].tpot is None


def test_requests_that_started_come_first():
    store = Store()
    labels = {"model_name": "m", "instance": "a"}
    store.add("tgi_request_count", [30.0 * n for n in range(POINTS)], **labels)
    store.add("tgi_request_success", [15.0 * n for n in range(POINTS)], **labels)
    store.add("tgi_queue_size", [15.0 * n for n in range(POINTS)], **labels)
    store.add("tgi_batch_current_size", [1.0] * POINTS, **labels)
    found = observed(store)
    assert found.models[0].basis is Basis.STARTED
    assert found.models[0].rate.value == pytest.approx(2.0)


def test_a_gateway_before_engines_counts_their_requests_once():
    store = Store()
    vllm(store)
    started = [30.0 * n for n in range(POINTS)]
    store.add("dynamo_frontend_requests_started_total", started, model="m", instance="gate")
    found = observed(store)
    assert found.models[0].basis is Basis.STARTED
    assert found.models[0].rate.value == pytest.approx(2.0)
    assert found.models[0].cache.value == pytest.approx(0.25)  # from the engine behind it
    assert found.models[0].replicas == 1


@pytest.mark.parametrize(
    ("engine", "completed", "prompt", "tpot", "cache"),
    [
        ("sglang", "sglang:num_requests_total", "sglang:prompt_tokens_total",
         "sglang:inter_token_latency_seconds", "sglang:token_usage"),
        ("tensorrt-llm", "trtllm_request_success_total", "trtllm_prompt_tokens_total",
         "trtllm_time_per_output_token_seconds", "trtllm_kv_cache_utilization"),
    ],
)  # fmt: skip
def test_names_of_other_engines(engine, completed, prompt, tpot, cache):
    assert engine in [each.engine for each in known_metric_names().engines]
    store = Store()
    labels = {"model_name": "m", "instance": "a"}
    store.add(completed, [15.0 * n for n in range(POINTS)], **labels)
    store.add(prompt, [1500.0 * n for n in range(POINTS)], **labels)
    store.histogram(tpot, [3.0 * n for n in range(POINTS)], [100.0 * n for n in range(POINTS)],
                    **labels)  # fmt: skip
    store.add(cache, [0.5] * POINTS, tp_rank="0", **labels)
    model = observed(store).models[0]
    assert model.rate.value == pytest.approx(1.0)
    assert model.prompt_tokens.value == pytest.approx(100.0)
    assert model.tpot.value == pytest.approx(0.03)
    assert model.cache.value == pytest.approx(0.5)


def test_old_and_new_names_side_by_side():
    store = Store()
    vllm(store, instance="new")
    old = {"model_name": "m", "instance": "old"}
    store.add("vllm:request_success_total", [15.0 * n for n in range(POINTS)], **old)
    store.add("vllm:gpu_cache_usage_perc", [0.75] * POINTS, **old)
    store.add(
        "vllm:gpu_cache_usage_perc", [0.99] * POINTS, model_name="m", instance="new", job="vllm"
    )
    assert observed(store).models[0].cache.value == pytest.approx(0.5)
    names = known_metric_names().of_versions({"vllm": "0.9.2"})
    assert observed(store, names=names).models[0].cache.value == pytest.approx(0.87)


def test_a_counter_that_begins_again_goes_on_from_zero():
    store = Store()
    first = [100.0 + 15.0 * n for n in range(120)]
    values = [*first, *[15.0 * (n + 1) for n in range(POINTS - 120)]]
    store.add("vllm:request_success_total", values, model_name="m", instance="a")
    found = observed(store)
    assert found.models[0].rate.value == pytest.approx(1.0, rel=0.01)
    assert Remark.RESTARTS in remarks(found)


def test_requests_lost_in_a_restart_are_not_taken_back():
    store = Store()
    labels = {"model_name": "m", "instance": "a"}
    half = 120
    done = [15.0 * n for n in range(half)] + [15.0 * (n + 1) for n in range(POINTS - half)]
    store.add("vllm:request_success_total", done, **labels)
    store.add("vllm:num_requests_running", [40.0] * half + [0.0] * (POINTS - half), **labels)
    store.add("vllm:num_requests_waiting", [0.0] * POINTS, **labels)
    assert observed(store).models[0].rate.value == pytest.approx(1.0, rel=0.01)


def test_a_gap_is_unknown_and_no_silence():
    store = Store()
    values = [15.0 * n for n in range(POINTS)]
    values[100:140] = [None] * 40
    store.add("vllm:request_success_total", values, model_name="m", instance="a")
    found = observed(store)
    assert found.models[0].rate.value == pytest.approx(1.0)  # counters count on
    (gaps,) = [note.amount for note in found.notes if note.remark is Remark.GAPS]
    assert gaps == pytest.approx(40 / 240, abs=0.02)
    assert any(rate != rate for rate in found.models[0].rates)  # noqa: PLR0124, NaN


def test_a_replica_that_is_not_scraped_for_a_while_makes_the_sum_unknown():
    store = Store()
    vllm(store, instance="a:8000", each=15.0)
    values = [15.0 * n for n in range(POINTS)]
    values[60:180] = [None] * 120
    store.add("vllm:request_success_total", values, model_name="m", instance="b:8000")
    found = observed(store)
    assert found.models[0].rate.value == pytest.approx(2.0)
    assert Remark.GAPS in remarks(found)


@pytest.mark.parametrize(("missed", "last"), [(1, nan), (2, nan), (3, 1.0), (9, 1.0)])
def test_a_replica_that_was_just_missed_serves_on_until_it_is_gone(missed, last):
    store = Store(every=5.0, now=NOW + 1.0)
    for instance, unseen in (("a:8000", 0), ("b:8000", 2 * missed)):
        done = [5.0 * n for n in range(240 - unseen)] + [nan] * unseen
        store.add(
            "vllm:request_success_total", done,
            begin=NOW - 5.0 * 239, model_name="m", instance=instance,
        )  # fmt: skip
    assert observed(store, window=900.0).models[0].rates[-1] == pytest.approx(last, nan_ok=True)


def test_the_bin_of_a_restart_is_unknown_as_what_came_before_it_is_lost():
    store = Store()
    done = [15.0 * n for n in range(100)] + [2.0 + 15.0 * n for n in range(POINTS - 100)]
    store.add("vllm:request_success_total", done, model_name="m", instance="a")
    found = observed(store).models[0]
    assert sum(rate != rate for rate in found.rates) == 1  # noqa: PLR0124, NaN
    assert {rate for rate in found.rates if rate == rate} == {1.0}  # noqa: PLR0124


@pytest.mark.parametrize("late", [0.1, 0.9, 1.1, 4.0])
def test_a_bin_whose_last_scrape_may_be_under_way_is_not_looked_at(late):
    store, took = Store(every=5.0, now=NOW + late), 0.5
    for instance, before in (("a:8000", 0.2), ("b:8000", 2.0)):
        moments = [NOW - before + 5.0 * n for n in range(-240, 2)]
        there = [n for n, moment in enumerate(moments) if moment + took <= NOW + late]
        store.add(
            "vllm:request_success_total", [100.0 * n for n in there],
            begin=moments[0], model_name=instance, instance=instance,
        )  # fmt: skip
    found = observed(store, window=600.0, end=None)
    assert found.bin_seconds == 10.0
    assert {model.rates[-1] for model in found.models} == {20.0}


def test_a_restart_in_a_gap_leaves_it_unknown():
    store = Store()
    values = [900.0 + 15.0 * n for n in range(100)] + [None] * 40
    values += [15.0 * n for n in range(POINTS - 140)]
    store.add("vllm:request_success_total", values, model_name="m", instance="a")
    assert observed(store).models[0].rate.value == pytest.approx(1.0, rel=0.01)


def test_a_replica_that_came_later_or_left_adds_what_it_served():
    store = Store()
    vllm(store, instance="a:8000", each=15.0)
    late = [None] * 120 + [15.0 * n for n in range(POINTS - 120)]
    store.add("vllm:request_success_total", late, model_name="m", instance="b:8000")
    assert observed(store).models[0].rate.value == pytest.approx(1.5, rel=0.05)


def test_values_that_are_no_numbers_are_gaps():
    store = Store()
    values = [15.0 * n for n in range(POINTS)]
    values[50], values[90] = nan, inf
    store.add("vllm:request_success_total", values, model_name="m", instance="a")
    assert observed(store).models[0].rate.value == pytest.approx(1.0, rel=0.02)


def test_a_counter_that_appears_beside_its_engine_began_at_zero():
    store = Store()
    labels = {"model_name": "m", "instance": "a"}
    store.add("sglang:num_running_reqs", [0.0] * POINTS, **labels)
    store.add("sglang:num_queue_reqs", [0.0] * POINTS, **labels)
    store.add("sglang:num_requests_total", [None] * 200 + [3.0] * (POINTS - 200), **labels)
    assert observed(store).models[0].rate.value == pytest.approx(3.0 / 3600.0)


def test_a_high_counter_that_appears_was_there_before():
    store = Store()
    labels = {"model_name": "m", "instance": "a"}
    store.add("sglang:num_running_reqs", [0.0] * POINTS, **labels)
    store.add("sglang:num_queue_reqs", [0.0] * POINTS, **labels)
    store.add("sglang:num_requests_total", [None] * 200 + [9e6] * (POINTS - 200), **labels)
    assert observed(store).models[0].rate.value == 0.0


def test_an_engine_that_two_jobs_scrape_counts_once():
    store = Store()
    vllm(store)
    vllm(store, pod="again")
    found = observed(store)
    assert found.models[0].rate.value == pytest.approx(1.0)
    assert remarks(found) == [Remark.TWICE]


def test_a_model_that_is_gone_is_told_and_keeps_its_rate():
    store = Store()
    vllm(store, model="stays")
    store.add(
        "vllm:request_success_total", [15.0 * n for n in range(100)],
        begin=NOW - 3600.0, model_name="gone", instance="b",
    )  # fmt: skip
    found = observed(store)
    assert found.named("gone").rate.value == pytest.approx(1.0, rel=0.2)
    assert Remark.GONE in remarks(found)


def test_labels_and_names_of_the_user():
    store = Store()
    store.add("tgi_request_count", [15.0 * n for n in range(POINTS)], served="x", instance="a")
    names = known_metric_names().with_labels(("served",))
    assert observed(store, names=names, mapping={"x": "mine"}).models[0].name == "mine"
    kind, text = trouble(store)
    assert kind is Trouble.EMPTY
    assert "--label" in text


def test_series_without_a_model_are_told_with_their_labels():
    store = Store()
    vllm(store)
    store.add("tgi_request_count", [15.0 * n for n in range(POINTS)], pod="p-1", instance="z")
    found = observed(store)
    assert [model.name for model in found.models] == ["m"]
    assert remarks(found) == [Remark.UNLABELLED]
    assert found.notes[0].text == "instance, pod"


def test_where_narrows_it():
    store = Store()
    vllm(store, cluster="one")
    vllm(store, cluster="two", model="other")
    found = observed(store, where='cluster="two"')
    assert [model.name for model in found.models] == ["other"]
    kind, text = trouble(store, where='cluster="three"')
    assert kind is Trouble.EMPTY
    assert 'cluster="three"' in text


def test_clocks_that_differ_are_told_and_change_nothing():
    store = Store()
    vllm(store)
    found = observed(store)  # the clock of the server is at NOW, ours is elsewhere
    assert [note.remark for note in found.notes] == [Remark.CLOCK]
    assert found.models[0].rate.value == pytest.approx(1.0)


def test_old_samples_are_refused():
    store = Store()
    vllm(store)
    store.now = NOW + 200.0
    kind, text = trouble(store)
    assert kind is Trouble.LATE
    assert "200 s old" in text
    store.now = NOW + 1000.0
    kind, text = trouble(store)
    assert kind is Trouble.LATE
    assert "five minutes" in text
    store.now = NOW + 90_000.0
    assert trouble(store)[0] is Trouble.EMPTY


def test_an_empty_server_says_so():
    kind, text = trouble(Store())
    assert kind is Trouble.EMPTY
    assert "check that Prometheus scrapes the engines" in text


def test_a_server_that_is_not_there():
    with pytest.raises(SourceError, match="no connection") as caught:
        observe_prometheus("http://127.0.0.1:9")
    assert caught.value.trouble is Trouble.DOWN
    with pytest.raises(InputError, match="an address like"):
        observe_prometheus("prometheus:9090")


@pytest.mark.parametrize(
    ("status", "text", "told"),
    [
        (400, '{"status":"error","error":"parse error"}', "parse error"),
        (401, "no", "PROMETHEUS_TOKEN"),
        (422, "query processing would load too many samples", "too many samples"),
        (503, "<html>", "wait until the server is ready"),
    ],
)
def test_refusals_are_one_sentence(status, text, told):
    kind, message = trouble(Store(), lambda handler: handler.reply(status, text))
    assert kind is Trouble.DOWN
    assert told in message
    assert str(status) in message


@pytest.mark.parametrize(
    "text",
    ["", "hello", "[]", '{"data": 1}', '{"data": {"result": "x"}}', "[" * 50_000,
     '{"data": {"resultType": "scalar", "result": [1, "NaN"]}}'],
)  # fmt: skip
def test_nonsense_is_one_sentence(text):
    kind, message = trouble(Store(), lambda handler: handler.reply(200, text))
    assert kind is Trouble.NONSENSE
    assert "none of Prometheus" in message


@pytest.mark.parametrize("values", [[-1.0 * n for n in range(POINTS)], [0.0] * 100 + [1e15] * 141])
def test_counters_that_cannot_be_are_refused(values):
    store = Store()
    store.add("vllm:request_success_total", values, model_name="m", instance="a")
    kind, message = trouble(store)
    assert kind is Trouble.NONSENSE
    assert "check the exporter" in message


def test_a_share_that_is_none_is_left_out():
    store = Store()
    vllm(store)
    key = next(key for key in store.series if ("__name__", "vllm:kv_cache_usage_perc") in key)
    store.series[key] = [(t, 73.0) for t, _ in store.series[key]]
    assert observed(store).models[0].cache is None


def test_a_silent_and_a_huge_server_end(monkeypatch):
    stop = Event()
    monkeypatch.setattr(server_limits, "SECONDS_TO_ANSWER", 0.3)
    monkeypatch.setattr(server_limits.PrometheusServer.__init__, "__defaults__", (None, 0.3))
    kind, message = trouble(Store(), lambda _: stop.wait(5))
    stop.set()
    assert kind is Trouble.DOWN
    assert "no sign of life within 0.3 s" in message
    monkeypatch.setattr(server_limits, "LARGEST_ANSWER", 1000)
    kind, message = trouble(Store(), lambda handler: handler.reply(200, "x" * 5000))
    assert kind is Trouble.DOWN
    assert "more than 1000 bytes" in message


def test_a_long_time_is_asked_for_in_pieces_that_prometheus_allows(monkeypatch):
    store = Store(every=150.0)
    days = 8
    points = round(days * 86400 / 150) + 3
    store.add("vllm:request_success_total", [150.0 * n for n in range(points)],
              model_name="m", instance="a")  # fmt: skip
    monkeypatch.setattr(server_limits, "MOST_POINTS", 1000)
    with serving(store) as (url, asked):
        found = observe_prometheus(url, PrometheusQuestion(window=days * 86400.0))
    ranges = [parse_qs(urlsplit(path).query) for path in asked if "query_range" in path]
    assert len(ranges) == 3
    assert found.bin_seconds == 300.0
    assert found.bins == days * 288
    assert found.models[0].rate.value == pytest.approx(1.0)
    monkeypatch.setattr(server_limits, "MOST_SAMPLES", 1000)
    kind, message = trouble(store, window=days * 86400.0)
    assert kind is Trouble.TOO_LARGE
    assert "--where" in message


def test_history_that_is_shorter_than_the_time_asked_for_is_no_silence():
    store = Store()
    vllm(store)
    found = observed(store, window=4 * 3600.0)
    assert found.seconds == pytest.approx(3600.0, abs=60.0)
    assert found.models[0].rate.value == pytest.approx(1.0, rel=0.02)
    assert remarks(found) == []


@pytest.mark.parametrize(
    "asked", [{"window": 1.0}, {"window": nan}, {"window": 1e9}, {"step": 0.1}, {"step": 900.0},
              {"end": nan}]
)  # fmt: skip
def test_questions_that_make_no_sense(asked):
    with pytest.raises(InputError):
        PrometheusQuestion(**asked)
