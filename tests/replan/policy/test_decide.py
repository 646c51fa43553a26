"""Stay or go, on fleets in which it is clear which of both is right."""

from dataclasses import replace

import numpy as np
import pytest

from colocate import Gpu, Model, Problem
from colocate.follow.words import decision_words
from colocate.replan.lives import lives_of
from colocate.replan.placed_engine import engines_of
from colocate.replan.policy.decide import decide
from colocate.replan.policy.decision import PolicyReason
from colocate.replan.policy.history import (
    EngineMove,
    engines_at,
    held_places,
    moves_between,
    undone_moves,
)
from colocate.replan.policy.outlook import Outlook, expected_demand, outlook, settled_lives
from colocate.replan.policy.proposals import Proposal, nearby_proposals
from colocate.replan.policy.rates import RateEstimate
from colocate.replan.policy.settings import PolicySettings
from colocate.replan.steps.step import StepKind
from colocate.replan.steps.step_times import StepTimes
from colocate.simulate.engine_life import EngineLife
from colocate.simulate.live.run import simulate_lives
from colocate.simulate.options import SimulateOptions
from tests.simulate.drawn_fleets import KIND, asked, poisson

QUICK = PolicySettings(horizon=300.0, times=StepTimes(ready_seconds=5.0, drain_seconds=5.0))
BOTH_ON_ONE = {"a": ("g0",), "b": ("g0",)}


def fleet(gpus=2, models=("a", "b"), size=10.0, **fields):
    """Return models that make 2 requests of 50 tokens a second with a GPU of their own."""
    requests = asked(step=0.01, prefill=0.02, tpot_slo=0.02, ttft_slo=0.5, slots=1.0)
    places = [Gpu(f"g{n}", 40.0, KIND) for n in range(gpus)]
    fields = {"load": 1.0, "requests": requests, **fields}
    return Problem(places, [Model(name, size, **fields) for name in models])


def rates(*values, seconds=900.0, off=0.1):
    return [
        RateEstimate(name, rate, rate * (1 - off), rate * (1 + off), 1.0, seconds)
        for name, rate in zip("abcd", values, strict=False)
    ]


def test_nothing_moves_while_targets_hold():
    found = decide(fleet(), BOTH_ON_ONE, rates(0.01, 0.01), settings=QUICK)
    assert (found.stay, found.reason) == (True, PolicyReason.TARGETS_HOLD)
    assert found.moves == ()


def test_a_model_moves_where_it_has_a_gpu_for_itself():
    found = decide(fleet(), BOTH_ON_ONE, rates(0.8, 0.8), settings=QUICK)
    assert (found.stay, found.reason) == (False, PolicyReason.PAYS)
    assert sorted(gpu for gpus in found.placement.values() for gpu in gpus) == ["g0", "g1"]
    assert [move.arrived for move in found.moves] == [True, False]
    assert found.gain.gain > found.needed
    assert found.gain.cost > 0.0
    assert found.gain.settled > found.gain.going > found.gain.staying


def test_a_hot_model_gets_a_replica():
    problem = fleet(models=("a",), most_replicas=2)
    found = decide(problem, {"a": ("g0",)}, rates(2.5), settings=QUICK)
    assert found.reason is PolicyReason.PAYS
    assert found.placement == {"a": ("g0", "g1")}


def test_a_queue_that_one_engine_cannot_clear_gets_another():
    problem = fleet(models=("a",), most_replicas=2)
    steady = rates(0.6)
    queued = [each._replace(waiting=400.0) for each in steady]
    alone = decide(problem, {"a": ("g0",)}, queued, settings=replace(QUICK, hysteresis=0.3))
    assert alone.reason is PolicyReason.PAYS
    assert alone.placement == {"a": ("g0", "g1")}
    without = decide(problem, {"a": ("g0",)}, steady, settings=replace(QUICK, hysteresis=0.3))
    assert without.reason is PolicyReason.TARGETS_HOLD


def test_another_model_makes_room_for_a_replica():
    problem = fleet(gpus=3, models=tuple("abcd"))
    sizes = {"a": 20.0, "b": 15.0, "c": 15.0, "d": 25.0}
    models = tuple(m.changed(size_gb=sizes[m.name], most_replicas=2) for m in problem.models)
    full = replace(problem, models=models)
    places = {"a": ("g0",), "b": ("g1",), "c": ("g1",), "d": ("g2",)}
    found = decide(full, places, rates(2.5, 0.01, 0.01, 0.01), settings=QUICK)
    assert found.reason is PolicyReason.PAYS
    assert found.placement["a"] == ("g0", "g1")
    assert ("g2",) in (found.placement["b"], found.placement["c"])


