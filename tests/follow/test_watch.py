import json
import multiprocessing
import os
from dataclasses import replace

import pytest

from colocate import InputError
from colocate.errors import SourceError, Trouble
from colocate.follow import watch as watching
from colocate.follow.engine_records import Condition, EngineRecord, places_of, serving
from colocate.follow.state_folder import StateFolder
from colocate.follow.watch import RoundOutcome
from colocate.inputs.fleet import fleet_of
from colocate.inputs.observation.estimate import Estimate
from colocate.inputs.observation.observation import Remark, SourceNote
from colocate.replan.policy.decision import MoveGain, PolicyDecision, PolicyReason
from colocate.replan.policy.history import moves_between
from colocate.replan.steps.safe_steps import safe_steps
from colocate.replan.steps.step import StepKind
from colocate.replan.transition import change_between
from tests.follow.fleets import BINS, PLACES, Fixture, measured, small_fleet

SPREAD = {"chat": ("g-0",), "code": ("g-1",), "tiny": ("g-1",)}
STAY = PolicyDecision(PolicyReason.TARGETS_HOLD)


def going(problem, serving_now, new=SPREAD):
    """Return the decision to go to a placement."""
    change = change_between((problem, serving_now), (problem, new), "elastic")
    moves = moves_between(problem, serving_now, new, 0.0)
    gain = MoveGain(100.0, 60.0, 90.0, 95.0, 20.0)
    return PolicyDecision(PolicyReason.PAYS, new, safe_steps(change), moves, gain)


@pytest.fixture
def folder(tmp_path):
    with StateFolder(tmp_path / "state") as made:
        yield made


@pytest.fixture
def decided(monkeypatch):
    """Script the decisions: the last one of a list is repeated; functions get the fleet."""
    script = [STAY]
    seen = []

    def decide(problem, places, rates, history, now, settings, running):
        seen.append((places, rates, history))
        each = script.pop(0) if len(script) > 1 else script[0]
        return each(problem, places) if callable(each) else each

    monkeypatch.setattr(watching, "decide", decide)
    decide.script, decide.seen = script, seen
    return decide


def placed(fixture):
    return places_of(serving(fixture.watch.state.engines))


def test_it_stays_and_says_so_once(folder, decided):
    fixture = Fixture(folder)
    assert [fixture.watch.round() for _ in range(3)] == [RoundOutcome.STAY] * 3
    assert fixture.told == ["stay: nearly all requests are in time as it is"]
    assert fixture.performed == []
    assert folder.read().counts == {"rounds_stay": 3.0}


def test_a_search_that_found_nothing_holds_until_demand_or_the_fleet_changes(folder, decided):
    decided.script[:] = [PolicyDecision(PolicyReason.NOTHING_BETTER)]
    fixture = Fixture(folder)
    assert [fixture.watch.round() for _ in range(3)] == [RoundOutcome.STAY] * 3
    assert len(decided.seen) == 1
    queue = replace(fixture.observation.models[0], queue=50.0)
    fixture.observation = replace(
        fixture.observation, models=(queue, *fixture.observation.models[1:])
    )
    fixture.watch.round()
    assert len(decided.seen) == 2
    assert [each.waiting for each in decided.seen[-1][1]] == [50.0, 0.0, 0.0]


def test_it_moves_and_remembers(folder, decided):
    decided.script[:] = [going, STAY]
    fixture = Fixture(folder)
    assert fixture.watch.round() is RoundOutcome.MOVE
    assert placed(fixture) == SPREAD
    assert fixture.told[0].startswith("move code to g-1 (")
    assert "60.0% of requests in time while staying, 90.0% while going" in fixture.told[0]
    kinds = [kind for kind, model, _ in fixture.performed if model == "code"]
    assert kinds == ["load", "wait", "switch", "drain", "unload"]
    kept = folder.read()
    assert (kept.pending, kept.begun) == ((), frozenset())
    assert {(move.model, move.arrived) for move in kept.moves} >= {("code", True), ("code", False)}
    assert json.loads((folder.path / "placement.json").read_text()) == {
        name: list(gpus) for name, gpus in SPREAD.items()
    }
    assert fixture.watch.round() is RoundOutcome.STAY
    assert decided.seen[-1][0] == SPREAD
    assert len(decided.seen[-1][2]) >= 2


