"""What engines do with a cache that runs full, prompts in pieces, and failures, worked by hand."""

import numpy as np
import pytest

from colocate import Gpu, InputError, Model, Problem
from colocate.simulate.options import EngineFailure, SimulateOptions
from colocate.simulate.requests import RequestStream
from colocate.simulate.run import simulate_placement
from tests.simulate.drawn_fleets import KIND, asked, cut, one_gpu, poisson, simulated


def stream_of(*requests, seconds=100.0):
    """Return requests, each as arrival, model, prompt and output."""
    arrival, model, prompt, output = (np.array(field) for field in zip(*requests, strict=True))
    return RequestStream(arrival, model, prompt, output, seconds)


def cache_for(blocks):
    """Return a problem with one engine whose cache has so many blocks of 16 tokens."""
    # A mean request of 100 + 50 tokens is stated as 11 blocks.
    problem, placement = one_gpu(asked(request_gb=1.1), memory=1.0 + 0.1 * blocks + 0.001)
    return problem, placement


def test_a_prompt_goes_before_further_steps():
    problem, placement = one_gpu(asked(step=0.01, prefill=0.02))
    stream = stream_of((0.0, 0, 100, 4), (0.025, 0, 100, 2))
    found = simulated(problem, placement, stream, sharing="alone").models[0]
    # The first reads until 0.02, makes a token until 0.03, waits for the second one's prompt until
    # 0.05, and makes two more until 0.07; the second one's last token is there at 0.06.
    assert found.end_to_end.max == pytest.approx(0.07)
    assert found.ttft.mean == pytest.approx((0.02 + 0.025) / 2)
    assert found.tpot.mean == pytest.approx((0.05 / 3 + 0.01) / 2)


def test_pieces_of_prompts_go_with_the_steps_of_others():
    problem, placement = one_gpu(asked(step=0.01, prefill=0.02))
    stream = stream_of((0.0, 0, 50, 3), (0.005, 0, 100, 1))
    options = {"sharing": "alone", "prefill": "chunked", "token_budget": 50}
    found = simulated(problem, placement, stream, **options).models[0]
    # The first prompt takes one step of 0.01. Then three steps have one token of the first, while
    # it lasts, and pieces of 49, 49 and 2 tokens of the second: as long as a step at least.
    assert found.ttft.max == pytest.approx(0.01 + 2 * 0.01 + 0.0004 - 0.005, rel=1e-6)
    assert found.end_to_end.mean == pytest.approx((0.03 + 0.0254) / 2, rel=1e-6)


def test_batches_are_padded_to_a_graph():
    problem, placement = one_gpu(asked(step=0.0, more=0.001, prefill=0.02))
    stream = stream_of(*[(0.0, 0, 100, 11)] * 5)
    found = simulated(problem, placement, stream, sharing="alone").models[0]
    assert found.end_to_end.max == pytest.approx(5 * 0.02 + 10 * 0.008)


def test_the_youngest_goes_back_to_the_queue_when_the_cache_is_full():
    problem, placement = cache_for(4)
    # Two requests of 16 + 33 tokens need 3 blocks each at the end: together too many. The second
    # goes back when both need a third block, and is read again once the first is done.
    stream = stream_of((0.0, 0, 16, 33), (0.0, 0, 16, 33))
    found = simulated(problem, placement, stream, sharing="alone").models[0]
    assert (found.finished, found.preemptions, found.refused) == (2, 1, 0)
    assert found.tokens_out == 66
    assert found.cache.highest == pytest.approx(1.0, rel=0.01)
    first = 2 * 0.0032 + 32 * 0.01
    # Both had made 17 tokens when the second went back; its prompt is now one of 33.
    again = 0.02 * 33 / 100
    assert found.end_to_end.max == pytest.approx(first + again + 15 * 0.01, rel=1e-6)


def test_a_request_waits_for_cache_though_slots_are_free():
    problem, placement = cache_for(4)
    stream = stream_of((0.0, 0, 48, 10), (0.0, 0, 48, 10))
    found = simulated(problem, placement, stream, sharing="alone").models[0]
    assert found.preemptions == 0
    first = 0.0096 + 9 * 0.01
    assert found.ttft.max == pytest.approx(first + 0.0096, rel=1e-6)


