"""docker compose, as a plugin or a program of its own, to read projects without an engine."""

import shutil
import subprocess
from functools import cache

import pytest
import yaml

WHOLE_SPECIFICATION = 2
"""The version of compose that reads all of the specification."""


@cache
def program():
    """Return the words that call compose: the plugin if there is one, else the program."""
    known = (["docker", "compose"], ["docker-compose"])
    return next((words for words in known if shutil.which(words[0]) and _runs(words)), None)


def needs_compose(test):
    """Leave a test out, aloud, where compose is not installed."""
    reason = "left out: docker compose is not installed (apt-get install docker-compose)"
    return pytest.mark.skipif(program() is None, reason=reason)(test)


def config(path):
    """Ask compose to read a project and to print it; the return code says if it could."""
    shown = path
    if _version() < WHOLE_SPECIFICATION:
        shown = path.with_name("for-version-1.yaml")
        shown.write_text(yaml.safe_dump(_for_version_1(path)), encoding="utf-8")
    return _run([*program(), "--file", shown, "config"])


def _for_version_1(path):
    """Return a project without the three fields of the specification that version 1 refuses.

    The schema of the specification alone judges these.
    """
    project = yaml.safe_load(path.read_text(encoding="utf-8"))
    project.pop("name", None)
    for service in project["services"].values():
        service.get("healthcheck", {}).pop("start_interval", None)
        for port in service.get("ports", []):
            port.pop("host_ip", None)
    return project


def _version():
    said = _run([*program(), "version", "--short"]).stdout
    return int(said.strip().removeprefix("v").partition(".")[0])


def _runs(words):
    return _run([*words, "version"]).returncode == 0


def _run(words):
    return subprocess.run(words, capture_output=True, text=True, check=False)