def test_a_way_that_costs_more_than_it_brings_is_not_gone():
    slow = replace(QUICK, times=StepTimes(ready_seconds=299.0), horizon=300.0)
    found = decide(fleet(), BOTH_ON_ONE, rates(0.8, 0.8), settings=slow)
    assert found.reason is PolicyReason.DOES_NOT_PAY
    assert found.stay
    assert found.gain.gain <= found.needed


def test_of_two_goals_the_one_with_the_better_way_counts():
    problem = fleet(gpus=3, models=("a", "b"))
    near, far = {"a": ("g0",), "b": ("g1",)}, {"a": ("g1",), "b": ("g2",)}

    def propose(problem, places, held, rated):
        return [Proposal(each, rated(each)) for each in (far, near)]

    settings = replace(QUICK, times=StepTimes(ready_seconds=60.0, load_gb_per_second=0.2))
    found = decide(problem, BOTH_ON_ONE, rates(0.8, 0.8), settings=settings, propose=propose)
    assert found.reason is PolicyReason.PAYS
    assert found.placement == near
    strict = replace(settings, budget_gb=5.0)
    refused = decide(problem, BOTH_ON_ONE, rates(0.8, 0.8), settings=strict, propose=propose)
    assert (refused.reason, refused.placement) == (PolicyReason.OVER_BUDGET, far)


def test_the_model_that_loses_most_loads_first():
    problem = fleet(3, models=("a", "b"), most_replicas=2)
    for hot, order in (((2.5, 0.5), ["a", "b"]), ((0.5, 2.5), ["b", "a"])):

        def both_elsewhere(*_):
            return [Proposal({"a": ("g1",), "b": ("g2",)}, Outlook(1.0, 1.0, {}, {}))]

        found = decide(problem, BOTH_ON_ONE, rates(*hot), settings=QUICK, propose=both_elsewhere)
        loads = [each for each in found.steps.steps if each.kind is StepKind.LOAD]
        assert [each.engine.model for each in sorted(loads, key=lambda each: each.start)] == order


def test_what_is_not_known_for_long_enough_moves_nothing():
    found = decide(fleet(), BOTH_ON_ONE, rates(0.8, 0.8, seconds=20.0), settings=QUICK)
    assert found.reason is PolicyReason.TOO_LITTLE_KNOWN


def test_limits_hold():
    history = tuple(EngineMove("a", (f"x{n}",), 0.0, True) for n in range(12))
    found = decide(fleet(), BOTH_ON_ONE, rates(0.8, 0.8), history, 2000.0, QUICK)
    assert found.reason is PolicyReason.MOST_MOVES
    later = decide(fleet(), BOTH_ON_ONE, rates(0.8, 0.8), history, 3700.0, QUICK)
    assert later.reason is PolicyReason.PAYS
    tight = replace(QUICK, budget_gb=5.0)
    found = decide(fleet(), BOTH_ON_ONE, rates(0.8, 0.8), settings=tight)
    assert found.reason is PolicyReason.OVER_BUDGET


def test_restarts_on_the_way_count_as_moves_too():
    crowded, calm = {**BOTH_ON_ONE, "c": ("g1",)}, rates(0.8, 0.8, 0.01)
    fixed = replace(QUICK, memory="fixed", most_moves_per_hour=2)
    free = decide(fleet(models="abc"), crowded, calm, settings=fixed)
    assert free.reason is PolicyReason.PAYS
    assert [s.engine.model for s in free.steps.steps if s.kind is StepKind.LOAD] == ["b", "c"]
    once = replace(fixed, most_moves_per_hour=1)
    found = decide(fleet(models="abc"), crowded, calm, settings=once)
    assert (found.reason, found.stay) == (PolicyReason.MOST_MOVES, True)
    alone = decide(fleet(models="abc"), crowded, calm, settings=replace(once, memory="elastic"))
    assert alone.reason is PolicyReason.PAYS


def test_staying_is_judged_by_the_caches_that_engines_have():
    requests = asked(tpot_slo=0.02, ttft_slo=0.5, slots=16.0, request_gb=1.0)
    problem, apart = fleet(requests=requests), {"a": ("g0",), "b": ("g1",)}
    fixed = replace(QUICK, memory="fixed")
    whole = engines_of(problem, apart, "fixed", {})
    small = [replace(engine, held_gb=11.0, cache_gb=1.0) for engine in whole]  # one request each
    free = decide(problem, apart, rates(4.0, 4.0), settings=fixed, running=whole)
    assert free.reason is PolicyReason.TARGETS_HOLD
    found = decide(problem, apart, rates(4.0, 4.0), settings=fixed, running=small)
    assert found.reason is not PolicyReason.TARGETS_HOLD
    lives = [EngineLife(each.model, each.gpus, each.cache_gb) for each in small]
    demand = expected_demand(problem, rates(4.0, 4.0), "rate", fixed, 0)
    assert found.gain.staying == outlook(demand, lives).in_time
    assert found.gain.staying < 0.5 * found.gain.settled
    shared = decide(problem, apart, rates(4.0, 4.0), settings=QUICK, running=small)
    assert shared.reason is PolicyReason.TARGETS_HOLD


