"""The simulator against what is known of queues."""

from dataclasses import replace

import numpy as np
import pytest

from colocate import Gpu, Model, Problem
from colocate.problem.sharing import CHANGE_SECONDS, HOST_GAP, SharingCost
from colocate.simulate import layout
from colocate.simulate.requests import RequestStream
from tests.simulate.drawn_fleets import asked, one_gpu, poisson, simulated


@pytest.mark.parametrize("sharing", ["slices", "mps"])
@pytest.mark.parametrize(("load", "count"), [(0.5, 400_000), (0.7, 1_000_000), (0.9, 4_000_000)])
def test_one_slot_and_equal_lengths_wait_as_in_a_queue_with_one_server(sharing, load, count):
    service = 0.02 + 4 * 0.01
    problem, placement = one_gpu(asked(slots=1.0))
    stream = poisson([load / service], count * service / load, seed=1, output=5)
    found = simulated(problem, placement, stream, sharing=sharing).models[0]
    wait = load * service / (2 * (1 - load))  # Pollaczek and Khinchine
    assert found.ttft.mean - 0.02 == pytest.approx(wait, rel=0.02)
    assert found.tpot.mean == pytest.approx(0.01)
    assert found.busy == pytest.approx(load, rel=0.01)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_equal_engines_that_slow_each_other_down_evenly_share_the_processor(monkeypatch, load):
    """Where all work at once and a turn waits for one of each neighbour, n work at 1 / n."""
    fair = {"mps": SharingCost(0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)}
    monkeypatch.setattr(layout, "COSTS", fair)
    engines, work = 300, 0.05
    problem, placement = one_gpu(*[asked(prefill=work) for _ in range(engines)], memory=1000.0)
    rates = [load / work / engines] * engines
    stream = poisson(rates, 12_000.0, seed=2, output=1)
    found = simulated(problem, placement, stream, sharing="mps")
    count = sum(model.finished for model in found.models)
    mean = sum(model.ttft.mean * model.finished for model in found.models) / count
    assert mean == pytest.approx(work / (1 - load), rel=0.03)
    assert found.gpus[0].busy == pytest.approx(load, rel=0.02)


@pytest.mark.parametrize("engines", [2, 3, 5])
@pytest.mark.parametrize("step", [0.0015, 0.002, 0.0055])
def test_engines_without_a_pause_take_equal_turns(engines, step):
    problem, placement = one_gpu(*[asked(step=step, prefill=0.0) for _ in range(engines)])
    model = np.arange(engines)
    stream = RequestStream(np.zeros(engines), model, np.ones(engines), np.full(engines, 501), 60.0)
    turns = np.ceil((step - HOST_GAP) / 0.002)
    expected = engines * (step - HOST_GAP + turns * CHANGE_SECONDS)
    for each in simulated(problem, placement, stream).models:
        assert each.finished == 1
        assert each.tpot.mean == pytest.approx(expected, rel=0.01)


def test_a_lone_engine_takes_as_long_as_it_was_measured_to():
    speeds = asked(step=0.005, more=0.001, prefill=0.03, work=0.01)
    problem, placement = one_gpu(speeds, speeds)
    stream = RequestStream(np.array([1.0]), np.array([0]), np.array([100]), np.array([11]), 2.0)
    for sharing in ("slices", "mps", "alone"):
        found = simulated(problem, placement, stream, sharing=sharing).models[0]
        assert found.ttft.max == pytest.approx(0.03)
        assert found.tpot.max == pytest.approx(0.006)
        assert found.end_to_end.max == pytest.approx(0.03 + 10 * 0.006)
        assert found.in_flight == pytest.approx(0.09 / 2.0)


def test_longer_prompts_take_the_gpu_longer_and_the_host_no_longer():
    problem, placement = one_gpu(asked(prefill=0.03, work=0.01))
    stream = RequestStream(np.array([0.0]), np.array([0]), np.array([400]), np.array([1]), 1.0)
    assert simulated(problem, placement, stream).models[0].ttft.max == pytest.approx(0.06)


@pytest.mark.parametrize("prefill", ["first", "chunked"])
@pytest.mark.parametrize("sharing", ["slices", "mps"])
def test_littles_law_holds(prefill, sharing):
    problem, placement = one_gpu(asked(), asked(slots=4.0), asked(request_gb=3.0), memory=30.0)
    stream = poisson([1.0, 2.0, 1.0], 400.0, tail=200.0, exponential=True)
    found = simulated(problem, placement, stream, prefill=prefill, sharing=sharing)
    for model in found.models:
        assert model.unfinished == 0
        in_system = (model.in_flight + model.queue) * found.seconds
        assert in_system == pytest.approx(model.end_to_end.mean * model.finished, rel=1e-9)


@pytest.mark.parametrize("sharing", ["slices", "mps", "alone"])
def test_more_requests_are_slower_on_average(sharing):
    problem, placement = one_gpu(asked(more=2e-4), asked(more=2e-4))
    means = []
    for rate in (0.5, 2.0, 5.0):
        stream = poisson([rate, rate], 600.0, seed=3, exponential=True)
        found = simulated(problem, placement, stream, sharing=sharing).models[0]
        means.append((found.tpot.mean, found.ttft.mean, found.busy, found.in_flight))
    assert np.all(np.diff(np.array(means), axis=0) > 0.0)


def test_one_more_neighbour_is_slower():
    for sharing in ("slices", "mps"):
        means = []
        for engines in (1, 2, 3, 4):
            problem, placement = one_gpu(*[asked() for _ in range(engines)])
            stream = poisson([1.0] * engines, 600.0, seed=4, exponential=True)
            means.append(simulated(problem, placement, stream, sharing=sharing).models[0].tpot.mean)
        assert np.all(np.diff(means) > 0.0)


def test_shards_work_as_fast_as_the_slowest_of_them():
    gpus = [Gpu(name, 100.0, "H200", node="n") for name in ("a", "b")]
    wide = Model("wide", 2.0, load=1.0, shards=2, requests=asked(step=0.005, prefill=0.0))
    beside = Model("beside", 1.0, load=1.0, requests=asked(step=0.005, prefill=0.0))
    problem = Problem(gpus, [wide, beside])
    stream = RequestStream(np.zeros(2), np.array([0, 1]), np.ones(2), np.full(2, 501), 60.0)
    placement = {"wide": ["a", "b"], "beside": ["b"]}
    for sharing in ("slices", "mps"):
        wide, beside = simulated(problem, placement, stream, sharing=sharing).models
        assert wide.tpot.mean == pytest.approx(beside.tpot.mean, rel=0.02)
        assert wide.tpot.mean > 0.008
    alone = simulated(replace(problem), {"wide": ["a", "b"], "beside": []}, stream).models[0]
    assert alone.tpot.mean == pytest.approx(0.005)
