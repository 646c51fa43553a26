"""The docs are true: commands, fleet files and programs in them are run as they stand."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest

from colocate import solve
from colocate.arena.tasks.start import start_program
from colocate.inputs.fleet import parse_fleet
from colocate.inputs.huggingface import ConfigLookup
from colocate.inputs.spec import fleet_schema
from colocate.inputs.yaml_text import parse_yaml

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
"""Where fleet files in the docs look for configs."""

LEFT_OUT = {
    "make": "is what runs the tests, or is run by them",
    "colocate lab run --proposer openai": "needs a model server; tests/lab/test_openai.py has one",
    "colocate calibrate http": "needs a model server; tests/inputs/calibration has one",
    "colocate calibrate --prometheus": "needs a Prometheus server; so do the tests there",
    "colocate observe http": "needs a server; make test-prometheus has one",
    "colocate watch": "needs a Prometheus server; make test-prometheus has one",
    "colocate calibrate --metrics http": "needs an engine; so do the tests there",
}
SHORTER = {"--generations 60": "--generations 2", "colocate lab show 17": "colocate lab show 1"}
EXIT_CODES = {"colocate plan examples/crowded.yaml": 4}


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def commands(page):
    """The commands of a page, without what is printed and said about them."""
    text = "".join(blocks(page, "console")).replace("\\\n", " ")
    lines = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
    return [re.sub(r"\s+# .*", "", line).replace(".venv/bin/", "") for line in lines]


def with_commands():
    return [page for page in PAGES if commands(page)]


def scratch(folder, page):
    """Lay out a folder as the reader of a page has it: a clone, and files of the reader's own."""
    for name in ("examples", "tests"):
        (folder / name).symlink_to(ROOT / name)
    for text in blocks(page, "yaml")[:1]:
        (folder / "fleet.yaml").write_text(text, encoding="utf-8")
    (folder / "program.py").write_text(start_program(), encoding="utf-8")
    for generation in range(2):
        (folder / "run" / f"gen_{generation}").mkdir(parents=True)
        shutil.copy(folder / "program.py", folder / "run" / f"gen_{generation}" / "main.py")


@pytest.mark.long
@pytest.mark.parametrize("page", with_commands(), ids=lambda page: page.name)
def test_every_command_in_the_docs_runs(page, tmp_path):
    scratch(tmp_path, page)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for command in commands(page):
        if any(command.startswith(start) for start in LEFT_OUT):
            continue
        shorter = command
        for long, short in SHORTER.items():
            shorter = shorter.replace(long, short)
        done = subprocess.run(
            ["bash", "-c", shorter],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == EXIT_CODES.get(command, 0), f"{shorter}\n{done.stderr}"
        assert "Traceback" not in done.stderr


def test_the_command_reference_is_what_the_commands_say():
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "write_commands.py", "--check"], check=False
    )
    assert done.returncode == 0, "run make commands"


def test_the_plan_in_the_readme_is_the_plan():
    shown = next(block for block in blocks(PAGES[0], "console") if "peak pressure" in block)
    command, *expected = [line.rstrip() for line in shown.splitlines() if line.strip()]
    done = subprocess.run(
        # With time to prove all levels on a busy machine too.
        [sys.executable, "-m", "colocate", *command.split()[2:], "--time-limit", "60"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=dict(os.environ),  # without the COLUMNS that readline sets behind Python's back
    )
    printed = [line.rstrip() for line in done.stdout.splitlines() if line.strip()]
    took = re.compile(r", [0-9.e-]+ s\)$")
    assert [took.sub(")", line) for line in printed] == [took.sub(")", line) for line in expected]


def test_the_replay_in_the_docs_is_the_replay(tmp_path):
    shown = blocks(ROOT / "docs" / "simulate.md", "console")[0].splitlines()
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    colocate = [sys.executable, "-m", "colocate"]
    saving, simulating = (line.split()[2:] for line in shown if line.startswith("$ "))
    subprocess.run([*colocate, *saving, "--time-limit", "60"], check=True, cwd=tmp_path)
    done = subprocess.run(
        [*colocate, *simulating],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=dict(os.environ),  # without the COLUMNS that readline sets behind Python's back
    )
    expected = [line for line in shown if not line.startswith("$ ")]
    assert done.stdout.splitlines() == expected, "put what the command prints into docs/simulate.md"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_fleet_files_in_the_docs_can_be_planned(page):
    for text in blocks(page, "yaml"):
        assert solve(parse_fleet(text, ConfigLookup(ROOT)).problem).placement, text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_in_the_docs_runs(page, capsys, tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    programs = blocks(page, "python")
    models = [SimpleNamespace(model_size=20, req_rate=4, slo=8)]
    for code in programs:
        exec(code, {"gpu_num": 2, "models": models})
    assert not any("solve(" in code for code in programs) or "OPTIMAL" in capsys.readouterr().out


def test_the_fleet_file_of_the_start_page_is_the_example():
    (shown,) = blocks(ROOT / "docs" / "start.md", "yaml")
    assert shown in (ROOT / "examples" / "start" / "fleet.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("*.yaml")), ids=lambda p: p.name)
def test_examples_are_valid_by_the_published_schema(path):
    jsonschema.validate(parse_yaml(path.read_text(encoding="utf-8")), fleet_schema())


def test_every_page_is_linked_and_every_link_leads_somewhere():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    linked = set()
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            path = (page.parent / target).resolve()
            assert path.exists(), f"{page.name}: {target}"
            linked.add(path)
    assert {page for page in pages if page.parent.name == "docs"} <= linked


def test_every_file_that_the_page_for_developers_names_exists():
    text = (ROOT / "docs" / "developing.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z_0-9]+/[a-z_0-9/]*(?:\.(?:py|md|csv))?)`", text)
    folders = (ROOT / "src" / "colocate", ROOT)
    gone = [name for name in named if not any((folder / name).exists() for folder in folders)]
    assert len(named) > 50
    assert not gone, "moved or renamed: tell developers where it is now"
