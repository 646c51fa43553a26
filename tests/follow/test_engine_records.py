import random

import pytest

from colocate.follow.engine_records import (
    Condition,
    EngineRecord,
    after_step,
    places_of,
    remaining,
    serving,
    tidying,
)
from colocate.replan.placed_engine import PlacedEngine
from colocate.replan.steps.step import EngineStep, StepKind

ALPHA = PlacedEngine("alpha", ("g0",), 40.0, 16.0, 20.0)
BETA = PlacedEngine("beta", ("g1", "g2"), 30.0, 50.0, 5.0)
MEMORY = {"g0": 80.0, "g1": 80.0, "g2": 80.0}


def step(kind, engine=ALPHA, number=0):
    return EngineStep(number, kind, engine)


@pytest.mark.parametrize(
    ("kind", "done", "failed"),
    [
        (StepKind.LOAD, Condition.IDLE, Condition.DOUBTFUL),
        (StepKind.WAIT, Condition.IDLE, Condition.DOUBTFUL),
        (StepKind.SWITCH, Condition.SERVING, Condition.UNSWITCHED),
        (StepKind.DRAIN, Condition.IDLE, Condition.UNDRAINED),
        (StepKind.UNLOAD, None, Condition.DOUBTFUL),
        (StepKind.SLEEP, Condition.ASLEEP, Condition.DOUBTFUL),
        (StepKind.WAKE, Condition.IDLE, Condition.DOUBTFUL),
    ],
)
def test_a_step_changes_its_engine_and_no_other(kind, done, failed):
    before = (EngineRecord(BETA), EngineRecord(ALPHA))
    for succeeded, condition in ((True, done), (False, failed)):
        after = after_step(before, step(kind), succeeded)
        assert EngineRecord(BETA) in after
        found = [each.condition for each in after if each.engine == ALPHA]
        assert found == ([] if condition is None else [condition])


def test_places_list_the_gpus_of_all_engines():
    again = PlacedEngine("alpha", ("g2",), 40.0, 16.0)
    assert places_of((ALPHA, BETA, again)) == {"alpha": ("g0", "g2"), "beta": ("g1", "g2")}


def test_nothing_is_tidied_where_all_serve():
    assert tidying((EngineRecord(ALPHA), EngineRecord(BETA)), MEMORY) == ()


def test_an_engine_that_came_half_way_goes_if_its_model_is_served():
    half = PlacedEngine("alpha", ("g1",), 40.0, 16.0)
    steps = tidying((EngineRecord(ALPHA), EngineRecord(half, Condition.IDLE)), MEMORY)
    assert [(each.kind, each.engine) for each in steps] == [(StepKind.UNLOAD, half)]


def test_a_drained_engine_serves_again_if_its_model_has_no_other():
    steps = tidying((EngineRecord(ALPHA, Condition.IDLE),), MEMORY)
    assert [each.kind for each in steps] == [StepKind.WAIT, StepKind.SWITCH]
    assert steps[1].after == (steps[0].number,)


def test_a_sleeper_wakes_only_where_its_memory_is_free():
    asleep = EngineRecord(ALPHA, Condition.ASLEEP)
    assert tidying((asleep,), MEMORY)[0].kind is StepKind.WAKE
    full = EngineRecord(PlacedEngine("gamma", ("g0",), 60.0, 50.0))
    assert [each.kind for each in tidying((asleep, full), MEMORY)] == [StepKind.UNLOAD]


def test_engines_in_doubt_are_unloaded_first_whatever_they_were():
    doubtful = EngineRecord(BETA, Condition.DOUBTFUL)
    steps = tidying((EngineRecord(ALPHA, Condition.IDLE), doubtful), MEMORY)
    assert (steps[0].kind, steps[0].engine) == (StepKind.UNLOAD, BETA)
    assert steps[0].number == 0
    assert [each.number for each in steps] == list(range(len(steps)))


def test_engines_on_gpus_that_are_gone_are_gone():
    both = (EngineRecord(ALPHA), EngineRecord(BETA))
    assert remaining(both, ("g1", "g2")) == both[1:]
    assert remaining(both, ("g0",)) == both[:1]


def test_an_engine_that_lost_some_of_its_gpus_may_hold_the_others_and_is_unloaded():
    left = remaining((EngineRecord(BETA),), ("g0", "g1"))
    assert left == (EngineRecord(BETA, Condition.DOUBTFUL),)
    steps = tidying(left, {"g0": 80.0, "g1": 80.0})
    assert [(each.kind, each.engine) for each in steps] == [(StepKind.UNLOAD, BETA)]


def test_an_engine_that_could_not_be_drained_gets_requests_again():
    steps = tidying((EngineRecord(ALPHA, Condition.UNDRAINED),), MEMORY)
    assert [(each.kind, each.engine) for each in steps] == [(StepKind.SWITCH, ALPHA)]


def test_an_engine_that_may_have_got_requests_is_drained_before_it_is_unloaded():
    half = PlacedEngine("alpha", ("g1",), 40.0, 16.0)
    steps = tidying((EngineRecord(ALPHA), EngineRecord(half, Condition.UNSWITCHED)), MEMORY)
    assert [(each.kind, each.engine) for each in steps] == [
        (StepKind.DRAIN, half),
        (StepKind.UNLOAD, half),
    ]
    assert steps[1].after == (steps[0].number,)


def test_a_sleeper_wakes_only_after_what_is_unloaded_on_its_gpus():
    doubtful = EngineRecord(PlacedEngine("gamma", ("g0",), 60.0, 50.0), Condition.DOUBTFUL)
    steps = tidying((EngineRecord(ALPHA, Condition.ASLEEP), doubtful), MEMORY)
    unload, wake = steps[:2]
    assert (unload.kind, wake.kind) == (StepKind.UNLOAD, StepKind.WAKE)
    assert unload.number in wake.after


@pytest.mark.parametrize("seed", range(200))
def test_tidying_leaves_engines_that_serve_and_never_overfills(seed):
    rng = random.Random(seed)
    records, used = [], dict.fromkeys(MEMORY, 0.0)
    for number in range(8):
        gpus = tuple(rng.sample(sorted(MEMORY), rng.choice((1, 1, 2))))
        engine = PlacedEngine(rng.choice("abcd"), gpus, rng.uniform(5, 40), 10.0, float(number))
        condition = rng.choice(list(Condition))
        if any(r.engine.model == engine.model and {*r.engine.gpus} & {*gpus} for r in records):
            continue  # No state has two engines of one model on a GPU.
        if condition is not Condition.ASLEEP:
            if any(used[gpu] + engine.held_gb > MEMORY[gpu] for gpu in gpus):
                continue
            for gpu in gpus:
                used[gpu] += engine.held_gb
        records.append(EngineRecord(engine, condition))
    engines = tuple(records)
    was_served = {engine.model for engine in serving(engines)}
    for each in tidying(engines, MEMORY):
        engines = after_step(engines, each, succeeded=True)
        for gpu, memory in MEMORY.items():
            held = [r.engine.held_gb for r in engines if r.holds_memory and gpu in r.engine.gpus]
            assert sum(held) <= memory + 1e-9
    assert all(each.condition is Condition.SERVING for each in engines)
    assert was_served <= {each.engine.model for each in engines}