def test_steps_that_do_not_stand_the_check_are_not_carried_out(folder, decided):
    def unsafe(problem, serving_now):
        found = going(problem, serving_now)
        steps = tuple(replace(each, after=()) for each in found.steps.steps)
        return replace(found, steps=replace(found.steps, steps=steps))

    decided.script[:] = [unsafe]
    fixture = Fixture(folder)
    assert [fixture.watch.round() for _ in range(2)] == [RoundOutcome.STAY] * 2
    assert fixture.performed == []
    assert not (folder.path / "steps.json").exists()
    assert len([each for each in fixture.told if "are not safe: " in each]) == 1


def test_a_dry_run_does_nothing_but_say_and_write(folder, decided):
    decided.script[:] = [going]
    fixture = Fixture(folder, dry=True)
    assert [fixture.watch.round() for _ in range(2)] == [RoundOutcome.WOULD_MOVE] * 2
    assert placed(fixture) == {name: PLACES[name] for name in sorted(PLACES)}
    assert len(fixture.told) == 1
    assert (folder.path / "steps.json").exists()


@pytest.mark.parametrize("trouble", list(Trouble))
def test_a_source_that_does_not_answer_moves_nothing_and_is_told_once(folder, decided, trouble):
    decided.script[:] = [going]
    fixture = Fixture(folder)
    good, fixture.observation = fixture.observation, SourceError(trouble, "p:9090: no answer")
    assert [fixture.watch.round() for _ in range(3)] == [RoundOutcome.NO_DEMAND] * 3
    assert fixture.told == ["no demand, so nothing moves: p:9090: no answer"]
    assert "colocate_watch_source_up 0.0" in fixture.shown[-1]
    assert fixture.performed == []
    decided.script[:] = [STAY]
    fixture.observation = good
    assert fixture.watch.round() is RoundOutcome.STAY
    fixture.observation = SourceError(trouble, "p:9090: no answer")
    fixture.watch.round()
    assert fixture.told.count("no demand, so nothing moves: p:9090: no answer") == 2


def test_a_model_that_is_not_measured_is_not_one_that_nobody_asks(folder):
    fixture = Fixture(folder)
    fixture.observation = measured(chat=24.0, tiny=0.5)
    assert [fixture.watch.round() for _ in range(2)] == [RoundOutcome.STAY] * 2
    assert fixture.performed == []
    assert len(fixture.told) == 1
    assert fixture.told[0].startswith("stay: nobody knows how often code is asked; see that all")
    fixture.observation = measured(chat=24.0, code=24.0, tiny=0.5)
    assert fixture.watch.round() is RoundOutcome.MOVE


def test_a_model_that_is_not_heard_of_any_more_is_not_measured(folder):
    fixture = Fixture(folder)
    gone = SourceNote(Remark.GONE, ("code",), 120.0)
    fixture.observation = replace(measured(chat=24.0, code=24.0, tiny=0.5), notes=(gone,))
    assert fixture.watch.round() is RoundOutcome.STAY
    assert "how often code is asked" in fixture.told[0]
    fixture.observation = replace(fixture.observation, notes=())
    assert fixture.watch.round() is RoundOutcome.MOVE


def test_a_model_without_an_engine_gets_one_though_another_is_not_measured(folder):
    fixture = Fixture(folder, places={"chat": ("g-0",), "tiny": ("g-1",)})
    fixture.observation = measured(chat=2.0)
    assert fixture.watch.round() is RoundOutcome.MOVE
    assert set(placed(fixture)) == {"chat", "code", "tiny"}


def test_notes_of_the_source_are_told_once_while_they_last(folder, decided):
    fixture = Fixture(folder)
    good = fixture.observation
    for amount in (0.1, 0.2):
        note = SourceNote(Remark.GAPS, ("chat",), amount)
        fixture.observation = replace(good, notes=(note,))
        fixture.watch.round()
    gaps = "note: 'chat': for 10% of the time nothing is known"
    assert fixture.noted == ["note: counted: requests that started", gaps]
    fixture.observation = good
    fixture.watch.round()
    fixture.observation = replace(good, notes=(note,))
    fixture.watch.round()
    assert fixture.noted[2:] == ["note: 'chat': for 20% of the time nothing is known"]


