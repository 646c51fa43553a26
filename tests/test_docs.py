import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from colocate import place
from colocate.inputs.fleet import parse_fleet

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "docs" / "start.md"]


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def test_the_command_reference_is_what_the_commands_say():
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "write_commands.py", "--check"], check=False
    )
    assert done.returncode == 0, "run make commands"


def test_the_plan_in_the_readme_is_the_plan():
    shown = next(block for block in blocks(PAGES[0], "console") if "peak pressure" in block)
    command, *expected = [line.rstrip() for line in shown.splitlines() if line.strip()]
    done = subprocess.run(
        [sys.executable, "-m", "colocate", *command.removeprefix("$ colocate ").split()],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    printed = [line.rstrip() for line in done.stdout.splitlines() if line.strip()]
    took = re.compile(r", [0-9.e-]+ s\)$")
    assert [took.sub(")", line) for line in printed] == [took.sub(")", line) for line in expected]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_fleet_files_in_the_docs_can_be_planned(page):
    for text in blocks(page, "yaml"):
        assert place(parse_fleet(text).problem, "five_recommendations").placement


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_in_the_docs_runs(page, capsys):
    models = [SimpleNamespace(model_size=20, req_rate=4, slo=8)]
    for code in blocks(page, "python"):
        exec(code, {"gpu_num": 2, "models": models})
    assert "OPTIMAL" in capsys.readouterr().out


def test_every_page_is_linked_and_every_link_leads_somewhere():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    linked = set()
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            path = (page.parent / target).resolve()
            assert path.exists(), f"{page.name}: {target}"
            linked.add(path)
    assert {page for page in pages if page.parent.name == "docs"} <= linked