def test_a_model_without_an_engine_forces_a_move():
    places = {"a": ("g0",), "b": ()}
    history = tuple(EngineMove("a", (f"x{n}",), 0.0, True) for n in range(12))
    found = decide(fleet(), places, rates(0.3, 0.3, seconds=10.0), history, 60.0, QUICK)
    assert (found.stay, found.reason) == (False, PolicyReason.NOT_SERVED)
    assert found.placement["b"] == ("g1",)


@pytest.mark.parametrize("rate", [None, 0.0, 0.01])
def test_a_model_without_an_engine_gets_one_however_rarely_it_is_asked(rate):
    known = rates(0.3, 0.3) + ([] if rate is None else rates(0, 0, rate)[2:])
    found = decide(fleet(gpus=3, models="abc"), {"a": ("g0",), "b": ("g1",)}, known, settings=QUICK)
    assert (found.stay, found.reason) == (False, PolicyReason.NOT_SERVED)
    assert len(found.placement["c"]) == 1


def test_all_models_of_a_lost_gpu_get_engines_at_once():
    problem = fleet(gpus=3, models="abcde", size=8.0)
    known = [*rates(0.3, 0.01, 0.01, 0.01), RateEstimate("e", 0.0, 0.0, 0.0, 1.0, 900.0)]
    found = decide(problem, {"a": ("g0",)}, known, settings=QUICK)
    assert all(len(found.placement[name]) == 1 for name in "abcde")


@pytest.mark.parametrize("serving", [{"a": ("g0",), "b": ("g1",)}, {**BOTH_ON_ONE, "c": ("g1",)}])
@pytest.mark.parametrize("asked_for", [(0.3, 0.3, 0.3), (0.1, 1.5, 1.5)])
def test_limits_of_other_resources_hold_too(serving, asked_for):
    gpus = [Gpu(f"g{n}", 40.0, KIND, {"seats": 1.0}) for n in range(2)]
    seats = {"a": 0.8, "b": 0.1, "c": 0.5}
    models = [
        model.changed(uses={"seats": seats[model.name]}) for model in fleet(models="abc").models
    ]
    problem = Problem(gpus, models)
    found = decide(problem, serving, rates(*asked_for), settings=QUICK)
    if found.placement is not None:
        used = [
            sum(seats[m] for m, at in found.placement.items() if gpu.name in at) for gpu in gpus
        ]
        assert max(used) <= 1.0


def test_an_engine_that_came_or_left_lately_is_not_touched():
    problem = fleet()
    history = (
        EngineMove("a", ("g1",), 1000.0, False),
        EngineMove("b", ("g1",), 1000.0, False),
    )
    found = decide(problem, BOTH_ON_ONE, rates(0.8, 0.8), history, 1500.0, QUICK)
    assert found.reason is PolicyReason.NOTHING_BETTER
    again = decide(problem, BOTH_ON_ONE, rates(0.8, 0.8), history, 2000.0, QUICK)
    assert again.reason is PolicyReason.PAYS


def failures(*moments, model="b", gpu="g1"):
    return tuple(EngineMove(model, (gpu,), moment, False, failed=True) for moment in moments)


def test_an_engine_that_failed_to_come_is_not_sent_there_again_soon():
    problem = fleet()
    history = failures(1000.0, model="a") + failures(1000.0)
    found = decide(problem, BOTH_ON_ONE, rates(0.8, 0.8), history, 1500.0, QUICK)
    assert found.reason is PolicyReason.NOTHING_BETTER
    again = decide(problem, BOTH_ON_ONE, rates(0.8, 0.8), history, 2000.0, QUICK)
    assert again.reason is PolicyReason.PAYS
    assert undone_moves([EngineMove("b", ("g1",), 990.0, True), *history], 600.0) == []


def test_loads_that_failed_count_as_moves():
    history = failures(*(100.0 * n for n in range(12)), model="other", gpu="x")
    found = decide(fleet(), BOTH_ON_ONE, rates(0.8, 0.8), history, 3000.0, QUICK)
    assert found.reason is PolicyReason.MOST_MOVES


