"""Writes the change between two programs as a proposer would."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from colocate.lab.patches.answer import printable, read_patch, snake_case
from colocate.lab.patches.answer_lines import SHORTEST_MARKER
from colocate.lab.patches.matching import find_lines
from colocate.lab.patches.patch import PatchedProgram, apply_patch
from colocate.lab.patches.refusal import PatchRefused, RefusalCode

Hunk = tuple[list[str], list[str]]
"""Lines of the parent, and what they become."""

FIRST_CONTEXT = 3
"""Lines around a change to begin with, as `diff -u` has them."""


@dataclass(frozen=True)
class WrittenAnswer:
    """An answer, and the program that it makes of its parent."""

    text: str
    made: PatchedProgram


def write_patch(parent: str, child: str, *, name: str, description: str) -> WrittenAnswer:
    """Return an answer that makes `child` of `parent`: blocks, or else a rewrite.

    The writer widens every block until its SEARCH is unique, both in the parent and in the result
    of the blocks before it. Where blocks cannot express the change, the answer is a rewrite, for
    example if the program itself has lines like the markers. Without an evolve block, a rewrite
    always ends with a line end.

    Parameters
    ----------
    parent, child
        Two programs that differ in their syntax trees, and only inside of the evolve block.
    name
        In snake_case.
    description
        In plain words, without tags.

    Raises
    ------
    PatchRefused
        If no answer makes this child of this parent and keeps the name and description.
    """
    head = f"<NAME>\n{name}\n</NAME>\n\n<DESCRIPTION>\n{description}\n</DESCRIPTION>\n\n"
    told = (snake_case(name), printable(description), child)
    try:
        return _checked(head + _as_diff(parent, child), parent, told)
    except PatchRefused:
        return _checked(head + _as_rewrite(child), parent, told)


def _checked(answer: str, parent: str, told: tuple[str, str, str]) -> WrittenAnswer:
    """Return an answer with the program it makes; refuse it if it does not say what it should."""
    made = apply_patch(read_patch(answer), parent)
    found = (made.patch.name, made.patch.description, made.source)
    pairs = zip(("name", "description", "child"), found, told, strict=True)
    wrong = [what for what, one, other in pairs if one != other]
    if wrong:
        raise PatchRefused(
            RefusalCode.NOT_WRITABLE,
            f"no answer can express this change: the {' and '.join(wrong)} would differ",
            "leave out tags, and keep the line ends of the parent",
        )
    return WrittenAnswer(answer, made)


def _as_diff(parent: str, child: str) -> str:
    old, new = (text.replace("\r\n", "\n").split("\n") for text in (parent, child))
    row = max(SHORTEST_MARKER, _longest("=", parent + child) + 1)
    lines = ["<DIFF>"]
    for search, replacement in _hunks(old, new):
        lines += ["<" * row + " SEARCH", *search, "=" * row, *replacement, ">" * row + " REPLACE"]
    return "\n".join([*lines, "</DIFF>", ""])


def _longest(letter: str, text: str) -> int:
    return max(map(len, re.findall(f"{letter}+", text)), default=0)


def _hunks(old: list[str], new: list[str]) -> list[Hunk]:
    """Return the hunks, with enough lines around each to make every search unique."""
    context = FIRST_CONTEXT
    while True:
        # A matcher cuts its own opcodes when it groups them, so each width needs a new one.
        groups = SequenceMatcher(None, old, new).get_grouped_opcodes(context)
        hunks = [(old[g[0][1] : g[-1][2]], new[g[0][3] : g[-1][4]]) for g in groups]
        if context > len(old) or _are_unique(hunks, old):
            return hunks
        context *= 2


def _are_unique(hunks: list[Hunk], old: list[str]) -> bool:
    now = list(old)
    for search, replacement in hunks:
        places = [find_lines(lines, search, most=2) for lines in (old, now)]
        if not any(line.strip() for line in search) or any(len(found) > 1 for found in places):
            return False
        at = places[1][0]
        now[at : at + len(search)] = replacement
    return True


def _as_rewrite(child: str) -> str:
    """Return the child in a fence that is longer than any row of backticks in it."""
    code = child.replace("\r\n", "\n")
    fence = "`" * max(3, _longest("`", code) + 1)
    end = "" if code.endswith("\n") else "\n"
    return f"<CODE>\n{fence}python\n{code}{end}{fence}\n</CODE>\n"
