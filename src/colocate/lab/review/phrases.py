"""How a review writes names and figures."""

from collections.abc import Collection

from colocate.outputs.text.wording import listed

LONGEST_QUOTE = 240
"""Letters of what others said: two or three lines."""
MOST_LISTED = 6
"""Names in a sentence, before it only counts them."""


def code(text: str) -> str:
    """Return a name, or the words of others, in backticks: on one line, its middle cut if long."""
    line = " ".join(text.split()).replace("`", "'")
    if len(line) > LONGEST_QUOTE:
        half = (LONGEST_QUOTE - 5) // 2
        line = f"{line[:half]} ... {line[-half:]}"
    return f"`{line}`"


def code_list(names: Collection[str]) -> str:
    """Return the first names in backticks, and how many more there are; nothing for none."""
    return listed([code(name) for name in names], MOST_LISTED) if names else ""


def share(value: float) -> str:
    """Return a ratio or fitness as text."""
    return f"{value:.6f}"


def change(value: float) -> str:
    """Return a difference of fitness as text, with its sign."""
    return f"{value:+.6f}"
