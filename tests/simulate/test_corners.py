"""Corners of the simulator: failures that overlap, sleepers that move, runs that are cut off."""

import numpy as np
import pytest

from colocate import Gpu, Model, Problem
from colocate.simulate import replay as replays
from colocate.simulate.demand.requests import RequestStream
from colocate.simulate.histogram import BINS, bin_of, quantile
from colocate.simulate.kernel import state as columns
from colocate.simulate.options import EngineFailure, SimulateOptions
from colocate.simulate.run import replay_of, simulate_placement
from tests.simulate.drawn_fleets import KIND, asked, one_gpu, poisson, simulated
from tests.simulate.test_engines import cache_for, stream_of

ROUTERS = ("round-robin", "least-requests", "random-two")
NOTHING = RequestStream(np.empty(0), *(np.empty(0, np.int32),) * 3)


def sleeper(name, size, request_gb=0.0, **fields):
    requests = asked(request_gb=request_gb)
    return Model(name, size, load=1.0, sleep_cost=1.0, requests=requests, **fields)


def replicas(names):
    gpus = [Gpu(name, 40.0, KIND) for name in names]
    model = Model("m", 1.0, load=1.0, replicas=len(names), requests=asked())
    return Problem(gpus, [model]), {"m": list(names)}


def test_a_second_failure_brings_no_engine_back_early():
    problem, placement = one_gpu(asked())
    failures = (EngineFailure("m0", 0, 0.0, 50.0), EngineFailure("m0", 0, 10.0, 1.0))
    found = simulated(problem, placement, stream_of((20.0, 0, 100, 2)), failures=failures)
    assert found.models[0].ttft.max == pytest.approx(30.02)


def test_a_failure_wakes_no_model_early():
    problem = Problem([Gpu("g", 40.0, KIND)], [sleeper("m", 10.0)])
    options = {"wake_seconds": 20.0, "failures": (EngineFailure("m", 0, 2.0, 0.5),)}
    found = simulated(problem, {"m": []}, stream_of((1.0, 0, 100, 2)), **options)
    assert found.models[0].ttft.max == pytest.approx(20.02)


@pytest.mark.parametrize("router", ROUTERS)
def test_no_request_waits_for_a_replica_that_is_down_while_one_is_up(router):
    problem, placement = replicas("abc")
    stream = stream_of(*[(1.0 + n / 10, 0, 100, 2) for n in range(30)], seconds=200.0)
    failures = tuple(EngineFailure("m", n, 0.5, 50.0) for n in (0, 1))
    found = simulated(problem, placement, stream, router=router, failures=failures)
    assert found.models[0].ttft.max < 0.1


@pytest.mark.parametrize("router", ROUTERS)
def test_no_request_wakes_a_replica_while_another_one_wakes(router):
    gpus = [Gpu(name, 40.0, KIND) for name in "ab"]
    models = [sleeper("wide", 30.0, replicas=2), sleeper("one", 30.0, only=["a"])]
    models += [sleeper("two", 30.0, only=["b"])]
    problem = Problem(gpus, models)
    placement = {"wide": ["a", "b"], "one": [], "two": []}
    # Both replicas make room. Then one of them can be woken, while the other GPU stays busy.
    stream = stream_of((1.0, 1, 100, 2), (1.0, 2, 100, 3000), (8.0, 0, 100, 2), (8.1, 0, 100, 2))
    found = simulated(problem, placement, stream, wake_seconds=3.0, router=router)
    assert [model.refused for model in found.models] == [0, 0, 0]


def test_a_prefill_that_the_host_does_alone_takes_its_time():
    lone, busy = asked(prefill=0.03, work=0.0), asked(prefill=0.0)
    problem, placement = one_gpu(lone, busy)
    beside = stream_of((0.0, 1, 100, 2000), (1.0, 0, 100, 2))
    for sharing in ("slices", "mps", "alone"):
        alone = simulated(problem, placement, stream_of((1.0, 0, 100, 2)), sharing=sharing)
        assert alone.models[0].ttft.max == pytest.approx(0.03)
        assert simulated(problem, placement, beside, sharing=sharing).models[0].ttft.max > 0.024


