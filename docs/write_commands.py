"""Write docs/commands.md from the commands' own help; `--check` only compares."""

import sys
from collections.abc import Iterator
from pathlib import Path

import typer
from click import Command, Context
from typer.main import get_command

from colocate.cli.main import app

PAGE = Path(__file__).parent / "commands.md"
INTRODUCTION = """# Commands

Written from `colocate --help` by `make commands`.

Results go to stdout, notes and progress to stderr. `-h` is short for `--help`. Tables fit the
screen; in a pipe or file, the environment variable `COLOCATE_COLUMNS` sets their width.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | a fault; in `check`, something in the plan is wrong |
| 2 | wrong usage |
| 3 | bad input |
| 4 | proven infeasible |
| 5 | nothing feasible found in time |
| 6 | `check`: nothing is wrong, but something could not be confirmed |
| 130 | interrupted before there was a result; `score FOLDER`, `lab run` and `watch` print what \
they have done by then |
| 141 | the reader of a pipe stopped reading |
"""


def page() -> str:
    """Return what the page should say."""
    return "\n".join([INTRODUCTION, *_sections("colocate", get_command(app), None)])


def _sections(name: str, command: Command, parent: Context | None) -> Iterator[str]:
    """Yield the help of a command, and of all that are below it."""
    context = Context(
        command, info_name=name, parent=parent, terminal_width=90, max_content_width=90
    )
    yield _section(context.command_path, command.get_help(context))
    if isinstance(command, typer.core.TyperGroup):
        for below, inner in command.commands.items():
            yield from _sections(below, inner, context)


def _section(title: str, text: str) -> str:
    lines = "\n".join(line.rstrip() for line in text.strip().splitlines())
    return f"## {title}\n\n```text\n{lines}\n```\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
