"""Steps can be taken back, one by one and the last one first."""

import re

import pytest

from colocate.outputs.emit.settings import Target
from colocate.outputs.replan.commands import steps_files
from colocate.outputs.replan.step_writers import WRITERS
from colocate.replan.steps.safe_steps import safe_steps
from colocate.replan.transition import change_between
from tests.outputs.made_plans import fleet_from, plan_of
from tests.outputs.replan.written_steps import LOAD_FIRST, write_steps


@pytest.fixture(params=list(WRITERS), ids=lambda target: target.value)
def written(request, tmp_path):
    return write_steps(request.param, tmp_path / "steps", tmp_path / "fake")


def undone_as_told(written, broken):
    """Run the very command that a script told."""
    told = re.search("to take it back: (.*)", broken.stderr).group(1)
    return written.bash(["bash", "-c", told])


def test_taking_all_steps_back_restores_everything(written):
    old = written.world
    assert written.run().returncode == 0
    new = written.world
    assert new != old
    for name in reversed(written.names):
        back = written.run("undo", name)
        assert back.returncode == 0, back.stderr
    assert written.world == old
    assert not (written.folder / "steps.done").read_text()
    assert written.run().returncode == 0
    assert written.world == new
    written.check()


@pytest.mark.parametrize("verb", ["open", "close"])
def test_the_command_that_is_told_takes_back_a_switch_and_a_drain(written, verb):
    seen = []
    kind = {"open": "switch", "close": "drain"}[verb]
    first = next(step for step in written.steps.steps if step.kind.value == kind)
    for name in written.names:
        if name == str(first.number):
            break
        seen.append(name)
    broken = written.run(FAIL=f"gateway {verb}")
    assert broken.returncode == 1
    assert f"step {first.number} failed: {kind} " in broken.stderr
    assert undone_as_told(written, broken).returncode == 0
    done = written.lines("../steps/steps.done")
    assert [line for line in done if not line.startswith("begun")] == seen
    assert written.run().returncode == 0
    assert written.running == {launch.name for launch in written.after}


def test_the_router_of_kvcached_gets_back_the_list_that_it_had(tmp_path):
    written = write_steps(Target.KVCACHED, tmp_path / "steps", tmp_path / "fake", LOAD_FIRST)
    assert written.world[2] == ["a", "b"]
    assert written.run(FAIL="gateway close b http://localhost:8002").returncode == 1
    assert written.world[2] == ["a", "b", "b-2"]
    assert written.run("undo", "3").returncode == 0
    assert written.run("undo", "2").returncode == 0
    assert written.world[2] == ["a", "b"]
    assert written.running == {"a", "b", "b-2"}


def test_steps_are_taken_back_in_order(written):
    assert written.run("undo", written.names[0]).returncode == 2  # it has not begun
    assert written.run().returncode == 0
    old = written.world
    early = written.run("undo", written.names[1])
    assert early.returncode == 2
    assert "take it back first" in early.stderr
    assert "no step none" in written.run("undo", "none").stderr
    assert written.run("back", "1").returncode == 2
    assert written.world == old


def test_a_wait_that_fails_names_the_step_before_it(tmp_path):
    written = write_steps(Target.COMPOSE, tmp_path / "steps", tmp_path / "fake", LOAD_FIRST)
    broken = written.run(READY_SECONDS=1, FAIL="/health")
    assert "step 1 failed: wait b on g1" in broken.stderr
    assert "to take back the step before it: " in broken.stderr
    assert broken.stderr.strip().endswith("undo 0")
    assert written.run("undo", "0").returncode == 0
    assert written.running == {"a", "b"}


def test_notes_survive_a_disk_that_is_full_while_a_step_is_taken_back(tmp_path):
    written = write_steps(Target.COMPOSE, tmp_path / "steps", tmp_path / "fake", LOAD_FIRST)
    assert written.run().returncode == 0
    notes = (written.folder / "steps.done").read_text()
    script = written.folder / "steps.sh"
    full = script.read_text().replace('> "$DONE.left"', "> /dev/full")
    script.write_text(full)
    assert written.run("undo", written.names[-1]).returncode != 0
    assert (written.folder / "steps.done").read_text() == notes


def test_a_pod_of_a_model_that_left_gets_back_the_label_of_its_model():
    models = [
        {"name": "stays", "size_gb": 20.0, "load": 1},
        {"name": "goes", "size_gb": 20.0, "load": 1, "replicas": 2},
    ]
    gpus = [{"name": f"g{n}", "memory_gb": 80} for n in range(3)]
    old, new = fleet_from(gpus, models), fleet_from(gpus, models[:1])
    before, after = {"stays": ["g0"], "goes": ["g1", "g2"]}, {"stays": ["g0"]}
    steps = safe_steps(change_between((old.problem, before), (new.problem, after), "elastic"))
    plans = (plan_of(old, before), old), (plan_of(new, after), new)
    script = steps_files(Target.KUBERNETES, steps, *plans).files[0].text
    joined = re.findall(r"pod_joined \S+ \S+ (\S+) \S+ ([^\s']+)", script)
    assert ("goes-2", "goes") in joined
