"""What must hold of every simulation, tried on random fleets with failures and sleepers."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate.simulate import replay as replays
from colocate.simulate.kernel import state as columns
from colocate.simulate.run import replay_of, simulate_placement
from tests.campaign import campaign
from tests.simulate.drawn_fleets import cut, drawn_case

seeds = st.integers(0, 10**9)


def replayed(problem, placement, stream, options, places=()):
    """Return a simulation and its arrays at the end."""
    replay = replay_of(problem, placement, options)
    for piece in cut(stream, places):
        replay.take(piece)
    return replay.outcome(True), replay.state


def equal(one, other):
    """Whether two outcomes are the same in every number."""
    assert one.models == other.models
    for mine, theirs in zip(one.gpus, other.gpus, strict=True):
        assert (mine.name, mine.busy) == (theirs.name, theirs.busy)
        for field in ("busy_engines", "in_flight", "waiting", "cache_gb"):
            for a, b in zip(getattr(mine, field), getattr(theirs, field), strict=True):
                assert np.array_equal(a, b)


@campaign(400)
@given(seeds)
def test_no_request_is_lost_or_served_twice(seed):
    problem, placement, stream, options = drawn_case(seed)
    found, state = replayed(problem, placement, stream, options)
    arrived = np.bincount(stream.model, minlength=len(problem.models))
    for number, model in enumerate(found.models):
        assert model.arrived == arrived[number]
        assert model.arrived == model.finished + model.unfinished + model.refused
        assert model.unfinished == 0, "there was plenty of time, and the queue is not empty"
        assert model.end_to_end.count == model.ttft.count == model.finished
        assert model.end_to_end.max >= model.ttft.max or model.finished == 0
    assert np.all(state.engines[:, columns.WAITING] == 0)
    assert np.all(state.engines[:, columns.RUNNING] == 0)


@campaign(400)
@given(seeds)
def test_pools_are_never_over_their_size_and_empty_at_the_end(seed):
    problem, placement, stream, options = drawn_case(seed)
    found, state = replayed(problem, placement, stream, options)
    assert np.all(state.pools[:, columns.LEAST_FREE] >= 0)
    assert np.all(state.engines[:, columns.HELD] == 0)
    assert np.array_equal(state.pools[:, columns.FREE], state.pools[:, columns.CAPACITY])
    assert np.all(state.growing == 0)
    assert np.all(state.now == 0.0)
    for model in found.models:
        assert 0.0 <= model.cache.mean <= model.cache.highest <= 1.0
    for gpu in found.gpus:
        assert gpu.cache_gb.values.max() <= problem.gpus[0].memory_gb * 1.000001
        assert gpu.cache_gb.values.min() >= 0.0


@campaign(400)
@given(seeds)
def test_tokens_out_are_those_that_were_asked_for(seed):
    problem, placement, stream, options = drawn_case(seed)
    found, _ = replayed(problem, placement, stream, options)
    for number, model in enumerate(found.models):
        mine = stream.model == number
        if model.refused == 0:
            assert model.tokens_in == stream.prompt[mine].sum()
            assert model.tokens_out == stream.output[mine].sum()
        assert model.tokens_out <= stream.output[mine].sum()


@campaign(400)
@given(seeds)
def test_littles_law_holds_in_every_run(seed):
    problem, placement, stream, options = drawn_case(seed)
    found, _ = replayed(problem, placement, stream, options)
    for model in found.models:
        in_system = (model.in_flight + model.queue) * found.seconds
        served = model.end_to_end.mean * model.finished
        assert in_system >= served * (1 - 1e-9)
        if model.refused == 0:
            assert in_system == pytest.approx(served, rel=1e-6)


@campaign(400)
@given(seeds, st.lists(st.floats(0.0, 12.0), max_size=5))
def test_pieces_and_repetition_make_no_difference(seed, places):
    problem, placement, stream, options = drawn_case(seed)
    once, _ = replayed(problem, placement, stream, options)
    again, _ = replayed(problem, placement, stream, options, places)
    equal(once, again)


@pytest.mark.parametrize("seed", range(20))
def test_machine_code_does_what_the_source_says(monkeypatch, seed):
    problem, placement, stream, options = drawn_case(seed)
    short = cut(stream, [1.5])[0]
    compiled, _ = replayed(problem, placement, short, options)
    for kernel in (replays.serve, replays.fail, replays.close):
        monkeypatch.setattr(replays, kernel.__name__, kernel.py_func)
    plain, _ = replayed(problem, placement, short, options)
    equal(compiled, plain)


@campaign(200)
@given(seeds)
def test_nobody_is_served_before_it_arrives_or_faster_than_alone(seed):
    problem, placement, stream, options = drawn_case(seed)
    options = replace(options, prefill="first", failures=())
    found, _ = replayed(problem, placement, stream, options)
    for model, outcome in zip(problem.models, found.models, strict=True):
        if outcome.finished:
            speed = model.requests.engines[0][1]
            host = speed.prefill - speed.prefill_work
            assert outcome.ttft.p50 * 1.01 >= host
            if outcome.tpot.count:
                assert outcome.tpot.p50 * 1.01 >= speed.step


@campaign(100)
@given(seeds)
def test_what_is_left_unfinished_is_counted(seed):
    problem, placement, stream, options = drawn_case(seed)
    short = cut(stream, [5.0])[0]
    found = simulate_placement(problem, placement, [short], options)
    for model in found.models:
        assert model.arrived == model.finished + model.unfinished + model.refused
        assert 0.0 <= model.attainment <= 1.0
