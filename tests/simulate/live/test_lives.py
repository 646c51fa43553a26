"""Engines that come and go, worked by hand."""

from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest

from colocate import Gpu, InputError, Model, Problem
from colocate.problem.cache import caches_of
from colocate.simulate.engine_life import EngineLife
from colocate.simulate.live.replay import LiveReplay
from colocate.simulate.live.run import simulate_lives
from colocate.simulate.options import EngineFailure, SimulateOptions
from colocate.simulate.run import simulate_placement
from tests.simulate.drawn_fleets import KIND, asked, drawn_case, poisson
from tests.simulate.test_engines import stream_of
from tests.simulate.test_random_cases import equal

ALONE = SimulateOptions(sharing="alone")
ELASTIC = SimulateOptions(sharing="alone", cache="elastic")


def fleet(gpus=2, models=1, size=10.0, **fields):
    """Return models on GPUs of 40 GB; a prompt takes 20 ms, a step 10 ms."""
    places = [Gpu(f"g{n}", 40.0, KIND, node="n") for n in range(gpus)]
    fields = {"load": 1.0, "requests": asked(), **fields}
    return Problem(places, [Model(f"m{n}", size, **fields) for n in range(models)])


@pytest.mark.parametrize("seed", range(30))
def test_lives_that_never_end_are_a_placement(seed):
    problem, placement, stream, options = drawn_case(seed)
    options = replace(options, wake_seconds=None)
    caches = caches_of(problem, placement)
    lives = [EngineLife(each.model, each.gpus, each.cache_gb) for each in caches]
    lives.sort(key=lambda life: life.model, reverse=True)
    equal(
        simulate_placement(problem, placement, [stream], options),
        simulate_lives(problem, lives, [stream], options),
    )


def test_requests_wait_at_the_router_until_an_engine_is_ready():
    lives = [EngineLife("m0", ("g0",), ready=30.0, loading=10.0)]
    (found,) = simulate_lives(fleet(), lives, [stream_of((1.0, 0, 100, 2))], ALONE).models
    assert found.ttft.max == pytest.approx(29.02)
    assert found.finished == 1


def test_a_model_without_any_engine_is_asleep():
    (found,) = simulate_lives(fleet(), [], [stream_of((1.0, 0, 100, 2))], ALONE).models
    assert (found.refused, found.finished) == (1, 0)


def test_a_closed_engine_finishes_what_it_has_and_takes_no_more():
    lives = [EngineLife("m0", ("g0",), 5.0, closed=1.0), EngineLife("m0", ("g1",), 5.0, ready=1.0)]
    stream = stream_of((0.9, 0, 100, 101), (1.5, 0, 100, 101))
    replay = LiveReplay(fleet(), lives, [stream], ALONE)
    replay.run(1.6)
    assert replay.counts().in_work.tolist() == [2]
    assert [replay.is_open(n) for n in (0, 1)] == [False, True]
    assert [replay.drained(n) for n in (0, 1)] == [False, False]
    replay.run(2.0)
    assert [replay.drained(n) for n in (0, 1)] == [True, False]
    replay.run(100.0)
    found = replay.outcome(True)
    assert found.models[0].end_to_end.max == pytest.approx(1.02)
    assert [gpu.busy * 100.0 for gpu in found.gpus] == pytest.approx([1.02, 1.02])


def test_what_is_left_when_an_engine_goes_is_done_anew_elsewhere():
    lives = [
        EngineLife("m0", ("g0",), 5.0, closed=1.0, gone=1.5),
        EngineLife("m0", ("g1",), 5.0, ready=1.0, loading=0.0),
    ]
    stream = stream_of((0.9, 0, 100, 101))
    found = simulate_lives(fleet(), lives, [stream], ALONE).models[0]
    # It begins again at 1.5: 0.6 s after it came, and takes 1.02 s, as if nothing had been made.
    assert found.end_to_end.max == pytest.approx(0.6 + 1.02)
    assert found.ttft.max == pytest.approx(0.62)
    assert (found.finished, found.preemptions, found.tokens_out) == (1, 1, 101)


