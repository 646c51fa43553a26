"""How a review writes names and figures."""

from collections.abc import Collection

LONGEST_QUOTE = 240
MOST_LISTED = 6


def code(text: str) -> str:
    """Return a name, or the words of others, in backticks: on one line, its middle cut if long."""
    line = " ".join(text.split()).replace("`", "'")
    if len(line) > LONGEST_QUOTE:
        half = (LONGEST_QUOTE - 5) // 2
        line = f"{line[:half]} ... {line[-half:]}"
    return f"`{line}`"


def listed(names: Collection[str]) -> str:
    """Return the first names in backticks, and how many more there are."""
    shown = [code(name) for name in list(names)[:MOST_LISTED]]
    if len(names) > MOST_LISTED:
        return f"{', '.join(shown)} and {len(names) - MOST_LISTED} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def counted(count: int, noun: str) -> str:
    """Return a number of things: `1 pair`, `2 pairs`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def share(value: float) -> str:
    """Return a ratio or fitness as text."""
    return f"{value:.6f}"


def change(value: float) -> str:
    """Return a difference of fitness as text, with its sign."""
    return f"{value:+.6f}"