def test_the_fleet_of_a_change_has_the_rates_that_it_rests_on(folder):
    fixture = Fixture(folder)
    steady = measured(chat=1.0, code=24.0, tiny=0.4)
    rose = (1.0,) * (BINS - 20) + (24.0,) * 20
    chat = replace(steady.models[0], rates=rose, rate=Estimate(8.7, 0.5))
    fixture.observation = replace(steady, models=(chat, *steady.models[1:]))
    assert fixture.watch.round() is RoundOutcome.MOVE
    models = json.loads((folder.path / "fleet.json").read_text())["models"]
    assert [each["rate"] for each in models] == [24.0, 24.0, 0.4]
    assert all(each["rate_uncertainty"] > 0.0 for each in models)


def test_demand_that_the_fleet_cannot_have_moves_nothing(folder, decided):
    decided.script[:] = [going]
    fixture = Fixture(folder)
    fixture.observation = measured(stranger=3.0)
    fixture.watch.round()
    assert decided.seen[-1][1] == ()


def test_a_fleet_file_that_cannot_be_read_stays_as_it_was(folder, decided):
    fixture = Fixture(folder)
    fixture.watch.round()
    fixture.fleet = InputError("fleet.yaml: models: is empty")
    assert [fixture.watch.round() for _ in range(2)] == [RoundOutcome.STAY] * 2
    assert fixture.told[1:] == ["the fleet stays as it was: fleet.yaml: models: is empty"]


def test_a_gpu_that_is_gone_takes_its_engines_along(folder, decided):
    fixture = Fixture(folder)
    fixture.fleet = small_fleet(gpus=[{"name": "g", "kind": "H100-80GB", "count": 1}])
    gone = [gpu.name for gpu in fixture.fleet.problem.gpus]
    fixture.watch.round()
    left = placed(fixture)
    assert all(set(gpus) <= set(gone) for gpus in left.values())
    assert decided.seen[-1][0] == left


@pytest.mark.parametrize("kind", ["load", "wait", "switch", "drain", "unload"])
def test_after_a_step_that_failed_it_plans_from_what_is_there(folder, decided, kind):
    decided.script[:] = [going, STAY]
    fixture = Fixture(folder)
    fixture.failing = {(kind, "code")}
    assert fixture.watch.round() is RoundOutcome.BROKEN_OFF
    assert folder.read().pending == ()
    fixture.failing = set()
    assert fixture.watch.round() is RoundOutcome.STAY
    state = fixture.watch.state
    assert {each.condition for each in state.engines} == {Condition.SERVING}
    assert set(placed(fixture)) == set(PLACES)
    assert decided.seen[-1][0] == placed(fixture)
    on_code = placed(fixture)["code"]
    assert on_code == (("g-0",) if kind in ("load", "wait", "switch") else on_code)


def test_what_cannot_be_tidied_is_tried_again_and_never_planned_over(folder, decided):
    decided.script[:] = [going, STAY]
    fixture = Fixture(folder)
    fixture.failing = {("wait", "code"), ("unload", "code")}
    outcomes = [fixture.watch.round() for _ in range(3)]
    assert outcomes == [RoundOutcome.BROKEN_OFF] * 3
    assert len(decided.seen) == 1
    doubtful = [e for e in fixture.watch.state.engines if e.condition is Condition.DOUBTFUL]
    assert [each.engine.gpus for each in doubtful] == [("g-1",)]
    fixture.failing = set()
    assert fixture.watch.round() is RoundOutcome.STAY


def test_a_step_that_never_began_leaves_its_engine_as_it_was(folder, decided):
    decided.script[:] = [going, STAY]
    fixture = Fixture(folder)
    perform = fixture.watch.around.perform

    def unable_to_drain(step):
        return None if step.kind is StepKind.DRAIN else perform(step)

    fixture.watch.around = replace(fixture.watch.around, perform=unable_to_drain)
    assert fixture.watch.round() is RoundOutcome.BROKEN_OFF
    conditions = {each.condition for each in fixture.watch.state.engines}
    assert conditions == {Condition.SERVING}
    assert fixture.watch.state.pending == ()
    assert fixture.watch.round() is RoundOutcome.STAY


