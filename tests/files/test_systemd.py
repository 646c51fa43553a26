"""systemd itself reads the units: it finds no fault, and sees the commands that were meant."""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from colocate.outputs.emit.catalogue import emit
from colocate.outputs.emit.settings import EmitSettings, Engine, Sharing, Target
from tests.files.programs import PLACES, needs, write
from tests.outputs.emit.plans import realistic_plan
from tests.outputs.emit.test_hostile import HOSTILE_ARGS, hostile_plan, served, sources

NOBODY = 65_534
CASES = [EmitSettings(), EmitSettings(engine=Engine.SGLANG), EmitSettings(sharing=Sharing.MPS)]
NAMES = ["vllm", "sglang", "mps"]


@pytest.fixture
def folder():
    """Make a folder that any user may read: systemd does not run tests as root."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        yield Path(made)


def commands(units, target):
    """Return the commands that systemd itself reads from units, by the name of the unit."""
    state = units.parent / "state"
    state.mkdir()
    state.chmod(0o777)
    as_user = ["setpriv", f"--reuid={NOBODY}", "--clear-groups"] if os.getuid() == 0 else []
    done = subprocess.run(
        [*as_user, shutil.which("systemd", path=PLACES), "--user", "--test", f"--unit={target}"],
        env={"SYSTEMD_UNIT_PATH": str(units), "XDG_RUNTIME_DIR": str(state), "HOME": str(state)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    found = {}
    for block in re.split(r"^\s*-> Unit ", done.stdout, flags=re.MULTILINE)[1:]:
        lines = re.findall(r"Command Line: (.*)", block)
        found[block.split(":")[0]] = [_words(line) for line in lines]
    return found


def _words(line):
    """Return the words of a command as an engine gets them: two dollars are one."""
    plain = re.sub(r"\\(.)", lambda match: match[1] if match[1] in "$`" else match[0], line)
    words = shlex.split(plain)
    assert not any("$" in word.replace("$$", "") for word in words), line
    return [word.replace("$$", "$") for word in words]


@needs("systemd-analyze", "systemd")
@pytest.mark.parametrize("settings", CASES, ids=NAMES)
@pytest.mark.parametrize("plan", [realistic_plan, hostile_plan])
def test_units_have_no_fault(plan, settings, folder):
    files = emit(Target.SYSTEMD, *plan(), settings).files
    units = write(folder / "units", files)
    done = subprocess.run(
        ["systemd-analyze", "verify", *sorted(units.iterdir())],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@needs("systemd-analyze", "systemd")
def test_it_would_notice(folder):
    (folder / "wrong.service").write_text("[Service]\nExecStart=relative\nColour=green\n")
    done = subprocess.run(
        ["systemd-analyze", "verify", folder / "wrong.service"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Colour" in done.stderr


@needs("systemd", "systemd")
@pytest.mark.parametrize("engine", Engine)
def test_hostile_names_reach_engines_as_they_are(engine, folder):
    files = emit(Target.SYSTEMD, *hostile_plan(), EmitSettings(engine=engine)).files
    found = commands(write(folder / "units", files), "colocate.target")
    started = ["vllm", "serve"] if engine is Engine.VLLM else ["-m", "sglang.launch_server"]
    told = {}
    for unit, lines in found.items():
        for words in lines:
            if any(word.startswith("--served-model-name=") for word in words):
                told[unit] = words[words.index(started[1]) + 1 :]
    assert sorted(map(served, told.values())) == sorted(
        (source, name) for name, source in sources().items()
    )
    assert [words[1:4] for words in told.values() if "--port=8000" in words] == [HOSTILE_ARGS]


@needs("systemd", "systemd")
def test_a_target_starts_the_engines_of_its_machine(folder):
    files = emit(Target.SYSTEMD, *realistic_plan(), EmitSettings(sharing=Sharing.MPS)).files
    found = commands(write(folder / "units", files), "colocate-beta.target")
    assert {unit for unit in found if unit.startswith("colocate-")} >= {
        "colocate-beta.target",
        "colocate-canary.service",
        "colocate-embedder.service",
        "colocate-llama-3-1-8b-3.service",
        "colocate-mps-beta.gpu-1.service",
    }
    assert "colocate-llama-3-1-70b.service" not in found
    health = found["colocate-canary.service"][-1]
    assert health[-1] == "http://127.0.0.1:8006/health"
    assert 'kill -0 "$MAINPID"' in health[3]
