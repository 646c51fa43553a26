"""Projects are what the specification of compose asks for, and what compose itself reads."""

import subprocess
import sysconfig
from pathlib import Path

import pytest
import yaml

from colocate.outputs.emit.catalogue import emit
from colocate.outputs.emit.settings import EmitSettings, Memory, Sharing, Target
from tests.files.compose_program import config, needs_compose
from tests.outputs.emit.golden import CASES
from tests.outputs.emit.plans import realistic_plan
from tests.outputs.emit.test_hostile import hostile_plan, served, sources
from tests.outputs.emit.test_makers import mixed

CHECK = Path(sysconfig.get_path("scripts")) / "check-jsonschema"
ELASTIC = EmitSettings(memory=Memory.KVCACHED)
PROJECTS = {
    **{
        case: (realistic_plan, settings)
        for case, (target, settings) in CASES.items()
        if target is Target.COMPOSE
    },
    "kvcached": (realistic_plan, ELASTIC),
    "sleep": (lambda: mixed("H200", may_sleep=True), EmitSettings()),
    "amd": (mixed, EmitSettings()),
    "hostile": (hostile_plan, EmitSettings(sharing=Sharing.MPS)),
}
"""Plans and settings whose projects are read: all golden ones, and kinds of their own."""


def projects(folder, case):
    plan, settings = PROJECTS[case]
    found = emit(Target.COMPOSE, *plan(), settings).files
    for file in found:
        (folder / file.name).write_text(file.text, encoding="utf-8")
    return [folder / file.name for file in found]


def checked(*paths):
    words = [CHECK, "--builtin-schema", "vendor.compose-spec", *paths]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("case", PROJECTS)
def test_projects_have_the_schema_of_the_specification(case, tmp_path):
    done = checked(*projects(tmp_path, case))
    assert done.returncode == 0, done.stdout


def test_the_schema_would_notice(tmp_path):
    path = tmp_path / "compose.yaml"
    path.write_text("services: {a: {image: b, colour: green}}\n", encoding="utf-8")
    assert checked(path).returncode == 1


@needs_compose
@pytest.mark.parametrize("case", PROJECTS)
def test_compose_understands_what_was_written(case, tmp_path):
    for path in projects(tmp_path, case):
        written = yaml.safe_load(path.read_text(encoding="utf-8"))
        found = understood(path)
        assert found["services"].keys() == written["services"].keys()
        assert found.get("volumes", {}).keys() == written.get("volumes", {}).keys()
        for name, service in written["services"].items():
            assert essence(found["services"][name]) == essence(service)


@needs_compose
def test_compose_would_notice(tmp_path):
    path = tmp_path / "compose.yaml"
    path.write_text("services: {a: {image: b, colour: green}}\n", encoding="utf-8")
    done = config(path)
    assert done.returncode != 0
    assert "colour" in done.stderr


@needs_compose
def test_compose_sees_hostile_names_as_they_are(tmp_path):
    (path,) = projects(tmp_path, "hostile")
    services = understood(path)["services"].values()
    told = [
        served([word.replace("$$", "$") for word in s["command"]])
        for s in services
        if "command" in s
    ]
    assert sorted(told) == sorted((source, name) for name, source in sources().items())


def understood(path):
    done = config(path)
    assert done.returncode == 0, done.stderr
    return yaml.safe_load(done.stdout)


def essence(service):
    """Return what decides where an engine runs, with what, and after which others."""
    deploy = service.get("deploy", {}).get("resources", {}).get("reservations", {})
    return {
        "image": service["image"],
        "words": [*(service.get("entrypoint") or ()), *(service.get("command") or ())],
        "gpus": [sorted(device["device_ids"]) for device in deploy.get("devices", ())],
        "devices": [str(device) for device in service.get("devices", ())],
        "after": {name: how["condition"] for name, how in service.get("depends_on", {}).items()},
        "ports": [(port["target"], str(port["published"])) for port in service.get("ports", ())],
        "mounts": [mount["target"] for mount in service.get("volumes", ())],
    }