def test_requests_longer_than_the_cache_are_refused():
    problem, placement = cache_for(4)
    stream = stream_of((0.0, 0, 64, 1), (0.0, 0, 64, 2), (0.0, 0, 65, 1), (0.0, 0, 10, 56))
    found = simulated(problem, placement, stream).models[0]
    assert (found.arrived, found.finished, found.refused) == (4, 1, 3)
    assert found.attainment == 0.25


@pytest.mark.parametrize("sharing", ["slices", "mps"])
def test_too_little_cache_makes_requests_wait_while_tokens_come_quickly(sharing):
    speeds = asked(request_gb=0.9, more=1e-4)
    plenty, placement = one_gpu(speeds, memory=200.0)
    scarce, _ = one_gpu(speeds, memory=1.0 + 2.5)
    stream = poisson([8.0], 200.0, exponential=True)
    quick, late = (
        simulated(problem, placement, stream, sharing=sharing).models[0]
        for problem in (plenty, scarce)
    )
    assert late.ttft.mean > 10 * quick.ttft.mean
    assert late.tpot.mean < 1.5 * quick.tpot.mean
    assert late.cache.mean > 0.5


def test_engines_may_share_the_cache_of_a_gpu():
    models = [asked(request_gb=0.9), asked(request_gb=0.9)]
    problem, placement = one_gpu(*models, memory=2.0 + 0.8 + 0.001)
    stream = stream_of((0.0, 0, 64, 40), (0.0, 1, 16, 2))
    own = simulated(problem, placement, stream, cache="blocks").models
    shared = simulated(problem, placement, stream, cache="elastic").models
    assert [model.refused for model in own] == [1, 0]
    assert [model.refused for model in shared] == [0, 0]
    assert [model.finished for model in shared] == [1, 1]


def test_a_model_that_makes_no_tokens_only_reads():
    problem, placement = one_gpu(asked(output_tokens=0.0))
    stream = stream_of((0.0, 0, 100, 0), (1.0, 0, 100, 0))
    found = simulated(problem, placement, stream).models[0]
    assert (found.finished, found.tpot.count, found.tokens_out) == (2, 0, 0)
    assert found.ttft.mean == found.end_to_end.mean == pytest.approx(0.02)


@pytest.mark.parametrize("sharing", ["slices", "mps"])
def test_an_engine_that_fails_begins_again(sharing):
    problem, placement = one_gpu(asked(), asked())
    stream = stream_of((0.0, 0, 100, 50), (0.0, 0, 100, 50), (0.0, 1, 100, 50))
    failures = (EngineFailure("m0", 0, 0.2, 5.0),)
    found = simulated(problem, placement, stream, sharing=sharing, failures=failures).models
    assert [model.finished for model in found] == [2, 1]
    assert found[0].ttft.max == pytest.approx(5.2 + 0.04)
    assert found[0].tokens_out == 100
    assert found[0].preemptions == 0
    assert found[1].end_to_end.max < 2.0


def test_requests_avoid_a_replica_that_is_down():
    gpus = [Gpu(name, 40.0, KIND) for name in ("a", "b")]
    problem = Problem(gpus, [Model("m", 1.0, load=1.0, replicas=2, requests=asked())])
    stream = stream_of(*[(1.0 + n / 10, 0, 100, 2) for n in range(6)])
    failures = (EngineFailure("m", 1, 0.5, 50.0),)
    for router in ("round-robin", "least-requests", "random-two"):
        found = simulated(problem, {"m": ["a", "b"]}, stream, router=router, failures=failures)
        assert found.models[0].ttft.max < 0.1
        assert found.gpus[0].busy > 0.0
        assert found.gpus[1].busy == 0.0


@pytest.mark.parametrize("router", ["round-robin", "least-requests", "random-two"])
def test_routers_share_the_requests(router):
    gpus = [Gpu(name, 40.0, KIND) for name in ("a", "b", "c")]
    problem = Problem(gpus, [Model("m", 1.0, load=1.0, replicas=3, requests=asked())])
    stream = poisson([6.0], 500.0, exponential=True)
    found = simulate_placement(
        problem, {"m": ["a", "b", "c"]}, [stream], SimulateOptions(router=router), seed=5
    )
    busy = [gpu.busy for gpu in found.gpus]
    assert max(busy) - min(busy) < (0.6 if router == "least-requests" else 0.15)
    assert found.models[0].arrived == len(stream)


