"""Models that sleep until a request wakes them."""

import numpy as np
import pytest

from colocate import Gpu, Model, Problem
from colocate.simulate.demand.requests import RequestStream
from tests.simulate.drawn_fleets import KIND, asked, simulated


def fleet(*sizes, gpus=1, **fields):
    """Return a problem of models that may sleep, on GPUs of 40 GB."""
    places = [Gpu(f"g{n}", 40.0, KIND) for n in range(gpus)]
    models = [
        Model(f"m{n}", size, load=1.0, sleep_cost=1.0, requests=asked(), **fields)
        for n, size in enumerate(sizes)
    ]
    return Problem(places, models)


def requests_at(*pairs):
    """Return requests, each as arrival and model."""
    arrival, model = (np.array(field) for field in zip(*pairs, strict=True))
    count = len(arrival)
    return RequestStream(arrival, model, np.full(count, 100), np.full(count, 2), 100.0)


def test_nobody_wakes_a_model_where_that_takes_forever():
    problem = fleet(10.0, 10.0)
    found = simulated(problem, {"m0": ["g0"], "m1": []}, requests_at((0.0, 0), (1.0, 1)))
    assert [model.refused for model in found.models] == [0, 1]
    assert [model.finished for model in found.models] == [1, 0]
    assert [model.woken for model in found.models] == [None, None]


@pytest.mark.parametrize("cache", ["blocks", "elastic"])
def test_a_request_wakes_a_model_that_has_been_asleep(cache):
    problem = fleet(10.0, 10.0, gpus=2)
    stream = requests_at((1.0, 1), (1.5, 1), (9.0, 1))
    found = simulated(problem, {"m0": ["g0"], "m1": []}, stream, wake_seconds=3.0, cache=cache)
    model = found.models[1]
    assert (model.finished, model.refused, model.woken) == (3, 0, 1)
    assert found.models[0].woken == 0
    assert model.ttft.max == pytest.approx(3.02)
    assert found.gpus[1].busy > 0.0, "it wakes where most room is"


@pytest.mark.parametrize("cache", ["blocks", "elastic"])
def test_the_one_that_has_been_idle_longest_makes_room(cache):
    problem = fleet(15.0, 15.0, 20.0)
    placement = {"m0": ["g0"], "m1": ["g0"], "m2": []}
    stream = requests_at((1.0, 0), (2.0, 1), (5.0, 2), (10.0, 1), (20.0, 0))
    found = simulated(problem, placement, stream, wake_seconds=2.0, cache=cache)
    assert [model.refused for model in found.models] == [0, 0, 0]
    # m2 takes the place of m0; m1 stays; m0 comes back after m2, which has been idle longest.
    assert found.models[1].ttft.max < 0.1
    assert found.models[0].ttft.max == pytest.approx(2.02)
    assert found.models[2].ttft.max == pytest.approx(2.02)


def test_a_model_that_must_be_awake_or_is_busy_makes_no_room():
    places = [Gpu("g0", 40.0, KIND)]
    models = [
        Model("always", 30.0, load=1.0, requests=asked()),
        Model("sleepy", 20.0, load=1.0, sleep_cost=1.0, requests=asked()),
    ]
    problem = Problem(places, models)
    stream = requests_at((1.0, 1), (2.0, 0))
    found = simulated(problem, {"always": ["g0"], "sleepy": []}, stream, wake_seconds=2.0)
    assert [model.refused for model in found.models] == [0, 1]


def test_a_model_makes_room_only_after_it_has_been_idle_for_a_while():
    problem = fleet(25.0, 25.0)
    stream = requests_at((1.0, 0), (2.0, 1), (30.0, 1))
    options = {"wake_seconds": 2.0, "idle_seconds": 10.0}
    found = simulated(problem, {"m0": ["g0"], "m1": []}, stream, **options)
    assert (found.models[1].refused, found.models[1].finished) == (1, 1)
    assert found.models[1].woken == 1


def test_a_model_is_woken_only_where_it_may_be():
    problem = fleet(10.0, 10.0, gpus=3, only=("g0", "g1"))
    stream = requests_at((1.0, 1))
    found = simulated(problem, {"m0": ["g0"], "m1": []}, stream, wake_seconds=2.0)
    assert [gpu.busy > 0.0 for gpu in found.gpus] == [False, True, False]