def test_without_another_engine_it_waits_at_the_router():
    lives = [
        EngineLife("m0", ("g0",), 5.0, closed=1.0, gone=1.5),
        EngineLife("m0", ("g0",), 5.0, ready=11.5, loading=1.5),
    ]
    stream = stream_of((0.9, 0, 100, 101), (1.2, 0, 100, 2), (8.0, 0, 100, 2))
    found = simulate_lives(fleet(gpus=1), lives, [stream], ALONE).models[0]
    assert found.finished == 3
    # The router has the second one from 1.2 s on, and the first one again from 1.5 s on.
    assert found.ttft.max == pytest.approx(11.54 - 0.9)


def test_memory_is_given_back_before_it_is_taken_at_the_same_moment():
    lives = [
        EngineLife("m0", ("g0",), 25.0, closed=10.0, gone=20.0),
        EngineLife("m1", ("g0",), 25.0, ready=30.0, loading=20.0),
    ]
    stream = stream_of((1.0, 0, 100, 2), (1.0, 1, 100, 2))
    found = simulate_lives(fleet(gpus=1, models=2), lives, [stream], ALONE)
    assert [model.finished for model in found.models] == [1, 1]


@pytest.mark.parametrize("options", [ALONE, ELASTIC])
def test_a_gpu_is_never_over_its_memory(options):
    problem = fleet(gpus=1, models=2, size=21.0)
    late = EngineLife("m1", ("g0",), 5.0, ready=30.0, loading=20.0)
    lives = [EngineLife("m0", ("g0",), 5.0, closed=10.0, gone=20.001), late]
    with pytest.raises(InputError, match=r"engine 'm1': needs .* GB on 'g0' at 20 s"):
        simulate_lives(problem, lives, [stream_of((50.0, 0, 100, 2))], options)
    both = [EngineLife("m0", ("g0",)), EngineLife("m1", ("g0",))]
    with pytest.raises(InputError, match=r"'g0': holds 42.00 GB from the beginning"):
        simulate_lives(problem, both, [stream_of((50.0, 0, 100, 2))], options)


def test_requests_give_way_to_weights_and_come_back():
    problem = fleet(gpus=1, models=2, size=10.0, requests=asked(request_gb=11.0))
    # A request of 100 + 50 tokens holds 10 GB at the end. There are 30 GB, and from 0.3 s on 20.
    lives = [EngineLife("m0", ("g0",)), EngineLife("m1", ("g0",), ready=5.0, loading=0.3)]
    stream = stream_of(*[(0.0, 0, 100, 50)] * 3)
    found = simulate_lives(problem, lives, [stream], ELASTIC).models[0]
    assert (found.finished, found.preemptions) == (3, 1)


def test_loading_slows_the_engines_of_a_gpu_a_little():
    lives = [EngineLife("m0", ("g0",), 5.0), EngineLife("m1", ("g0",), 5.0, ready=9.0, loading=1.0)]
    stream = stream_of((0.0, 0, 100, 2), (2.0, 0, 100, 101), (20.0, 0, 100, 2))
    replay = LiveReplay(fleet(gpus=1, models=2), lives, [stream], ALONE, load_slowdown=0.1)
    replay.run(100.0)
    found = replay.outcome(True).models[0]
    assert found.end_to_end.max == pytest.approx(1.02 * 1.1)
    assert found.ttft.p50 == pytest.approx(0.02, rel=0.011)


def test_shards_that_come_later_join_their_gpus():
    problem = Problem(
        fleet(gpus=2).gpus,
        [
            Model("m0", 10.0, load=1.0, requests=asked()),
            Model("wide", 20.0, load=1.0, shards=2, requests=asked()),
        ],
    )
    lives = [
        EngineLife("m0", ("g1",), 5.0),
        EngineLife("wide", ("g0", "g1"), 5.0, ready=2.0, closed=50.0, gone=60.0, loading=1.0),
    ]
    stream = poisson([3.0, 3.0], 40.0, tail=60.0)
    for sharing in ("slices", "mps"):
        found = simulate_lives(problem, lives, [stream], SimulateOptions(sharing=sharing))
        assert [model.unfinished for model in found.models] == [0, 0]
        assert found.gpus[0].busy == pytest.approx(found.models[1].busy * 59.0 / 100.0, rel=1e-6)