def test_a_step_that_was_killed_before_and_does_not_begin_again_is_in_doubt(folder, decided):
    decided.script[:] = [going, STAY]
    fixture = Fixture(folder)
    perform = fixture.watch.around.perform

    def broken_off(step):
        if step.kind is StepKind.DRAIN:
            raise KeyboardInterrupt
        return perform(step)

    fixture.watch.around = replace(fixture.watch.around, perform=broken_off)
    with pytest.raises(KeyboardInterrupt):
        fixture.watch.round()
    again = Fixture(folder)
    again.watch.around = replace(again.watch.around, perform=lambda _: None)
    assert again.watch.round() is RoundOutcome.BROKEN_OFF
    assert Condition.UNDRAINED in {each.condition for each in again.watch.state.engines}


def stop_after_one_step(fixture):
    perform = fixture.watch.around.perform

    def stopping(step):
        fixture.stop.set()
        return perform(step)

    fixture.watch.around = replace(fixture.watch.around, perform=stopping)


def test_it_stops_between_two_steps_and_goes_on_later(folder, decided):
    decided.script[:] = [going, STAY]
    fixture = Fixture(folder)
    stop_after_one_step(fixture)
    assert fixture.watch.round() is RoundOutcome.BROKEN_OFF
    assert len(fixture.performed) == 1
    assert folder.read().pending
    again = Fixture(folder)
    assert again.watch.round() is RoundOutcome.STAY
    assert again.told[0].startswith("going on with")
    assert placed(again) == SPREAD


def follow_and_die(path, number):
    """Run a change and end without a word in the middle of a step, as kill -9 does."""
    with StateFolder(path) as folder:
        fixture = Fixture(folder)
        perform = fixture.watch.around.perform

        def dying(step):
            if len(fixture.performed) == number:
                os._exit(9)
            return perform(step)

        fixture.watch.around = replace(fixture.watch.around, perform=dying)
        watching.decide = lambda problem, places, *_, **__: going(problem, places)
        fixture.watch.round()


@pytest.mark.parametrize("number", range(5))
def test_it_survives_being_killed_at_any_step(tmp_path, decided, number):
    context = multiprocessing.get_context("fork")
    process = context.Process(target=follow_and_die, args=(tmp_path, number))
    process.start()
    process.join(60)
    assert process.exitcode == 9
    with StateFolder(tmp_path) as folder:
        found = folder.read()
        assert len(found.pending) == 5 - number
        assert len(found.begun) == 1
        fixture = Fixture(folder)
        assert fixture.watch.round() is RoundOutcome.STAY
        assert len(fixture.performed) == 5 - number
        assert placed(fixture) == SPREAD
        assert all(each == EngineRecord(each.engine) for each in fixture.watch.state.engines)


def test_metrics_tell_plan_source_and_loop(folder, decided):
    decided.script[:] = [going, STAY]
    fixture = Fixture(folder)
    fixture.watch.round()
    text = fixture.shown[-1]
    for line in (
        'colocate_plan_engine{model_name="code",gpu="g-1"} 1.0',
        'colocate_plan_rate{model_name="chat"} 2.0',
        'colocate_target_tpot_seconds{model_name="tiny"} 0.05',
        'colocate_watch_rounds_total{decision="move"} 1.0',
        'colocate_watch_steps_total{outcome="done"} 5.0',
        'colocate_watch_measured_rate{model_name="code"} 2.0',
        "colocate_watch_source_up 1.0",
        "colocate_watch_steps_pending 0.0",
    ):
        assert f"{line}\n" in text
    assert 'colocate_plan_pressure{gpu="g-0"}' in text
    assert 'colocate_plan_tpot_seconds{model_name="chat"}' in text


def test_a_true_decision_moves_models_that_slow_each_other_down(folder):
    fleet = small_fleet()
    busy = {"chat": 24.0, "code": 24.0, "tiny": 0.5}
    fixture = Fixture(folder, fleet)
    fixture.observation = measured(**busy)
    outcome = fixture.watch.round()
    assert outcome is RoundOutcome.MOVE, fixture.told
    now = placed(fixture)
    assert set(now["chat"]).isdisjoint(now["code"])
    assert fixture.watch.round() is RoundOutcome.STAY


def test_a_model_that_a_broken_change_left_without_an_engine_is_served_again(folder):
    fixture = Fixture(folder, memory="fixed")
    fixture.observation = measured(chat=24.0, code=24.0, tiny=0.5)
    fixture.failing = {("load", "code")}
    assert fixture.watch.round() is RoundOutcome.BROKEN_OFF, fixture.told
    assert "tiny" not in placed(fixture)  # it made room, with a smaller cache to come back to
    fixture.failing = set()
    assert fixture.watch.round() is RoundOutcome.MOVE
    assert set(placed(fixture)) == set(PLACES)


