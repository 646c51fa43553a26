"""The spelling of names and figures in a review."""

from collections.abc import Collection, Sequence

from colocate.outputs.text.wording import listed

LONGEST_QUOTE = 240
"""Letters of a quotation: two or three lines."""
LONGEST_DESCRIPTION = 420
"""Letters of what a proposer says of its program: a few sentences."""
MOST_LISTED = 8
"""Names that a sentence lists before it counts the rest."""


def code(text: str, most: int = LONGEST_QUOTE) -> str:
    """Return a name or a quotation in backticks, on one line, without its middle if it is long."""
    line = " ".join(text.split()).replace("`", "'")
    if len(line) > most:
        half = (most - 5) // 2
        line = f"{line[:half]} ... {line[-half:]}"
    return f"`{line}`"


def code_list(names: Collection[str]) -> str:
    """Return the first names in backticks, and how many more there are; empty for none."""
    return listed([code(name) for name in names], MOST_LISTED) if names else ""


def share(value: float) -> str:
    """Return a ratio or fitness as text."""
    return f"{value:.6f}"


def change(value: float) -> str:
    """Return a difference of fitness as text, with its sign."""
    return f"{value:+.6f}"


def numbered(numbers: Sequence[int]) -> str:
    """Return the numbers of programs, the first few of many."""
    told = listed([str(number) for number in numbers], MOST_LISTED)
    return f"{'number' if len(numbers) == 1 else 'numbers'} {told}"
