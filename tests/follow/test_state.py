import copy
import json
import multiprocessing
import os
import signal
from dataclasses import replace
from time import sleep

import pytest

from colocate import InputError
from colocate.errors import OutputError
from colocate.follow.engine_records import Condition, EngineRecord
from colocate.follow.state import REMEMBERED_SECONDS, WatchState
from colocate.follow.state_folder import StateFolder
from colocate.replan.placed_engine import PlacedEngine
from colocate.replan.policy.history import EngineMove
from colocate.replan.steps.step import EngineStep, StepKind

ALPHA = PlacedEngine("alpha", ("g0",), 40.0, 16.0, 20.0)
BETA = PlacedEngine("beta", ("g1", "g2"), 30.0, 50.0, 5.0)
LOAD = EngineStep(0, StepKind.LOAD, BETA)
SWITCH = EngineStep(1, StepKind.SWITCH, BETA, (0,), (0,), 3.0, 1.0)
STATE = WatchState(
    (EngineRecord(ALPHA), EngineRecord(BETA, Condition.IDLE)),
    (LOAD, SWITCH),
    frozenset({0}),
    (EngineMove("alpha", ("g0",), 12.5, True),),
    {"rounds_stay": 4.0},
    ("g0", "g1", "g2"),
)


def test_it_survives_its_file(tmp_path):
    with StateFolder(tmp_path / "new" / "state") as folder:
        assert folder.read() is None
        folder.write(STATE)
        assert folder.read() == STATE
        folder.write(WatchState())
        assert folder.read() == WatchState()


def test_steps_that_end_change_engines_moves_and_counts():
    later = STATE.with_begun(SWITCH).with_ended(LOAD, True, 100.0).with_ended(SWITCH, True, 101.0)
    assert later.pending == ()
    assert later.begun == frozenset()
    assert EngineRecord(BETA) in later.engines
    assert later.moves == (*STATE.moves, EngineMove("beta", ("g1", "g2"), 101.0, True))
    assert later.counts == {"rounds_stay": 4.0, "steps_done": 2.0}


def test_a_failed_step_is_no_move_but_is_remembered_with_its_place():
    later = STATE.with_ended(SWITCH, False, 100.0)
    failed = EngineMove("beta", ("g1", "g2"), 100.0, False, failed=True, needed=True)
    assert later.moves == (*STATE.moves, failed)
    other = EngineRecord(PlacedEngine("beta", ("g3", "g4"), 30.0, 50.0, 5.0))
    served = replace(STATE, engines=(*STATE.engines, other)).with_ended(SWITCH, False, 100.0)
    assert served.moves == (*STATE.moves, failed._replace(needed=False))
    assert later.counts["steps_failed"] == 1.0
    assert WatchState.from_dict(later.as_dict()) == later
    assert STATE.with_ended(SWITCH, None, 100.0).moves == STATE.moves
    unload = EngineStep(0, StepKind.UNLOAD, ALPHA)
    assert STATE.with_ended(unload, False, 100.0).moves == STATE.moves


def test_a_state_of_a_time_before_failures_were_remembered_is_read():
    data = STATE.as_dict()
    for move in data["moves"]:
        del move["failed"], move["needed"]
    assert WatchState.from_dict(data) == STATE


def test_after_a_failure_only_steps_that_run_are_left():
    other = EngineStep(2, StepKind.UNLOAD, ALPHA)
    both = replace(STATE, pending=(LOAD, SWITCH, other), begun=frozenset({0, 2}))
    later = both.with_ended(LOAD, False, 100.0)
    assert (later.pending, later.begun) == ((other,), frozenset({2}))
    assert later.with_ended(other, True, 101.0).pending == ()


def test_a_change_that_needs_a_gpu_which_is_gone_is_given_up():
    assert STATE.with_gpus(("g0", "g1", "g2")) == STATE
    left = replace(STATE, engines=(EngineRecord(ALPHA),)).with_gpus(("g0", "g1"))
    assert (left.pending, left.begun) == ((), frozenset())
    assert left.engines == (EngineRecord(ALPHA), EngineRecord(BETA, Condition.DOUBTFUL))
    assert STATE.with_gpus(("g0",)).engines == (EngineRecord(ALPHA),)


