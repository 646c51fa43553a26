"""Projects are what the specification of compose asks for, and what compose itself reads."""

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
import yaml

from colocate.outputs.emit.catalogue import emit
from colocate.outputs.emit.settings import EmitSettings, Sharing, Target
from tests.outputs.emit.plans import DATA
from tests.outputs.emit.test_golden import CASES
from tests.outputs.emit.test_hostile import hostile_plan, served, sources

CHECK = Path(sysconfig.get_path("scripts")) / "check-jsonschema"
FILES = sorted(
    path for case in CASES if "compose" in case for path in (DATA / case).glob("compose*.yaml")
)


def has_compose():
    if not shutil.which("docker"):
        return False
    asked = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    return asked.returncode == 0


with_compose = pytest.mark.skipif(
    not has_compose(), reason="left out: docker compose is not installed (version 2 or newer)"
)


def hostile(folder):
    (file,) = emit(Target.COMPOSE, *hostile_plan(), EmitSettings(sharing=Sharing.MPS)).files
    path = folder / "compose.yaml"
    path.write_text(file.text, encoding="utf-8")
    return path


def checked(*paths):
    words = [CHECK, "--builtin-schema", "vendor.compose-spec", *paths]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_projects_have_the_schema_of_the_specification(tmp_path):
    done = checked(*FILES, hostile(tmp_path))
    assert done.returncode == 0, done.stdout


def test_the_schema_would_notice(tmp_path):
    path = tmp_path / "compose.yaml"
    path.write_text("services: {a: {image: b, colour: green}}\n", encoding="utf-8")
    assert checked(path).returncode == 1


@with_compose
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_compose_reads_projects(path):
    subprocess.run(["docker", "compose", "--file", path, "config", "--quiet"], check=True)


@with_compose
def test_compose_sees_hostile_names_as_they_are(tmp_path):
    words = ["docker", "compose", "--file", hostile(tmp_path), "config"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    services = yaml.safe_load(done.stdout)["services"].values()
    told = [
        served([word.replace("$$", "$") for word in s["command"]])
        for s in services
        if "command" in s
    ]
    assert sorted(told) == sorted((source, name) for name, source in sources().items())