def test_the_first_turn_of_all_waits_for_no_change_of_process():
    problem, placement = one_gpu(asked(prefill=0.0003))
    found = simulated(problem, placement, stream_of((0.0, 0, 100, 2)))
    assert found.models[0].ttft.max == pytest.approx(0.0003)


def test_shards_read_a_prompt_each_by_the_turns_of_its_own_gpu():
    neighbours = [asked(step=0.0017, prefill=0.001), asked(step=0.0053, prefill=0.001)]
    reader = asked(prefill=0.06, work=0.05)

    def slowest(shards, places):
        models = [Model(f"n{n}", 1.0, load=1.0, requests=each) for n, each in enumerate(neighbours)]
        models += [Model(name, 1.0, load=1.0, shards=shards, requests=reader) for name in places]
        problem = Problem([Gpu(name, 40.0, KIND, node="n") for name in "ab"], models)
        decoding = [(0.0, 0, 100, 2000), (0.0, 1, 100, 190)]  # one ends just after the prompt came
        asking = [(1.0, 2 + number, 100, 2) for number in range(len(places))]
        placement = {"n0": ["a"], "n1": ["b"], **places}
        found = simulated(problem, placement, stream_of(*decoding, *asking), sharing="slices")
        return max(model.ttft.max for model in found.models[2:])

    apart = slowest(1, {"one": ["a"], "two": ["b"]})
    assert slowest(2, {"both": ["a", "b"]}) == pytest.approx(apart, rel=1e-9)
    assert slowest(2, {"both": ["b", "a"]}) == pytest.approx(apart, rel=1e-9)


def test_steps_without_prompts_are_alike_with_and_without_chunks():
    problem, placement = one_gpu(*[asked(step=0.00205, prefill=0.0)] * 2)
    stream = stream_of((0.0, 0, 1, 501), (0.0, 1, 1, 501))
    one, other = (
        simulated(problem, placement, stream, prefill=prefill).models
        for prefill in ("first", "chunked")
    )
    assert one == other


def test_a_piece_without_requests_does_not_turn_time_back():
    problem, placement = one_gpu(asked())
    stream = stream_of((1.0, 0, 100, 2))
    found = simulate_placement(problem, placement, [NOTHING, stream, NOTHING])
    assert found.seconds == 100.0
    assert found.models == simulate_placement(problem, placement, [stream]).models


@pytest.mark.parametrize("prefill", ["first", "chunked"])
def test_engines_may_have_made_any_number_of_steps(prefill):
    problem, placement = one_gpu(asked(request_gb=1.1), memory=8.0)
    stream, options = poisson([4.0], 60.0, exponential=True), SimulateOptions(prefill=prefill)
    outcomes = []
    for steps in (0, 2**31 - 16 * 40):
        replay = replay_of(problem, placement, options)
        replay.state.engines[0, columns.STEPS] = steps
        replay.take(stream)
        outcomes.append(replay.outcome(True).models)
    assert outcomes[0] == outcomes[1]


def test_an_interruption_in_the_middle_keeps_time_and_counts_together(monkeypatch):
    problem, placement = one_gpu(asked())
    stream, serve = poisson([2.0], 100.0), replays.serve

    def interrupted(*arguments):
        serve(*arguments)
        if len(arguments[1]):
            raise KeyboardInterrupt

    monkeypatch.setattr(replays, "serve", interrupted)
    found = simulate_placement(problem, placement, [stream])
    assert not found.complete
    assert found.seconds == pytest.approx(stream.arrival[-1])
    assert found.models[0].goodput == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize("cache", ["blocks", "elastic"])
def test_nobody_makes_room_for_a_request_that_does_not_fit_even_then(cache):
    models = [sleeper("small", 20.0, 0.9), sleeper("large", 30.0, 0.9)]
    problem = Problem([Gpu("g", 40.0, KIND)], models)
    stream = stream_of((1.0, 0, 100, 2), (5.0, 1, 100_000, 2), (10.0, 0, 100, 2))
    placement = {"small": ["g"], "large": []}
    small, large = simulated(problem, placement, stream, wake_seconds=3.0, cache=cache).models
    assert small.ttft.max == pytest.approx(0.02)
    assert (large.arrived, large.refused) == (1, 1)


