"""Scripts of steps are run with stand-ins for every command: what runs is right at each moment."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from colocate.outputs.emit.settings import Sharing, Target
from colocate.outputs.replan.commands import steps_files
from colocate.outputs.replan.step_writers import WRITERS
from colocate.replan.steps.step import StepKind
from tests.outputs.replan.written_steps import (
    DRAIN_FIRST,
    LOAD_FIRST,
    MUCH,
    way,
    write_steps,
)

CHANGES = {"much": MUCH, "load": LOAD_FIRST, "drain": DRAIN_FIRST}
PRINT = """
from colocate.outputs.replan.commands import steps_files
from colocate.outputs.replan.step_writers import WRITERS
from tests.outputs.replan.written_steps import way
for target in WRITERS:
    found = steps_files(target, *way())
    print(found.files, found.engines, found.beside)
"""


@pytest.fixture(params=list(WRITERS), ids=lambda target: target.value)
def target(request):
    return request.param


@pytest.fixture
def written(target, tmp_path):
    return write_steps(target, tmp_path / "steps", tmp_path / "fake")


@pytest.mark.parametrize("name", CHANGES)
def test_a_script_ends_where_the_plan_says(target, name, tmp_path):
    written = write_steps(target, tmp_path / "steps", tmp_path / "fake", CHANGES[name])
    first = written.steps.steps[0].kind
    assert name == "much" or first.value == name
    done = written.run()
    assert done.returncode == 0, done.stderr
    assert written.running == {launch.name for launch in written.after}
    written.check()
    calls = written.lines("calls")
    told = [line for line in done.stdout.splitlines() if line.startswith("step ")]
    assert len(told) == len(written.names) >= len(written.steps.steps)
    assert written.run().returncode == 0
    repeated = [call for call in written.lines("calls")[len(calls) :] if "test" not in call]
    assert not repeated  # all steps are done


@pytest.mark.parametrize("name", CHANGES)
def test_no_two_steps_have_one_name(target, name, tmp_path):
    written = write_steps(target, tmp_path / "steps", tmp_path / "fake", CHANGES[name])
    assert len(set(written.names)) == len(written.names)
    assert {str(step.number) for step in written.steps.steps} <= set(written.names)


def test_every_drained_engine_is_asked_for_its_requests(written):
    assert written.run().returncode == 0
    places = {(la.model, la.gpus): la.name for la in written.before}
    drains = [step.engine for step in written.steps.steps if step.kind is StepKind.DRAIN]
    assert written.lines("polls") == [places[each.model, each.gpus] for each in drains]


def test_a_step_that_fails_ends_the_script_and_is_done_at_the_next_start(written):
    engine = next(la for la in written.after if la.model == "c")
    starts = (
        f"start {engine.name}",
        f"--no-deps {engine.name}",
        f"name={engine.name}",
        f"new-{engine.name}.yaml",
    )
    text = (written.folder / "steps.sh").read_text()
    unit = f"--no-block colocate-{engine.name}"
    fail = next((each for each in starts if each in text), unit)
    broken = written.run(FAIL=fail)
    assert broken.returncode == 1, broken.stdout
    assert "failed: load c on g2" in broken.stderr
    assert "to take it back: " in broken.stderr
    assert engine.name not in written.running
    assert written.run().returncode == 0
    assert written.running == {launch.name for launch in written.after}
    written.check()


def test_a_gateway_that_fails_stops_the_script(written):
    broken = written.run(SWITCH="false")
    assert broken.returncode == 1
    assert "failed: " in broken.stderr
    written.check()


def test_engines_that_move_get_names_and_ports_of_their_own(written):
    old = {(la.model, la.gpus): (la.name, la.port) for la in written.before}
    new = {(la.model, la.gpus): (la.name, la.port) for la in written.after}
    assert old["b", ("g0",)] == new["b", ("g0",)]
    moved = set(new) - set(old)
    names = [name for name, _ in (*old.values(), *(new[each] for each in moved))]
    ports = [port for _, port in (*old.values(), *(new[each] for each in moved))]
    assert len(set(names)) == len(names)
    assert len(set(ports)) == len(ports)


def test_scripts_are_clean(written):
    command = [str(Path(sys.executable).parent / "shellcheck"), str(written.folder / "steps.sh")]
    checked = subprocess.run(command, check=False, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def test_scripts_do_not_depend_on_the_order_of_sets():
    def printed(seed):
        command, env = [sys.executable, "-c", PRINT], {**os.environ, "PYTHONHASHSEED": seed}
        root = Path(__file__).parents[3]
        return subprocess.run(command, env=env, cwd=root, capture_output=True, check=True).stdout

    assert len({printed(seed) for seed in "0123"}) == 1


@pytest.mark.parametrize(
    ("target", "sharing"),
    [(Target.RAY, None), *((target, Sharing.MPS) for target in (Target.COMPOSE, Target.SYSTEMD))],
)
def test_targets_without_single_engines_say_why(target, sharing):
    steps, old, new = way(**({"sharing": sharing.value} if sharing else {}))
    found = steps_files(target, steps, old, new)
    assert [file.name for file in found.files] == ["steps.txt"]
    assert "no commands: " in found.files[0].text
    assert found.reason in found.files[0].text


def test_engines_that_stay_outside_mps_are_named():
    alone = {"a": ("g0",), "b": ("g1",)}, {"a": ("g0",), "b": ("g0",)}
    steps, old, new = way(alone, sharing="mps")
    (note,) = [each for each in steps_files(Target.VLLM, steps, old, new).notes if "MPS" in each]
    assert note.startswith("started with GPUs of their own, so without MPS: a; neighbours")
    steps, old, new = way(alone)
    assert not any("MPS" in each for each in steps_files(Target.VLLM, steps, old, new).notes)


@pytest.mark.parametrize("target", [Target.SYSTEMD, Target.KUBERNETES, Target.KVCACHED])
def test_it_goes_on_if_it_was_killed_after_an_engine_ended_and_before_that_was_noted(
    target, tmp_path
):
    written = write_steps(target, tmp_path / "steps", tmp_path / "fake", LOAD_FIRST)
    assert written.run().returncode == 0
    unloads = [step.number for step in written.steps.steps if step.kind.value == "unload"]
    notes = written.folder / "steps.done"
    left = [line for line in notes.read_text().splitlines() if line != str(unloads[-1])]
    notes.write_text("".join(f"{line}\n" for line in left))
    again = written.run()
    assert again.returncode == 0, again.stderr
    assert str(unloads[-1]) in notes.read_text().splitlines()
    assert written.running == {launch.name for launch in written.after}