def test_the_one_with_fewest_requests_is_no_slower():
    gpus = [Gpu(name, 40.0, KIND) for name in "abcd"]
    problem = Problem(gpus, [Model("m", 1.0, load=1.0, replicas=4, requests=asked(slots=1.0))])
    stream = poisson([6.0], 3000.0, exponential=True)
    waits = [
        simulated(problem, {"m": list("abcd")}, stream, router=router).models[0].ttft.mean
        for router in ("least-requests", "random-two", "round-robin")
    ]
    assert waits == sorted(waits)


def test_the_seed_decides_what_is_random_and_nothing_else():
    gpus = [Gpu(name, 40.0, KIND) for name in "abc"]
    problem = Problem(gpus, [Model("m", 1.0, load=1.0, replicas=3, requests=asked())])
    stream, options = poisson([6.0], 100.0), SimulateOptions(router="random-two")
    means = [
        simulate_placement(problem, {"m": list("abc")}, [stream], options, seed).models[0].ttft.mean
        for seed in (1, 1, 2)
    ]
    assert means[0] == means[1] != means[2]


def test_the_first_seconds_may_be_left_out():
    problem, placement = one_gpu(asked())
    stream = stream_of((0.0, 0, 100, 10), (10.0, 0, 100, 20), seconds=20.0)
    found = simulated(problem, placement, stream, warm_up=5.0)
    (model,) = found.models
    assert (model.arrived, model.finished, model.tokens_out) == (1, 1, 20)
    assert model.busy == pytest.approx((0.02 + 19 * 0.01) / 15.0)
    assert found.gpus[0].busy == pytest.approx(model.busy)


def test_timelines_add_up_to_the_means():
    problem, placement = one_gpu(asked(request_gb=0.5), asked(request_gb=0.2))
    stream = poisson([2.0, 1.0], 777.0, exponential=True)
    found = simulated(problem, placement, stream)
    (gpu,) = found.gpus
    assert len(gpu.in_flight.seconds) <= 600
    for timeline, expected in (
        (gpu.in_flight, sum(model.in_flight for model in found.models)),
        (gpu.waiting, sum(model.queue for model in found.models)),
        (gpu.busy_engines, sum(model.busy for model in found.models)),
    ):
        ends = np.append(timeline.seconds[1:], found.seconds)
        whole = (timeline.values * (ends - timeline.seconds)).sum()
        assert whole / found.seconds == pytest.approx(expected, rel=1e-6)


def test_an_interruption_gives_what_was_simulated_so_far():
    problem, placement = one_gpu(asked())
    stream = poisson([2.0], 100.0)

    def watch(seconds):
        if seconds >= 50.0:
            raise KeyboardInterrupt

    pieces = cut(stream, [25.0, 50.0, 75.0])
    found = simulate_placement(problem, placement, pieces, watch=watch)
    assert not found.complete
    assert found.seconds == 50.0
    assert found.models[0].arrived == (stream.arrival <= 50.0).sum()
    whole = simulate_placement(problem, placement, pieces[:2])
    assert whole.complete
    assert whole.models == found.models


def test_what_cannot_be_simulated_is_refused():
    problem, placement = one_gpu(asked())
    plain = Problem([Gpu("g", 10.0)], [Model("m", 1.0, load=1.0)])
    stream = stream_of((1.0, 0, 100, 2))
    with pytest.raises(InputError, match="no requests to simulate"):
        simulate_placement(plain, {"m": ["g"]}, [stream])
    with pytest.raises(InputError, match="less than 1"):
        simulate_placement(problem, placement, [stream_of((1.0, 1, 100, 2))])
    with pytest.raises(InputError, match="after the last piece"):
        simulate_placement(problem, placement, [stream, stream])
    with pytest.raises(InputError, match="the name of a model"):
        simulated(problem, placement, stream, failures=(EngineFailure("x", 0, 1.0, 1.0),))
    with pytest.raises(InputError, match="a replica from 0 to 0"):
        simulated(problem, placement, stream, failures=(EngineFailure("m0", 1, 1.0, 1.0),))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("prefill", "last"),
        ("cache", "endless"),
        ("router", "dice"),
        ("sharing", "both"),
        ("token_budget", 0),
        ("block_tokens", 1.5),
        ("warm_up", -1.0),
        ("wake_seconds", float("nan")),
        ("idle_seconds", -1.0),
    ],
)
def test_options_that_make_no_sense_are_refused(field, value):
    with pytest.raises(InputError, match=field):
        SimulateOptions(**{field: value})