def test_a_controller_may_look_and_change_engines_under_way():
    stream = poisson([5.0], 100.0, tail=50.0)
    replay = LiveReplay(fleet(), [EngineLife("m0", ("g0",), 5.0)], [stream], ALONE)
    replay.run(30.0)
    seen = replay.counts()
    assert seen.arrived[0] == np.count_nonzero(stream.arrival <= 30.0)
    number = replay.add(EngineLife("m0", ("g1",), 5.0, ready=40.0, loading=30.0))
    replay.run(35.0)
    assert not replay.is_open(number)
    replay.run(45.0)
    assert replay.is_open(number)
    replay.end(0, closed=45.0, gone=46.0)
    replay.run(150.0)
    found = replay.outcome(True)
    assert found.models[0].unfinished == 0
    assert found.gpus[0].busy < found.gpus[1].busy
    with pytest.raises(InputError, match="which is now"):
        replay.add(EngineLife("m0", ("g1",), ready=40.0))
    with pytest.raises(InputError, match="which is now"):
        replay.end(number, closed=40.0, gone=50.0)


def test_an_engine_that_fails_while_it_loads_is_ready_later():
    replay = LiveReplay(
        fleet(),
        [EngineLife("m0", ("g0",), 5.0, ready=10.0, loading=1.0)],
        [stream_of((0.0, 0, 100, 2), (50.0, 0, 100, 2))],
        ALONE,
    )
    replay.run(5.0)
    replay.fail(0, 7.0)
    replay.run(16.0)
    assert not replay.is_open(0)
    replay.run(49.0)
    replay.fail(0, 4.0)
    replay.run(100.0)
    found = replay.outcome(True).models[0]
    assert found.ttft.max == pytest.approx(17.02)
    assert found.ttft.mean == pytest.approx((17.02 + 3.02) / 2)


def test_a_load_that_is_given_up_leaves_no_trace():
    replay = LiveReplay(fleet(gpus=1), [EngineLife("m0", ("g0",), 5.0)], (), ALONE)
    replay.run(10.0)
    number = replay.add(EngineLife("m0", ("g0",), 5.0, ready=40.0, loading=20.0))
    replay.run(30.0)
    replay.end(number, closed=30.0, gone=30.0)
    replay.run(60.0)
    assert not replay.is_open(number)
    again = replay.add(EngineLife("m0", ("g0",), 15.0, ready=70.0))
    replay.run(80.0)
    assert replay.is_open(again)


def test_failures_of_replicas_that_are_not_there_do_nothing():
    failures = (EngineFailure("m0", 1, 1.0, 50.0), EngineFailure("m0", 0, 2.0, 3.0))
    options = SimulateOptions(sharing="alone", failures=failures)
    lives = [EngineLife("m0", ("g0",), 5.0)]
    (found,) = simulate_lives(fleet(), lives, [stream_of((2.5, 0, 100, 2))], options).models
    assert found.ttft.max == pytest.approx(2.52)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"model": ""}, "model"),
        ({"gpus": "g0"}, "a list of names"),
        ({"ready": 1.0, "closed": 0.5}, "closed=0.5, must be at least 1"),
        ({"closed": 3.0, "gone": 2.0}, "gone"),
        ({"ready": 1.0, "loading": 2.0}, "ready"),
        ({"ready": inf}, "ready"),
        ({"closed": nan}, "closed"),
        ({"cache_gb": -1.0}, "cache_gb"),
    ],
)
def test_lives_that_cannot_be_are_told(fields, told):
    with pytest.raises(InputError, match=told):
        EngineLife(**{"model": "m0", "gpus": ("g0",), **fields})


@pytest.mark.parametrize(
    ("life", "told"),
    [
        (EngineLife("nobody", ("g0",)), "'nobody'.* is not in the fleet"),
        (EngineLife("m0", ("g9",)), "'g9', which is no GPU"),
        (EngineLife("m0", ("g0", "g1")), "1 different GPUs"),
    ],
)
def test_lives_that_do_not_suit_the_fleet_are_told(life, told):
    with pytest.raises(InputError, match=told):
        simulate_lives(fleet(), [life], [], ALONE)
    with pytest.raises(InputError, match=told):
        LiveReplay(fleet(), []).add(life)


def test_nobody_wakes_models_where_engines_come_and_go():
    with pytest.raises(InputError, match="wake_seconds"):
        LiveReplay(fleet(), [], (), SimulateOptions(wake_seconds=1.0))
