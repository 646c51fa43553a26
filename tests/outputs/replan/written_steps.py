"""Scripts of steps in a folder, with stand-ins for every command that they call."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import yaml

from colocate.outputs.emit.catalogue import emit
from colocate.outputs.emit.emission import write_files
from colocate.outputs.emit.gateway.endpoints import engines_of
from colocate.outputs.emit.settings import Target
from colocate.outputs.replan.commands import steps_files
from colocate.outputs.replan.step_writers import SINGLE
from colocate.replan.steps.safe_steps import SafeSteps, safe_steps
from colocate.replan.transition import change_between
from tests.outputs.made_plans import fleet_from, plan_of

FAKE = Path(__file__).parent / "fake_commands.sh"
COMMANDS = ("docker", "systemctl", "kubectl", "tmux", "python", "curl", "ssh", "gateway")
SIZES = {"a": 50.0, "b": 20.0, "c": 45.0, "goes": 30.0, "comes": 30.0}
MUCH = (
    {"a": ["g0"], "b": ["g0"], "c": ["g1"], "goes": ["g2"]},
    {"a": ["g1"], "b": ["g0"], "c": ["g2"], "comes": ["g0"]},
)
LOAD_FIRST = ({"a": ["g0"], "b": ["g0"]}, {"a": ["g0"], "b": ["g1"]})
DRAIN_FIRST = ({"a": ["g0"], "goes": ["g1"]}, {"a": ["g0"]})


def fleet_with(names, node="", **fields):
    models = [{"name": name, "size_gb": SIZES[name], "load": 1} for name in names]
    placed = {"node": node} if node else {}
    gpus = [{"name": f"g{n}", "memory_gb": 80, **placed} for n in range(3)]
    return fleet_from(gpus, models, **fields)


def way(change=MUCH, **fields):
    """Return the steps of a change, and both plans with their fleets."""
    olds, news = change
    old, new = fleet_with(olds, **fields), fleet_with(news, **fields)
    steps = safe_steps(change_between((old.problem, olds), (new.problem, news), "elastic"))
    return steps, (plan_of(old, olds), old), (plan_of(new, news), new)


@dataclass
class WrittenSteps:
    """A script with all that it needs, and the state of the stand-ins."""

    folder: Path
    fake: Path
    units: Path
    logs: Path
    steps: SafeSteps
    before: tuple
    after: tuple
    old: Path

    def run(self, *arguments, **variables):
        """Start the script."""
        return self.bash(["bash", str(self.folder / "steps.sh"), *arguments], **variables)

    def bash(self, command, **variables):
        """Run a command as a user of the script would."""
        known = {
            "PATH": f"{self.fake / 'bin'}:{os.environ['PATH']}",
            "FAKE": self.fake, "UNITS": self.units, "LOGS": self.logs, "OLD": self.old,
            "CONTROLLER": self.fake / "controller", "DRAIN_SECONDS": 3, "SWITCH": "gateway",
        }  # fmt: skip
        texts = {name: str(value) for name, value in {**known, **variables}.items()}
        return subprocess.run(
            command,
            env={**os.environ, **texts},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    @property
    def names(self):
        """The names of all steps, in order."""
        text = (self.folder / "steps.sh").read_text()
        return re.findall(r"^step (\S+)", text, re.MULTILINE)

    @property
    def running(self):
        return {path.name for path in (self.fake / "run").iterdir()}

    @property
    def world(self):
        """All that a script changes: what runs, where requests go, and the router's engines."""
        routes = yaml.safe_load((self.fake / "router").read_text())["instances"]
        served = {path.name for path in (self.fake / "open").iterdir()}
        return self.running, served, [each["name"] for each in routes]

    def lines(self, name):
        """Return what the stand-ins noted."""
        file = self.fake / name
        return file.read_text().splitlines() if file.exists() else []

    def check(self):
        """At every moment GPUs held what was on them, and models that stay were served."""
        known = {launch.name: launch for launch in (*self.before, *self.after)}
        stays = {la.model for la in self.before} & {la.model for la in self.after}
        for line in self.lines("states"):
            state = [known[name] for name in line.split()]
            for gpu in ("g0", "g1", "g2"):
                assert sum(SIZES[la.model] for la in state if la.gpus == (gpu,)) <= 80.0
            assert stays <= {launch.model for launch in state}
        assert not self.lines("faults")


def write_steps(target, folder, fake, change=MUCH, running=None, old=None, **fields):
    """Write a script to a folder.

    Parameters
    ----------
    target, change
        What the script is for, and both placements.
    folder, fake
        Where the script goes, and the folder of the stand-ins, which may be in use already.
    running, old
        The engines that run and the folder of their files; None if `emit` names them.
    fields
        Of the fleets.
    """
    steps, before, after = way(change, **fields)
    found = steps_files(target, steps, before, after, running)
    assert not found.reason
    write_files(folder, found.files)
    write_files(folder / SINGLE, found.engines)
    if old is None:
        old = folder / "old"
        emit(target, *before).write(old)
    emit(target, *after, found.settings).write(folder / "new")
    write_files(folder / "new", found.beside)
    for script in folder.glob("*/*.sh"):
        shutil.copy(FAKE, script)
    launches = engines_of(target, *before, found.settings).launches
    then = engines_of(target, *after, found.settings).launches
    written = WrittenSteps(folder, fake, fake / "units", fake / "logs", steps, launches, then, old)
    if not fake.exists():
        _set_up(target, written)
    with (fake / "ports").open("a") as ports:
        known = set((fake / "ports").read_text().splitlines())
        lines = {f"{launch.name} {launch.port}" for launch in (*launches, *then)} - known
        ports.writelines(f"{line}\n" for line in lines)
    return written


def _set_up(target, written):
    """Make stand-ins, and let the old engines run."""
    fake = written.fake
    for name in ("run", "open", "bin", "units", "logs", "home", "controller"):
        (fake / name).mkdir(parents=True)
    for name in COMMANDS:
        shutil.copy(FAKE, fake / "bin" / name)
    (fake / "bin" / "sleep").symlink_to("/bin/true")
    for name in ("launch.py", "frontend.py"):
        (fake / "controller" / name).touch()
    (fake / "ports").touch()
    instances = [{"name": launch.name} for launch in written.before]
    (fake / "router").write_text(yaml.safe_dump({"instances": instances}))
    for launch in written.before:
        (fake / "run" / launch.name).touch()
        (fake / "units" / f"colocate-{launch.name}.service").touch()
        (fake / "logs" / f"{launch.name}.pid").touch()
        host = {Target.KUBERNETES: launch.name, Target.KVCACHED: f"localhost:{launch.port}"}
        seen = host.get(target, f"{launch.node or '127.0.0.1'}:{launch.port}")
        (fake / "open" / f"http:__{seen}").touch()
