"""Where text goes: results to stdout, notes and progress to stderr."""

import sys

from rich.console import Console, RenderableType

UNWRAPPED = 1_000_000


def results() -> Console:
    """Return the console for results; into a pipe or file, lines are never wrapped."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    terminal = sys.stdout is not None and sys.stdout.isatty()
    return Console(width=None if terminal else UNWRAPPED, highlight=False)


def notes() -> Console:
    """Return the console for notes and progress."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def show(*parts: RenderableType) -> None:
    """Print results; into a pipe or file, without the blanks that only look good on a screen."""
    console = results()
    if console.is_terminal:
        console.print(*parts, sep="\n")
        return
    with console.capture() as captured:
        console.print(*parts, sep="\n")
    lines = [line.rstrip() for line in captured.get().splitlines()]
    print("\n".join(lines).strip("\n"))