def test_a_state_is_of_a_fleet_that_has_some_of_its_models_and_gpus():
    assert STATE.is_of({"alpha", "gamma"}, {"g2", "g9"})
    assert not STATE.is_of({"gamma"}, {"g2"})
    assert not STATE.is_of({"alpha"}, {"g9"})
    assert WatchState().is_of({"alpha"}, {"g9"})


def test_a_clock_that_was_set_back_holds_no_move_in_the_future():
    assert STATE.seen_at(12.5) is STATE
    assert STATE.seen_at(5.0).moves == (EngineMove("alpha", ("g0",), 5.0, True),)


def test_old_moves_are_forgotten():
    later = STATE.with_ended(LOAD, True, 13.0 + REMEMBERED_SECONDS)
    assert later.moves == ()


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (("version",), 2, "version=2, must be 1"),
        (("engines",), None, "engines=None, must be a list"),
        (("engines", 0, "condition"), "odd", "engines[0]['condition']='odd', must be serving or"),
        (("engines", 0, "held_gb"), "9", "engines[0]['held_gb']='9', must be a finite number >= 0"),
        (("engines", 1, "gpus"), "g1", "engines[1]['gpus']='g1', must be a list"),
        (
            ("engines", 1),
            {**ALPHA.as_dict(), "condition": "asleep"},
            "engines[1]['gpus']=['g0'], must be GPUs without such an engine",
        ),
        (("pending", 0, "kind"), "jump", "pending[0]['kind']='jump', must be load or"),
        (("pending", 0, "number"), True, "pending[0]['number']=True, must be a whole number"),
        (("pending", 1, "after"), [0.5], "pending[1]['after']=[0.5], must be a list of whole"),
        (("begun",), [7], "7 is no pending step"),
        (("moves", 0, "arrived"), 1, "moves[0]['arrived']=1, must be true or false"),
        (("moves", 0, "when"), float("nan"), "moves[0]['when']=nan"),
        (("moves", 0, "failed"), "no", "moves[0]['failed']='no', must be true or false"),
        (("moves", 0, "needed"), 1, "moves[0]['needed']=1, must be true or false"),
        (("counts",), [], "counts=[], must be numbers by their names"),
        (("counts", "rounds_stay"), -1, "rounds_stay=-1"),
    ],
)
def test_what_is_no_state_is_told_with_its_place(path, value, told):
    data = copy.deepcopy(STATE.as_dict())
    at = data
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = value
    with pytest.raises(InputError) as caught:
        WatchState.from_dict(data)
    assert told in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000])
def test_a_broken_file_is_named(tmp_path, text):
    with StateFolder(tmp_path) as folder:
        (tmp_path / "state.json").write_text(text)
        with pytest.raises(InputError, match=r"state\.json"):
            folder.read()


def test_one_process_owns_a_folder(tmp_path):
    with StateFolder(tmp_path), pytest.raises(InputError, match="in use by another"):
        StateFolder(tmp_path)
    with StateFolder(tmp_path):
        pass


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be used"):
        StateFolder(tmp_path / "file" / "folder")


def write_for_ever(path):
    with StateFolder(path) as folder:
        state = STATE
        while True:
            state = replace(state, counts={"n": state.counts.get("n", 0.0) + 1, "pad": 1e9})
            folder.write(state)


@pytest.mark.parametrize("milliseconds", [30, 60, 90, 120, 150])
def test_a_killed_process_leaves_a_whole_state_and_a_free_folder(tmp_path, milliseconds):
    process = multiprocessing.get_context("fork").Process(target=write_for_ever, args=(tmp_path,))
    process.start()
    while not (tmp_path / "state.json").exists():
        sleep(0.005)
    sleep(milliseconds / 1000)
    os.kill(process.pid, signal.SIGKILL)
    process.join(10)
    with StateFolder(tmp_path) as folder:
        found = folder.read()
    assert found.engines == STATE.engines
    assert json.loads((tmp_path / "state.json").read_text())["counts"]["n"] >= 1