def test_a_true_decision_stays_where_all_is_well(folder):
    fixture = Fixture(folder, places=SPREAD)
    assert fixture.watch.round() is RoundOutcome.STAY
    assert fixture.performed == []


def test_a_change_begins_with_the_caches_that_engines_have(folder, monkeypatch):
    fixture = Fixture(folder, memory="fixed")
    moving = dict(SPREAD)

    def decide(problem, places, *_, running):
        change = change_between((problem, places), (problem, moving), "fixed", running=running)
        moves = moves_between(problem, places, moving, 0.0)
        return PolicyDecision(PolicyReason.PAYS, moving, safe_steps(change), moves)

    monkeypatch.setattr(watching, "decide", decide)
    fixture.observation = measured(chat=9.0, code=1.0, tiny=3.0)
    assert fixture.watch.round() is RoundOutcome.MOVE
    moving = dict(PLACES)
    fixture.observation = measured(chat=1.0, code=7.0, tiny=1.0)
    assert fixture.watch.round() is RoundOutcome.MOVE
    engines = fixture.watch.state.engines
    assert sorted(each.engine.model for each in engines) == ["chat", "code", "tiny"]
    assert placed(fixture) == {name: PLACES[name] for name in sorted(PLACES)}


def test_a_change_whose_gpu_is_gone_is_given_up_and_its_steps_are_not_repeated(folder, decided):
    decided.script[:] = [going, STAY]
    fixture = Fixture(folder)
    stop_after_one_step(fixture)
    fixture.watch.round()
    assert folder.read().pending
    again = Fixture(folder, fleet=fixture.fleet)
    again.fleet = small_fleet(gpus=[{"name": "g-0", "kind": "H100-80GB"}])
    again.watch.round()
    assert again.told[0] == "a GPU is gone that a change needs, so the change is given up"
    assert all(gpus == ("g-0",) for _, _, gpus in again.performed)
    assert placed(again) == {"chat": ("g-0",), "code": ("g-0",)}
    assert folder.read().pending == ()


def test_after_a_failure_and_a_stop_at_once_the_steps_behind_it_are_not_done(folder, decided):
    decided.script[:] = [going, STAY]
    fixture = Fixture(folder)
    fixture.failing = {("load", "code")}
    stop_after_one_step(fixture)
    assert fixture.watch.round() is RoundOutcome.BROKEN_OFF
    again = Fixture(folder)
    again.watch.round()
    assert ("switch", "code", ("g-1",)) not in again.performed
    assert placed(again)["code"] == ("g-0",)


def test_what_cannot_be_decided_moves_nothing(folder, decided):
    def refusing(problem, places):
        raise InputError("gpu 'g-0': holds 100 GB now, must be at most 80 GB")

    decided.script[:] = [refusing]
    fixture = Fixture(folder)
    assert [fixture.watch.round() for _ in range(2)] == [RoundOutcome.STAY] * 2
    assert fixture.told == [
        "nothing can be decided, so nothing moves: gpu 'g-0': holds 100 GB now, must be at most "
        "80 GB"
    ]


def test_a_replica_that_only_leaves_is_told(folder, decided):
    fixture = Fixture(folder, places={**PLACES, "code": ("g-0", "g-1")})
    decided.script[:] = [lambda problem, places: going(problem, places, PLACES), STAY]
    assert fixture.watch.round() is RoundOutcome.MOVE
    assert fixture.told[0].startswith("move code away from g-1 (")


def test_a_model_that_joins_the_fleet_is_loaded_at_once_though_nothing_better_was_found(folder):
    fixture = Fixture(folder, places={"chat": ("g-0", "g-1"), "code": ("g-1",), "tiny": ("g-1",)})
    fixture.observation = measured(chat=100.0, code=1.0, tiny=1.0)
    assert fixture.watch.round() is RoundOutcome.STAY
    grown = small_fleet().as_dict()
    grown["models"].append({**grown["models"][-1], "name": "fresh"})
    fixture.fleet = fleet_of(grown)
    fixture.now += 30.0
    assert fixture.watch.round() is RoundOutcome.MOVE
    assert "fresh" in placed(fixture)