def test_engines_that_have_been_idle_equally_long_make_room_in_any_order():
    problem = Problem([Gpu("g", 40.0, KIND)], [sleeper(f"m{n}", 18.0) for n in range(3)])
    problem = Problem(problem.gpus, [*problem.models, sleeper("large", 39.0)])
    placement = {"m0": ["g"], "m1": ["g"], "m2": [], "large": []}
    # m2 takes the room of m0, and m0 that of m1: m0 comes after m2. Both end at 20.
    times = ((1.0, 0), (2.0, 1), (5.0, 2), (10.0, 0), (20.0, 0), (20.0, 2), (30.0, 3))
    stream = stream_of(*[(moment, model, 100, 2) for moment, model in times])
    options = {"wake_seconds": 1.0, "sharing": "alone", "cache": "elastic"}
    found = simulated(problem, placement, stream, **options)
    assert [model.refused for model in found.models] == [0, 0, 0, 0]


def test_any_number_of_models_may_end_up_on_one_gpu():
    """A visitor and a native drive one model after the other from its GPU to a large one."""
    count = 6
    small = [f"g{n}" for n in range(count)]
    gpus = [Gpu("large", 400.0, KIND), *(Gpu(name, 40.0, KIND) for name in small)]
    homes = [sleeper(f"m{n}", 30.0, only=["large", name]) for n, name in enumerate(small)]
    natives = [sleeper(f"n{n}", 2.0, only=[name]) for n, name in enumerate(small)]
    problem = Problem(gpus, [*homes, *natives, sleeper("visitor", 39.0, only=small)])
    placement = {model.name: [model.only[-1]] for model in (*homes, *natives)} | {"visitor": []}
    times = []
    for n in range(count):
        begin = 20.0 * n
        times += [(begin, 2 * count, 2), (begin + 5.0, n, 2), (begin + 10.0, count + n, 50_000)]
    stream = stream_of(*[(time, model, 100, output) for time, model, output in times], seconds=2e3)
    options = SimulateOptions(wake_seconds=1.0, cache="elastic")
    replay = replay_of(problem, placement, options)
    replay.take(stream)
    found = replay.outcome(True)
    assert [model.unfinished + model.refused for model in found.models] == [0] * (2 * count + 1)
    assert replay.state.gpus[0, columns.MEMBERS] == count
    assert replay.state.members.shape[1] >= count


def test_engines_come_back_in_order_of_time():
    gpus = [Gpu(name, 100.0, KIND, node="n") for name in "ab"]
    work = {"prefill": 10.0, "layers": 100_000.0}
    models = [Model("wide", 2.0, load=1.0, shards=2, requests=asked(**work))]
    models += [Model(name, 1.0, load=1.0, requests=asked(**work)) for name in ("early", "late")]
    problem = Problem(gpus, models)
    stream = stream_of((0.0, 0, 100, 1), (1.0, 1, 1, 1), (1.0, 2, 1, 1))
    failures = (EngineFailure("early", 0, 0.5, 3.0), EngineFailure("late", 0, 0.5, 5.0))
    one, other = (
        simulated(problem, placement, stream, sharing="mps", failures=failures)
        for placement in (
            {"wide": ["a", "b"], "early": ["a"], "late": ["b"]},
            {"wide": ["a", "b"], "early": ["b"], "late": ["a"]},
        )
    )
    assert one.models == other.models
    assert one.models[0].finished == 1


def test_what_happens_before_the_warm_up_is_over_does_not_count():
    problem, placement = cache_for(4)
    stream = stream_of((0.0, 0, 16, 33), (0.0, 0, 16, 33), (50.0, 0, 16, 2))
    (found,) = simulated(problem, placement, stream, warm_up=40.0).models
    assert (found.arrived, found.preemptions) == (1, 0)
    assert found.cache.highest == pytest.approx(0.5, rel=0.01)


def test_latencies_beyond_all_intervals_have_percentiles():
    counts = np.bincount([bin_of(1e9)] * 10, minlength=BINS).astype(np.int64)
    assert quantile(counts, 0.5, 1e9) == 1e9
