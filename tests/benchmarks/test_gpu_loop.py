"""The loops of an engine, with a pretended engine: no GPU and no torch."""

from time import perf_counter, sleep

import numpy as np
import pytest
from benchmarks.gpu.loop import Record, run_closed, run_open
from benchmarks.gpu.schedule import Schedule, draw_schedule
from benchmarks.gpu.summary import summarise_closed, summarise_open


class PretendedEngine:
    """Notes what it is asked to do."""

    def __init__(self):
        self.done = []

    def step(self, batch):
        self.done.append(batch)
        sleep(0.002)

    def prefill(self, tokens, slot):
        self.done.append((tokens, slot))
        sleep(0.002)


def serve(schedule, seconds=0.2, slots=64):
    engine = PretendedEngine()
    record = Record(schedule, seconds)
    run_open(engine.step, engine.prefill, record, perf_counter() + 0.01, slots, 512)
    return engine.done, record


def test_schedules_have_the_rate_and_tokens_that_were_asked_for():
    schedule = draw_schedule([1, 0], rate=50, seconds=400, output_tokens=128)
    assert len(schedule.arrivals) == pytest.approx(20_000, rel=0.03)
    assert np.mean(schedule.outputs) == pytest.approx(128.5, rel=0.03)
    assert min(schedule.outputs) == 2
    assert schedule.arrivals == sorted(schedule.arrivals)
    assert schedule.arrivals[-1] < 400


def test_equal_seeds_give_equal_schedules():
    assert draw_schedule([1, 0], 6, 12, 128) == draw_schedule([1, 0], 6, 12, 128)
    assert draw_schedule([1, 0], 6, 12, 128) != draw_schedule([1, 1], 6, 12, 128)


def test_prompts_that_wait_are_prefilled_before_further_decoding():
    done, record = serve(Schedule([0.0, 0.0, 0.0], [3, 2, 4]))
    assert done == [(512, 0), (512, 1), (512, 2), 3, 2, 1]
    assert list(record.finished) == [1, 0, 2]


def test_a_request_waits_for_a_free_slot():
    done, record = serve(Schedule([0.0, 0.0, 0.0], [3, 2, 2]), slots=2)
    assert done == [(512, 0), (512, 1), 2, (512, 0), 2]
    figures = summarise_open(record, raw=False)
    assert figures["mean_waiting"] > 0


def test_what_did_not_finish_is_counted():
    _, record = serve(Schedule([0.0, 0.01], [2, 10_000]), seconds=0.1)
    figures = summarise_open(record, raw=True)
    assert (figures["arrived"], figures["finished"], figures["unfinished"]) == (2, 1, 1)
    assert figures["raw_requests_s"][1][3] is None


def test_an_idle_engine_waits_for_the_next_arrival():
    _, record = serve(Schedule([0.1], [2]))
    assert record.admitted[0] == pytest.approx(0.1, abs=0.02)
    assert summarise_open(record, raw=False)["busy"] < 0.5


def test_figures_of_a_record():
    record = Record(Schedule([0.0, 5.0], [3, 11]), 10.0)
    record.admitted.update({0: 0.0, 1: 5.5})
    record.first.update({0: 0.1, 1: 6.0})
    record.finished.update({0: 0.3, 1: 8.0})
    record.steps.extend([0.1, 0.1, 0.2])
    record.batches.extend([1, 2, 3])
    record.prefills.extend([0.1, 0.5])
    record.idle.append(6.2)
    figures = summarise_open(record, raw=False)
    assert figures["tpot_ms"] == pytest.approx(150)
    assert figures["tpot_late_ms"] == pytest.approx(200)
    assert figures["tpot_by_token_ms"] == pytest.approx(2200 / 12, abs=1e-3)
    assert figures["ttft_ms"] == pytest.approx(550)
    assert figures["busy"] == pytest.approx(0.38)
    assert figures["mean_in_flight"] == pytest.approx(0.28)
    assert figures["mean_waiting"] == pytest.approx(0.05)
    assert figures["mean_batch"] == 2
    assert figures["step_by_graph"] == {"1": [1, 100.0], "2": [1, 100.0], "4": [1, 200.0]}


def test_an_empty_record_has_no_times():
    figures = summarise_open(Record(Schedule([], []), 1.0), raw=False)
    assert figures["tpot_ms"] is None
    assert figures["tpot_by_token_ms"] is None


def test_a_closed_loop_acts_until_its_time_is_over():
    times = run_closed(lambda: sleep(0.002), perf_counter(), 0.05)
    figures = summarise_closed(times, raw=True)
    assert figures["acts"] == len(figures["raw_acts_ms"]) > 1
    assert figures["act_least_ms"] >= 2