@pytest.mark.parametrize("memory", ["fixed", "elastic"])
def test_a_gpu_that_has_less_memory_than_its_engines_hold_keeps_nobody_from_an_engine(
    folder, memory
):
    fixture = Fixture(folder, places={"chat": ("g-0",), "code": ("g-0",)}, memory=memory)
    gpus = [{"name": "g-0", "kind": "H100-80GB", "reserve_gb": 60.0}]
    fixture.fleet = small_fleet(gpus=[*gpus, {"name": "g-1", "kind": "H100-80GB"}])
    assert fixture.watch.round() is RoundOutcome.MOVE, fixture.told
    assert {model for _, model, _ in fixture.performed} == {"tiny"}  # restarts would not help
    assert placed(fixture) == {"chat": ("g-0",), "code": ("g-0",), "tiny": ("g-1",)}
    fixture.now += 3600.0
    assert fixture.watch.round() in (RoundOutcome.STAY, RoundOutcome.MOVE)
    assert not [words for words in fixture.told if "nothing can be decided" in words]


def test_a_group_that_lost_its_gpu_is_served_again_on_one_gpu(folder):
    fleet = small_fleet(
        together=[["chat", "tiny"]], gpus=[{"name": "g", "kind": "H100-80GB", "count": 3}]
    )
    places = {"chat": ("g-2",), "tiny": ("g-2",), "code": ("g-0",)}
    fixture = Fixture(folder, fleet=fleet, places=places, memory="fixed")
    fixture.fleet = small_fleet(together=[["chat", "tiny"]])
    assert fixture.watch.round() is RoundOutcome.MOVE, fixture.told
    now = placed(fixture)
    assert now["chat"] == now["tiny"]
    assert set(now) == set(PLACES)
    assert fixture.watch.round() is RoundOutcome.STAY


def test_a_group_without_a_place_is_told_once_and_again_when_the_fleet_changes(folder):
    both = [{"name": "big", "memory_gb": 80}, {"name": "small", "memory_gb": 20}]
    both = [{**each, "kind": "H100-80GB"} for each in both]
    places = {"chat": ("big",), "code": ("big",), "tiny": ("small",)}
    fleet = small_fleet(together=[["chat", "code"]], gpus=both)
    fixture = Fixture(folder, fleet=fleet, places=places)
    fixture.fleet = small_fleet(together=[["chat", "code"]], gpus=both[1:])
    assert [fixture.watch.round() for _ in range(3)] == [RoundOutcome.STAY] * 3
    (told,) = [words for words in fixture.told if "chat and code have no engine" in words]
    assert "they must share a GPU, and need" in told
    fixture.fleet = fleet
    assert fixture.watch.round() is RoundOutcome.MOVE, fixture.told
    assert placed(fixture)["chat"] == placed(fixture)["code"] == ("big",)


def test_a_dry_run_tells_once_that_it_does_not_finish_a_change(folder, decided):
    decided.script[:] = [going, STAY]
    fixture = Fixture(folder)
    stop_after_one_step(fixture)
    fixture.watch.round()
    dry = Fixture(folder, dry=True)
    for _ in range(3):
        dry.watch.round()
    assert dry.told[0] == "not done: 4 steps of an earlier change; a dry run does none"
    assert len(dry.told) == 2
    assert len(folder.read().pending) == 4


@pytest.mark.parametrize("kills", [False, True])
def test_a_change_that_brings_a_model_that_left_the_fleet_is_given_up(folder, decided, kills):
    decided.script[:] = [going, STAY]
    fixture = Fixture(folder)
    stop_after_one_step(fixture)
    fixture.watch.round()
    if kills:
        state = folder.read()
        folder.write(state.with_begun(state.pending[0]))
    again = Fixture(folder)
    left = small_fleet().as_dict()
    left["models"] = [model for model in left["models"] if model["name"] != "code"]
    again.fleet = fleet_of(left)
    again.watch.round()
    assert again.told[0] == "a model is gone that a change needs, so the change is given up"
    assert {kind for kind, model, _ in again.performed if model == "code"} == {"drain", "unload"}
    assert placed(again) == {"chat": ("g-0",), "tiny": ("g-1",)}
    assert again.watch.round() is RoundOutcome.STAY
    assert folder.read().pending == ()
