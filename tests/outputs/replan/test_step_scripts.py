"""Scripts of steps are run with stand-ins for every command: what runs is right at each moment."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from colocate.outputs.emit.catalogue import emit
from colocate.outputs.emit.emission import write_files
from colocate.outputs.emit.gateway.endpoints import engines_of
from colocate.outputs.emit.settings import Sharing, Target
from colocate.outputs.replan.commands import steps_files
from colocate.outputs.replan.step_writers import SINGLE, WRITERS
from colocate.replan.steps.safe_steps import safe_steps
from colocate.replan.transition import change_between
from tests.outputs.made_plans import fleet_from, plan_of

FAKE = Path(__file__).parent / "fake_commands.sh"
COMMANDS = ("docker", "systemctl", "kubectl", "tmux", "python", "curl", "ssh")
OLD = {"a": ["g0"], "b": ["g0"], "c": ["g1"], "goes": ["g2"]}
NEW = {"a": ["g1"], "b": ["g0"], "c": ["g2"], "comes": ["g0"]}
SIZES = {"a": 50.0, "b": 20.0, "c": 45.0, "goes": 30.0, "comes": 30.0}


def fleet_with(names, **fields):
    models = [{"name": name, "size_gb": SIZES[name], "load": 1} for name in names]
    gpus = [{"name": f"g{n}", "memory_gb": 80} for n in range(3)]
    return fleet_from(gpus, models, **fields)


def way(**fields):
    old, new = fleet_with(OLD, **fields), fleet_with(NEW, **fields)
    steps = safe_steps(change_between((old.problem, OLD), (new.problem, NEW), "elastic"))
    return steps, (plan_of(old, OLD), old), (plan_of(new, NEW), new)


@pytest.fixture(params=list(WRITERS), ids=lambda target: target.value)
def written(request, tmp_path):
    """All files of a change in a folder, and the stand-ins with what they know."""
    target = request.param
    steps, old, new = way()
    found = steps_files(target, steps, old, new)
    assert not found.reason
    folder, fake = tmp_path / "steps", tmp_path / "fake"
    write_files(folder, found.files)
    write_files(folder / SINGLE, found.engines)
    emit(target, *old).write(folder / "old")
    emit(target, *new, found.settings).write(folder / "new")
    (fake / "run").mkdir(parents=True)
    (fake / "bin").mkdir()
    for name in COMMANDS:
        shutil.copy(FAKE, fake / "bin" / name)
    for script in folder.glob("*/*.sh"):
        shutil.copy(FAKE, script)
    before = engines_of(target, *old, found.settings).launches
    after = engines_of(target, *new, found.settings).launches
    lines = {f"{launch.name} {launch.port}" for launch in (*before, *after)}
    (fake / "ports").write_text("\n".join(lines) + "\n")
    (fake / "states").touch()
    units = tmp_path / "units"
    units.mkdir()
    for launch in before:
        (fake / "run" / launch.name).touch()
        (units / f"colocate-{launch.name}.service").touch()
    return SimpleNamespace(
        folder=folder, fake=fake, units=units, steps=steps, before=before, after=after
    )


def run(written, **variables):
    path = f"{written.fake / 'bin'}:{os.environ['PATH']}"
    known = {"FAKE": str(written.fake), "UNITS": str(written.units), "DRAIN_SECONDS": "3"}
    return subprocess.run(
        ["bash", str(written.folder / "steps.sh")],
        env={**os.environ, "PATH": path, **known, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def running(written):
    return {path.name for path in (written.fake / "run").iterdir()}


def states(written):
    """Return the models and GPUs of all engines that ran after each command."""
    known = {launch.name: launch for launch in (*written.before, *written.after)}
    for line in (written.fake / "states").read_text().splitlines():
        yield [known[name] for name in line.split()]


def check_states(written):
    for state in states(written):
        for gpu in ("g0", "g1", "g2"):
            assert sum(SIZES[la.model] for la in state if la.gpus == (gpu,)) <= 80.0
        assert {"a", "b", "c"} <= {launch.model for launch in state}
    assert not (written.fake / "faults").exists()


def test_a_script_ends_where_the_plan_says(written):
    done = run(written)
    assert done.returncode == 0, done.stderr
    assert running(written) == {launch.name for launch in written.after}
    check_states(written)
    calls = (written.fake / "calls").read_text()
    assert run(written).returncode == 0
    assert (written.fake / "calls").read_text() == calls  # all steps are done


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
    broken = run(written, FAIL=fail)
    assert broken.returncode == 1, broken.stdout
    assert "failed: load c on g2" in broken.stderr
    assert "to take it back: " in broken.stderr
    assert engine.name not in running(written)
    assert run(written).returncode == 0
    assert running(written) == {launch.name for launch in written.after}
    check_states(written)


def test_a_gateway_that_fails_stops_the_script(written):
    broken = run(written, SWITCH="false")
    assert broken.returncode == 1
    assert "failed: " in broken.stderr
    check_states(written)


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
