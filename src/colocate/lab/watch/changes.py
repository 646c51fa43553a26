"""The changes of a program to its parent, line by line."""

from collections.abc import Collection
from dataclasses import dataclass
from difflib import unified_diff
from itertools import islice

from colocate.lab.program import Program
from colocate.outputs.text.sanitise import visible

MOST_COMPARED = 6_000
"""Lines of both programs together; more take too long to compare."""


@dataclass(frozen=True)
class Changes:
    """The difference from the first parent."""

    parent: Program
    lines: tuple[str, ...]
    """As in a unified diff, without its head: every line begins with +, -, @ or a blank."""

    @property
    def title(self) -> str:
        """A title that names the parent and counts the changed lines."""
        against = f"against #{self.parent.number}"
        if not self.lines:
            return f"No changes {against} that can be shown"
        added, removed = (sum(line[0] == sign for line in self.lines) for sign in "+-")
        return f"Changes {against}: +{added} -{removed} lines"


def changes(programs: Collection[Program], child: Program) -> Changes | None:
    """Compare a program with its first parent; None if it has none."""
    known = {program.number: program for program in programs}
    parent = next((known[number] for number in child.parents[:1] if number in known), None)
    if parent is None:
        return None
    old, new = (text.replace("\r\n", "\n").split("\n") for text in (parent.source, child.source))
    if len(old) + len(new) > MOST_COMPARED:
        return Changes(parent, ())
    told = islice(unified_diff(old, new, lineterm=""), 2, None)
    return Changes(parent, tuple(visible(line) for line in told))
