"""Steps from one placement to another: exact small cases, random ones, and forged ones."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from colocate.errors import InfeasibleError, InputError, NothingFoundError
from colocate.replan.checker.no_way import keeps_serving_somehow
from colocate.replan.checker.step_check import faults_of_steps
from colocate.replan.placed_engine import PlacedEngine
from colocate.replan.steps import order
from colocate.replan.steps.exhaustion import ServingProof, search_all_ways
from colocate.replan.steps.fleet_change import FleetChange
from colocate.replan.steps.safe_steps import safe_steps
from colocate.replan.steps.step import StepKind
from colocate.replan.steps.step_times import StepTimes
from colocate.replan.steps.tight_order import OrderSearch, SearchBudget
from tests.campaign import campaign
from tests.replan.steps.random_changes import ExecutedFleet, random_change

LOAD, WAIT, SWITCH, DRAIN, UNLOAD = (
    StepKind.LOAD,
    StepKind.WAIT,
    StepKind.SWITCH,
    StepKind.DRAIN,
    StepKind.UNLOAD,
)


def engine(model, gpus, gb=50.0):
    return PlacedEngine(model, tuple(gpus.split()), gb, gb)


def change(now, then, gpus=("a", "b"), memory=80.0, **fields):
    return FleetChange(
        dict.fromkeys(gpus, memory),
        tuple(engine(*each) for each in now),
        tuple(engine(*each) for each in then),
        **fields,
    )


def kinds(found):
    return [(step.kind, step.engine.model, step.engine.gpus) for step in found.steps]


def test_a_move_loads_before_it_unloads():
    found = safe_steps(change([("m", "a")], [("m", "b")]))
    assert kinds(found) == [
        (LOAD, "m", ("b",)),
        (WAIT, "m", ("b",)),
        (SWITCH, "m", ("b",)),
        (DRAIN, "m", ("a",)),
        (UNLOAD, "m", ("a",)),
    ]
    assert [step.after for step in found.steps] == [(), (0,), (1,), (2,), (3,)]
    assert found.seconds == 25.0 + 60.0 + 1.0 + 30.0 + 5.0
    assert found.loaded_gb == 50.0
    assert [step.undo for step in found.steps] == [UNLOAD, None, DRAIN, SWITCH, LOAD]
    assert not found.interruptions
    assert not faults_of_steps(found)


def test_nothing_to_do_is_no_step():
    assert safe_steps(change([("m", "a")], [("m", "a")])).steps == ()


def test_a_chain_waits_for_room():
    found = safe_steps(change([("m", "a"), ("n", "b")], [("m", "b"), ("n", "c")], ("a", "b", "c")))
    gone = next(s.number for s in found.steps if s.kind is UNLOAD and s.engine.model == "n")
    load = next(s for s in found.steps if s.kind is LOAD and s.engine.model == "m")
    assert load.after == (gone,)
    assert not found.interruptions
    assert not faults_of_steps(found)


def test_a_swap_takes_the_cheapest_detour_over_a_spare_gpu():
    swap = change(
        [("m", "a", 50.0), ("n", "b", 60.0)],
        [("m", "b", 50.0), ("n", "a", 60.0)],
        ("a", "b", "spare"),
    )
    found = safe_steps(swap, always_serving=True)
    assert found.detours == (engine("m", "spare", 50.0),)
    assert found.loaded_gb == 160.0
    assert not found.interruptions
    assert not faults_of_steps(found)


def test_a_swap_without_a_spare_gpu_interrupts_who_is_missed_least_and_says_why():
    swap = change([("m", "a"), ("n", "b")], [("m", "b"), ("n", "a")], demand={"m": 10.0, "n": 1.0})
    found = safe_steps(swap)
    assert [(each.model, each.left) for each in found.interruptions] == [("n", 0)]
    assert found.proof is ServingProof.NONE
    assert found.states == 1
    assert keeps_serving_somehow(swap, 1000) is False
    assert not faults_of_steps(found)
    with pytest.raises(
        InfeasibleError,
        match=r"no order of steps keeps every model serving: every state .* tried \(1",
    ):
        safe_steps(swap, always_serving=True)
    with pytest.raises(NothingFoundError, match="no order of steps was found"):
        safe_steps(swap, always_serving=True, most_states=0)


def test_a_small_neighbour_sleeps_if_that_harms_less():
    swap = change(
        [("m", "a", 40.0), ("t", "a", 10.0), ("n", "b", 60.0), ("s", "b", 20.0)],
        [("m", "b", 40.0), ("t", "a", 10.0), ("n", "a", 60.0), ("s", "b", 20.0)],
        demand={"m": 10.0, "n": 10.0, "s": 0.1},
        memory=100.0,
        may_sleep=frozenset({"s"}),
        open_to={"s": frozenset("b"), "t": frozenset("a")},
    )
    found = safe_steps(swap)
    assert [each.model for each in found.interruptions] == ["s"]
    slept = [(s.kind, s.engine.model) for s in found.steps if s.engine.model == "s"]
    assert slept == [
        (DRAIN, "s"),
        (StepKind.SLEEP, "s"),
        (StepKind.WAKE, "s"),
        (SWITCH, "s"),
    ]
    assert not faults_of_steps(found)


def test_replicas_never_fall_below_the_smaller_of_both_numbers():
    found = safe_steps(
        change(
            [("m", "a"), ("m", "b")], [("m", "c"), ("m", "d")], ("a", "b", "c", "d"), memory=60.0
        )
    )
    fleet = ExecutedFleet(found.change, found.steps, np.random.default_rng(0))
    fleet.run()
    assert fleet.fewest["m"] == 2


def test_models_that_must_be_apart_are_so_at_every_moment():
    found = safe_steps(
        change(
            [("m", "a", 10.0), ("n", "b", 10.0)],
            [("m", "b", 10.0), ("n", "c", 10.0)],
            ("a", "b", "c"),
            apart=frozenset({frozenset({"m", "n"})}),
        )
    )
    gone = next(s.number for s in found.steps if s.kind is UNLOAD and s.engine.model == "n")
    assert next(s for s in found.steps if s.kind is LOAD and s.engine.model == "m").after == (gone,)
    assert not faults_of_steps(found)


def test_an_engine_restarts_with_another_cache_only_when_the_old_one_is_gone():
    found = safe_steps(change([("m", "a", 30.0)], [("m", "a", 20.0)], ("a",)))
    assert [step.kind for step in found.steps] == [DRAIN, UNLOAD, LOAD, WAIT, SWITCH]
    assert found.steps[2].after == (1,)
    assert [(each.model, each.left) for each in found.interruptions] == [("m", 0)]
    assert found.proof is ServingProof.NONE
    assert faults_of_steps(found) == []
    beside = safe_steps(change([("m", "a", 30.0)], [("m", "a", 20.0)]), always_serving=True)
    assert [each.gpus for each in beside.detours] == [("b",)]
    assert faults_of_steps(beside) == []


def test_engines_of_one_model_with_shards_never_share_a_gpu():
    moved = change([("m", "a b", 10.0)], [("m", "b c", 10.0)], ("a", "b", "c"))
    found = safe_steps(moved)
    kinds_of_b = [step.kind for step in found.steps]
    assert kinds_of_b.index(UNLOAD) < kinds_of_b.index(LOAD)
    assert faults_of_steps(found) == []
    assert "'m' and 'm' can come to share a GPU" in faults_of_steps(
        forged(found, kinds_of_b.index(LOAD), after=())
    )


@pytest.mark.parametrize(
    ("times", "seconds"),
    [
        (StepTimes(load_gb_per_second=1.0), 150.0),
        (StepTimes(load_gb_per_second=1.0, loads_at_once=3), 150.0),
        (StepTimes(load_gb_per_second=1.0, total_gb_per_second=0.5), 300.0),
    ],
)
def test_loads_share_the_link_of_their_machine(times, seconds):
    moved = change(
        [(f"m{n}", f"a{n}") for n in range(3)],
        [(f"m{n}", f"b{n}") for n in range(3)],
        [f"{side}{n}" for side in "ab" for n in range(3)],
    )
    found = safe_steps(moved, times)
    assert max(s.end for s in found.steps if s.kind is LOAD) == pytest.approx(seconds)
    assert not faults_of_steps(found)


def loads(found):
    steps = sorted(found.steps, key=lambda each: each.start)
    return [each.engine.model for each in steps if each.kind is LOAD]


def test_urgent_models_load_first_where_a_machine_has_to_choose():
    gpus = [f"{side}{n}" for side in "ab" for n in range(3)]
    moved = change(
        [(f"m{n}", f"a{n}") for n in range(3)], [(f"m{n}", f"b{n}") for n in range(3)], gpus
    )
    assert loads(safe_steps(moved)) == ["m0", "m1", "m2"]
    found = safe_steps(moved, urgent=("m2", "m1"))
    assert loads(found) == ["m2", "m1", "m0"]
    assert not faults_of_steps(found)
    lost = change([("m0", "a0")], [(f"m{n}", f"b{n}") for n in range(3)], gpus)
    assert loads(safe_steps(lost)) == ["m1", "m2", "m0"]
    assert loads(safe_steps(lost, urgent=("m0", "m2"))) == ["m2", "m1", "m0"]


def test_engines_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="gpu 'a': holds 100 GB now"):
        change([("m", "a"), ("n", "a")], [])
    with pytest.raises(InputError, match="is on 'z' then"):
        change([], [("m", "z")])


@campaign(600)
@given(st.integers(0, 10**9))
@example(27339)
def test_any_steps_are_safe_however_long_each_takes_and_whichever_fails(seed):
    rng = np.random.default_rng(seed)
    changed = random_change(
        seed, int(rng.integers(2, 7)), int(rng.integers(2, 14)), float(rng.choice([0.7, 0.9, 1.0]))
    )
    found = safe_steps(changed, most_states=500)
    assert faults_of_steps(found) == []
    if found.proof is ServingProof.NONE:
        assert keeps_serving_somehow(changed, 2000) is not True
    allowed = {each.model: each.left for each in found.interruptions}
    for failing in (0.0, 0.2):
        fleet = ExecutedFleet(changed, found.steps, rng, failing)
        left = fleet.run()
        for gpu, most in fleet.most.items():
            assert most <= changed.memory_gb[gpu] * (1 + 1e-9)
        for model, fewest in changed.fewest.items():
            assert fleet.fewest[model] >= min(fewest, allowed.get(model, fewest))
        if not failing:
            assert Counter(left) == Counter(changed.then)
        again = safe_steps(replace(changed, now=tuple(left)), most_states=50)
        assert faults_of_steps(again) == []
        after = ExecutedFleet(again.change, again.steps, rng)
        assert Counter(after.run()) == Counter(changed.then)


@campaign(200)
@given(st.integers(0, 10**9))
@example(678657787)
def test_where_nothing_was_found_to_keep_serving_there_is_nothing(seed):
    rng = np.random.default_rng(seed)
    changed = random_change(seed, 2, int(rng.integers(2, 5)), 1.0)
    found = safe_steps(changed, most_states=3000)
    exists = keeps_serving_somehow(changed, 20_000)
    if exists is not None and found.proof is not ServingProof.LIMIT:
        assert exists == (not found.interruptions)


def forged(found, number, **fields):
    steps = list(found.steps)
    steps[number] = replace(steps[number], **fields)
    return replace(found, steps=tuple(steps))


def test_the_checker_sees_what_is_forged():
    tight = safe_steps(change([("m", "a"), ("n", "b")], [("m", "b"), ("n", "c")], ("a", "b", "c")))
    load = next(s for s in tight.steps if s.kind is LOAD and s.engine.model == "m")
    drain = next(s for s in tight.steps if s.kind is DRAIN and s.engine.model == "n")
    assert "gpu 'b' can come to hold 100 of 80 GB" in faults_of_steps(
        forged(tight, load.number, after=())
    )
    assert "model 'n' can come to have 0 engines, 1 at least" in faults_of_steps(
        forged(tight, drain.number, after=())
    )
    assert "before step" in faults_of_steps(forged(tight, load.number, start=0.0))[0]
    assert (
        "is not in a state for that"
        in faults_of_steps(forged(tight, load.number, kind=StepKind.WAKE))[0]
    )
    assert "not before it" in faults_of_steps(forged(tight, 0, after=(3,)))[0]
    assert (
        "not those that shall run"
        in faults_of_steps(replace(tight, change=replace(tight.change, then=tight.change.now)))[0]
    )
    assert "half-way" in faults_of_steps(replace(tight, steps=tight.steps[:-1]))[0]
    swap = safe_steps(change([("m", "a"), ("n", "b")], [("m", "b"), ("n", "a")]))
    assert "can come to have 0" in faults_of_steps(replace(swap, interruptions=()))[0]
    crowd = safe_steps(
        change(
            [(f"m{n}", f"a{n}") for n in range(3)],
            [(f"m{n}", f"b{n}") for n in range(3)],
            [f"{side}{n}" for side in "ab" for n in range(3)],
        )
    )
    behind = next(s for s in crowd.steps if s.behind)
    assert "machine '' can come to load 2 engines at once" in faults_of_steps(
        forged(crowd, behind.number, behind=())
    )
    circle = forged(crowd, behind.behind[0], behind=(behind.number,))
    assert faults_of_steps(circle) == ["some steps wait for each other in a circle"]
    kept_apart = change([("m", "a", 10.0)], [("m", "a", 10.0), ("n", "a", 10.0)])
    together = safe_steps(kept_apart)
    enemies = frozenset({frozenset({"m", "n"})})
    assert (
        "can come to share"
        in faults_of_steps(replace(together, change=replace(kept_apart, apart=enemies)))[0]
    )


@pytest.mark.parametrize("seed", [971, 1011])
def test_no_way_out_is_taken_for_ever(seed):
    rng = np.random.default_rng(seed)
    gpus, models = int(rng.integers(2, 7)), int(rng.integers(3, 16))
    changed = random_change(seed, gpus, models, float(rng.choice([0.7, 0.8, 0.9, 1.0])))
    smaller = tuple(
        replace(each, held_gb=each.held_gb * float(rng.choice([1.0, 0.8, 0.6])))
        for each in changed.then
    )
    found = safe_steps(replace(changed, then=smaller), most_states=200)
    assert faults_of_steps(found) == []


@pytest.mark.parametrize("seed", range(30))
def test_steps_are_safe_and_whole_when_no_work_is_left_for_ways_out(seed, monkeypatch):
    monkeypatch.setattr(order, "MOST_WORK", 0)
    found = safe_steps(random_change(np.random.default_rng(seed)))
    assert not faults_of_steps(found)


def test_work_for_ways_out_is_counted_by_engines_and_states():
    work, three = SearchBudget(10), frozenset((1, 2, 3))
    assert work.states(three, 300) == 3
    assert work.states(three, 2) == 2
    work.spend(three, OrderSearch(found=False, complete=True, states=0))
    assert work.states(three, 300) == 2
    work.spend(three, OrderSearch(found=False, complete=False, states=9))
    assert work.states(three, 300) == 0


def test_a_change_of_a_whole_large_fleet_is_searched_for_seconds_at_most(monkeypatch):
    spent = []

    class Counted(SearchBudget):
        def spend(self, wanted, search):
            spent.append(len(wanted) * search.states)
            super().spend(wanted, search)

    monkeypatch.setattr(order, "SearchBudget", Counted)
    wide = random_change(np.random.default_rng(1), 32, 128, 0.95)
    assert len(order.ordered(wide).moves) > 100
    assert 0 < sum(spent) <= 2 * order.MOST_WORK
    ways = search_all_ways(wide, 20_000)
    assert ways.proof is not ServingProof.FOUND
    assert ways.states < 1_000
