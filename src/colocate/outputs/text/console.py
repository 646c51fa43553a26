"""Where text goes: results to stdout, notes and progress to stderr."""

import os
import sys

from rich.console import Console, RenderableType

UNWRAPPED = 1_000_000
"""Columns, more than any line has."""
PIPED_WIDTH = "COLOCATE_COLUMNS"
"""The environment variable that sets the width of tables in a pipe or file."""


class _Console(Console):
    """A console that lets `main` decide what to do when the reader of a pipe is gone."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def notes() -> Console:
    """Return the console for notes and progress."""
    return _Console(stderr=True, highlight=False, soft_wrap=True)


def table_width(usual: int = UNWRAPPED) -> int:
    """Return how wide tables may be, in letters: as the screen, or as COLOCATE_COLUMNS says.

    COLUMNS does not count in a pipe: Python sets it for child processes where nobody asked for it.

    Parameters
    ----------
    usual
        How wide they are in a pipe or file if COLOCATE_COLUMNS is not set.
    """
    console, stated = _results(), os.environ.get(PIPED_WIDTH, "")
    if console.is_terminal:
        return console.width
    return int(stated) if stated.isdecimal() and int(stated) > 0 else usual


def show(*parts: RenderableType) -> None:
    """Print results; into a pipe or file, without the spaces at the ends of lines."""
    console = _results()
    if console.is_terminal:
        console.print(*parts, sep="\n")
        return
    with console.capture() as captured:
        console.print(*parts, sep="\n")
    lines = [line.rstrip() for line in captured.get().splitlines()]
    print("\n".join(lines).strip("\n"))


def _results() -> Console:
    """Return the console for results; into a pipe or file, it wraps no sentence."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    terminal = sys.stdout is not None and sys.stdout.isatty()
    return _Console(width=None if terminal else UNWRAPPED, highlight=False)
