"""Write docs/commands.md from the commands' own help; `--check` only compares."""

import sys
from pathlib import Path

import typer
from click import Context
from typer.main import get_command

from colocate.cli.main import app

PAGE = Path(__file__).parent / "commands.md"
INTRODUCTION = """# Commands

Written from `colocate --help` by `make commands`.

Results go to stdout, notes and progress to stderr. Exit codes: 0 done, 1 fault, 2 usage,
3 bad input, 4 proven infeasible, 5 nothing feasible found, 130 interrupted.
"""


def page() -> str:
    """Return what the page should say."""
    group = get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    context = Context(group, info_name="colocate", terminal_width=90, max_content_width=90)
    parts = [INTRODUCTION, _section("colocate", group.get_help(context))]
    for name, command in group.commands.items():
        inner = Context(command, info_name=name, parent=context, max_content_width=90)
        parts.append(_section(f"colocate {name}", command.get_help(inner)))
    return "\n".join(parts)


def _section(title: str, text: str) -> str:
    lines = "\n".join(line.rstrip() for line in text.strip().splitlines())
    return f"## {title}\n\n```text\n{lines}\n```\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
