"""What must hold of every replay in which engines come, go and fail, on random fleets."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from colocate.simulate import replay as replays
from colocate.simulate.kernel import state as columns
from colocate.simulate.live import failures
from colocate.simulate.live import replay as live
from colocate.simulate.live.replay import LiveReplay
from tests.campaign import campaign
from tests.simulate.live.drawn_lives import drawn_lives, served_for_good
from tests.simulate.test_random_cases import equal

seeds = st.integers(0, 10**9)


def replayed(problem, lives, stream, options, moments=()):
    """Return a simulation and its replay, run up to some moments one after the other."""
    replay = LiveReplay(problem, lives, [stream], options)
    for moment in [*sorted(moments), stream.seconds]:
        replay.run(moment)
    return replay.outcome(True), replay


@campaign(400)
@given(seeds)
def test_no_request_is_lost_or_served_twice(seed):
    problem, lives, stream, options = drawn_lives(seed)
    found, replay = replayed(problem, lives, stream, options)
    arrived = np.bincount(stream.model, minlength=len(problem.models))
    known, for_good = {life.model for life in lives}, served_for_good(lives)
    for number, model in enumerate(found.models):
        mine = stream.model == number
        assert model.arrived == arrived[number]
        assert model.arrived == model.finished + model.unfinished + model.refused
        assert model.end_to_end.count == model.ttft.count == model.finished
        assert model.unfinished == 0 or model.name not in for_good
        assert model.refused == model.arrived or model.name in known
        assert model.tokens_out <= stream.output[mine].sum()
        if model.refused + model.unfinished == 0:
            assert model.tokens_in == stream.prompt[mine].sum()
            assert model.tokens_out == stream.output[mine].sum()
    counts = replay.counts()
    assert np.array_equal(counts.arrived, counts.finished + counts.refused + counts.waiting)
    assert np.all(counts.in_work == 0)


@campaign(400)
@given(seeds)
def test_littles_law_holds_with_engines_that_come_and_go(seed):
    problem, lives, stream, options = drawn_lives(seed)
    found, _ = replayed(problem, lives, stream, options)
    for model in found.models:
        in_system = (model.in_flight + model.queue) * found.seconds
        served = model.end_to_end.mean * model.finished
        assert in_system >= served * (1 - 1e-9)
        if model.refused + model.unfinished == 0:
            assert in_system == pytest.approx(served, rel=1e-6)


@campaign(200)
@given(seeds, st.lists(st.floats(0.0, 14.0), min_size=5, max_size=30))
def test_no_gpu_is_over_its_memory_at_any_moment(seed, moments):
    problem, lives, stream, options = drawn_lives(seed)
    replay = LiveReplay(problem, lives, [stream], options)
    sizes = {model.name: model.size_gb / model.shards for model in problem.models}
    for moment in [*sorted(moments), stream.seconds]:
        replay.run(moment)
        held = np.zeros(len(problem.gpus))
        for engine in replay.state.engines:
            first, count = engine[columns.FIRST_PART], engine[columns.PARTS]
            for gpu in replay.state.parts[first : first + count, columns.PART_GPU]:
                held[gpu] += engine[columns.HELD] * engine[columns.BLOCK_BYTES] / 1e9
        for gpu, cache in zip(problem.gpus, held, strict=True):
            mine = [life for life in lives if gpu.name in life.gpus]
            loaded = sum(sizes[each.model] for each in mine if each.ready <= moment < each.gone)
            coming = sum(sizes[each.model] for each in mine if each.begin <= moment < each.ready)
            assert loaded + cache <= gpu.memory_gb * (1 + 1e-9) + 1e-6
            assert loaded + coming <= gpu.memory_gb * (1 + 1e-9)
    state = replay.state
    assert np.all(state.engines[:, columns.HELD] == 0)
    assert np.array_equal(state.pools[:, columns.FREE], state.pools[:, columns.CAPACITY])
    assert np.all(state.growing == 0)
    assert np.all(state.now[:, columns.BUSY_ENGINES] == 0.0)
    for number in range(len(state.gpus)):
        there = [life for life in lives if problem.gpus[number].name in life.gpus]
        stay = sum(life.gone > stream.seconds for life in there)
        assert state.gpus[number, columns.MEMBERS] == stay


def without_means(found):
    """Return an outcome without the sums whose last digit is that of the order of their terms.

    Two engines of a model on different GPUs add to them, and where a replay pauses, both stop.
    """
    models = []
    for model in found.models:
        timings = (model.ttft, model.tpot, model.end_to_end)
        ttft, tpot, end_to_end = (replace(each, mean=0.0) for each in timings)
        models.append(replace(model, ttft=ttft, tpot=tpot, end_to_end=end_to_end))
    return replace(found, models=tuple(models))


@campaign(200)
@given(seeds, st.lists(st.floats(0.0, 14.0), max_size=8))
@example(7653076, [11.0])
def test_pieces_and_repetition_make_no_difference(seed, moments):
    problem, lives, stream, options = drawn_lives(seed)
    once, _ = replayed(problem, lives, stream, options)
    again, _ = replayed(problem, lives, stream, options, moments)
    for field in ("ttft", "tpot", "end_to_end"):
        means = [[getattr(model, field).mean for model in each.models] for each in (once, again)]
        assert means[0] == pytest.approx(means[1], rel=1e-12)
    equal(without_means(once), without_means(again))


@pytest.mark.parametrize("seed", range(12))
def test_machine_code_does_what_the_source_says(monkeypatch, seed):
    problem, lives, stream, options = drawn_lives(seed)
    compiled, _ = replayed(problem, lives, stream, options, [2.0])
    for module, names in (
        (replays, ("serve", "fail", "close")),
        (failures, ("fail",)),
        (live, ("fail", "hand_back", "look_again")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, getattr(module, name).py_func)
    plain, _ = replayed(problem, lives, stream, options, [2.0])
    equal(compiled, plain)
