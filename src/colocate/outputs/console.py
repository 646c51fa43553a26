"""Where text goes: results to stdout, notes and progress to stderr."""

import sys

from rich.console import Console

UNWRAPPED = 10_000


def results() -> Console:
    """Return the console for results; into a pipe or file, lines are never wrapped."""
    width = None if sys.stdout.isatty() else UNWRAPPED
    return Console(width=width, highlight=False, soft_wrap=False)


def notes() -> Console:
    """Return the console for notes and progress."""
    return Console(stderr=True, highlight=False, soft_wrap=True)