def test_a_model_that_failed_to_come_tries_another_gpu_first():
    places = {"a": ("g0",), "b": ()}
    for problem, there in ((fleet(), "g0"), (fleet(3), "g2")):
        found = decide(problem, places, rates(0.3, 0.3), failures(100.0), 110.0, QUICK)
        assert found.placement["b"] == (there,)


def test_a_model_that_failed_to_come_where_alone_it_may_waits_ever_longer():
    problem = fleet()
    alone = tuple(m.changed(only=["g1"]) if m.name == "b" else m for m in problem.models)
    problem = replace(problem, models=alone)

    def after(seconds, *moments):
        now = moments[-1] + seconds
        places = {"a": ("g0",), "b": ()}
        return decide(problem, places, rates(0.3, 0.3), failures(*moments), now, QUICK)

    waits = after(20.0, 100.0)
    assert (waits.stay, waits.reason) == (True, PolicyReason.NO_ROOM)
    assert "b has no engine: it has a place, but a step failed there lately" in decision_words(
        waits
    )
    assert after(40.0, 100.0).placement["b"] == ("g1",)
    assert after(40.0, 100.0, 140.0).stay
    assert not after(70.0, 100.0, 140.0).stay
    often = [100.0 * n for n in range(12)]
    assert after(QUICK.commitment - 10.0, *often).stay
    assert not after(QUICK.commitment + 10.0, *often).stay
    assert after(0.0, *(100.0 + 0.5 * n for n in range(3000))).stay


@pytest.mark.parametrize("seed", range(15))
def test_no_proposal_touches_what_is_held_or_overfills_a_gpu(seed):
    rng = np.random.default_rng(seed)
    problem = fleet(
        gpus=3, models=tuple("abcd"), size=float(rng.choice([7.0, 10.0])), most_replicas=2
    )
    names = [gpu.name for gpu in problem.gpus]
    places = {name: (str(rng.choice(names)),) for name in "abc"} | {"d": ("g2",)}
    moved = [(str(rng.choice(list("abcd"))), str(rng.choice(names))) for _ in range(4)]
    history = [EngineMove(model, (gpu,), 0.0, gpu in places[model]) for model, gpu in moved]
    held = held_places(history, 100.0, 600.0)
    stream = poisson(rng.uniform(0.1, 2.0, 4), 40.0, seed)

    def rated(at):
        lives = settled_lives(problem, at)
        found = simulate_lives(problem, lives, [stream], SimulateOptions(cache="elastic"))
        return outlook_of(found)

    for found in nearby_proposals(problem, places, held, rated):
        for move in moves_between(problem, places, found.places, 100.0):
            assert move.place not in held
        for gpu in names:
            assert (
                sum(gpu in gpus for gpus in found.places.values()) * problem.models[0].size_gb <= 40
            )
        assert found.outlook == rated(found.places)
        assert not undone_moves(
            [*history, *moves_between(problem, places, found.places, 100.0)], 600.0
        )
    best = nearby_proposals(problem, places, held, rated)[:1]
    assert all(each.outlook.in_time > rated(places).in_time for each in best)


def outlook_of(found):
    in_time = {each.name: each.attainment * each.judged for each in found.models}
    lost = {each.name: each.arrived - in_time[each.name] for each in found.models}
    return Outlook(sum(each.arrived for each in found.models), sum(in_time.values()), lost)


def test_moves_that_go_back_and_forth_are_found():
    there, back = EngineMove("a", ("g0",), 0.0, True), EngineMove("a", ("g0",), 599.0, False)
    other = EngineMove("a", ("g1",), 10.0, True)
    assert undone_moves([there, other, back], 600.0) == [(there, back)]
    assert undone_moves([there, other, back], 599.0) == []
    problem = fleet()
    assert engines_at(problem, BOTH_ON_ONE).keys() == {
        ("a", frozenset(("g0",))),
        ("b", frozenset(("g0",))),
    }


def test_the_lives_of_steps_are_those_of_the_placements_before_and_after():
    found = decide(fleet(), BOTH_ON_ONE, rates(0.8, 0.8), settings=QUICK)
    lives = lives_of(found.steps, 50.0)
    first = {(life.model, life.gpus) for life in lives if life.ready <= 0.0}
    last = {(life.model, life.gpus) for life in lives if life.gone == float("inf")}
    assert first == {("a", ("g0",)), ("b", ("g0",))}
    assert last == {(name, gpus) for name, gpus in found.placement.items()}
    (new,) = [life for life in lives if life.ready > 0.0]
    (old,) = [life for life in lives if life.gone < float("inf")]
    assert 50.0 <= new.begin < new.ready <= old.closed < old.gone
    assert old.gone == pytest.approx(50.0 + found.steps.seconds)
