"""A change to a program, and how to make a child with it: completely or not at all."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from colocate.lab.patches.evolve_block import Sections, bare, is_marker, kept_outside, sections
from colocate.lab.patches.matching import place_of
from colocate.lab.patches.refusal import PatchRefused, RefusalCode
from colocate.lab.patches.syntax import (
    ENTRY,
    defines_entry,
    seeds_alone_differ,
    syntax_key,
    syntax_tree,
    tree_key,
)

MOST_CHARACTERS = 1_000_000
"""An answer or a program longer than this is a mistake."""
ONLY_A_SEED = "nothing changes but a seed of random numbers, which is luck and no improvement"
CHANGE_MORE = (
    "change what the program does; it is judged under seeds of the referee, and the worst counts"
)


class PatchKind(StrEnum):
    """The form of a change."""

    DIFF = "diff"
    """Blocks of lines to find, with the lines that replace them."""
    REWRITE = "rewrite"
    """The whole new text."""


@dataclass(frozen=True)
class Block:
    """Lines to find, and the lines that replace them.

    Parameters
    ----------
    search
        Lines of the parent, at least one of them not blank.
    replacement
        The lines that replace them; none deletes them.
    line
        Where the block begins in the answer, for messages.
    """

    search: tuple[str, ...]
    replacement: tuple[str, ...]
    line: int = 1

    def __post_init__(self) -> None:
        if not any(line.strip() for line in self.search):
            raise PatchRefused(
                RefusalCode.EMPTY_SEARCH,
                f"the block at line {self.line} of the answer has an empty SEARCH, so nothing "
                "says where its REPLACE belongs",
                "quote at least one line of the parent in SEARCH",
            )


@dataclass(frozen=True)
class Patch:
    """A change to a parent: either blocks or code.

    Parameters
    ----------
    name
        In snake_case.
    description
        The proposer's description; may be empty.
    blocks
        Applied one after another, each to the result of those before it.
    code
        The text of a rewrite.
    """

    name: str
    description: str
    blocks: tuple[Block, ...] = ()
    code: str | None = None

    def __post_init__(self) -> None:
        if bool(self.blocks) == (self.code is not None):
            found = "both" if self.blocks else "neither"
            raise PatchRefused(
                RefusalCode.SEVERAL_CHANGES if self.blocks else RefusalCode.NO_CHANGE,
                f"the patch has {found} of blocks and code, must have one of them",
            )

    @property
    def kind(self) -> PatchKind:
        """The form of the change."""
        return PatchKind.REWRITE if self.code is not None else PatchKind.DIFF


@dataclass(frozen=True)
class PatchedProgram:
    """A program that a patch makes of its parent.

    Parameters
    ----------
    patch
        The change.
    source
        The text of the program.
    key
        The key of its syntax tree, see `syntax_key`.
    """

    patch: Patch
    source: str
    key: str


def apply_patch(patch: Patch, parent: str, entry: str = ENTRY) -> PatchedProgram:
    """Return the child that a patch makes of its parent.

    Everything outside of the parent's evolve block stays the same, letter for letter. The child has
    the line ends of its parent. A rewrite without evolve markers replaces the inside of the block;
    lines that it repeats from before or after the block are left out.

    Parameters
    ----------
    patch
        The change.
    parent
        The text of the program to change; it must compile.
    entry
        The name of the function that the task calls.

    Returns
    -------
    PatchedProgram
        A program that compiles and whose syntax tree differs from the parent's.

    Raises
    ------
    PatchRefused
        If the patch does not fit, changes lines outside of the evolve block, or makes a child that
        does not compile, lacks that function or does the same as its parent.
    """
    crlf = 0 < parent.count("\n") == parent.count("\r\n")
    text = parent.replace("\r\n", "\n") if crlf else parent
    parent_key = syntax_key(text, "the parent")
    own = sections(text.split("\n"), "the parent")
    made = _patched(own, patch.blocks) if patch.code is None else _rewritten(own, patch.code)
    child = "\n".join(made.lines)
    key = _key_of_fit(child, text, parent_key, entry)
    return PatchedProgram(patch, child.replace("\n", "\r\n") if crlf else child, key)


def _patched(parent: Sections, blocks: Sequence[Block]) -> Sections:
    now = parent
    for number, block in enumerate(blocks, 1):
        where = f"block {number} of {len(blocks)} (line {block.line} of the answer)"
        if number > 1:
            where += ", after the blocks before it"
        lines = now.lines
        at = place_of(block.search, lines, now.frame, where)
        lines[at : at + len(block.search)] = block.replacement
        now = kept_outside(now, lines, where)
    return now


def _rewritten(parent: Sections, code: str) -> Sections:
    lines: Sequence[str] = code.split("\n")
    if not parent.marked:
        return kept_outside(parent, [*lines, ""], "the rewrite")
    given = sections(lines, "the rewrite")
    if not given.marked:
        lines = _without_head(lines, parent.before[:-1])
        lines = _without_head(lines[::-1], parent.after[:0:-1])[::-1]
        return Sections(parent.before, tuple(lines), parent.after)
    before = _completed(given.before, parent.before)
    after = _completed(given.after, parent.after)
    return kept_outside(parent, [*before, *given.inside, *after], "the rewrite")


def _completed(given: tuple[str, ...], own: tuple[str, ...]) -> tuple[str, ...]:
    """Return the parent's lines if the rewrite omits them or changes only their spacing."""
    told = [line for line in bare(given) if line]
    left_out = all(is_marker(line) for line in told)
    return own if left_out or told == [line for line in bare(own) if line] else given


def _without_head(lines: Sequence[str], head: Sequence[str]) -> Sequence[str]:
    """Leave out the first lines if they equal `head`, ignoring blank lines."""
    wanted = [line for line in bare(head) if line]
    at = 0
    for want in wanted:
        while at < len(lines) and not lines[at].strip():
            at += 1
        if at == len(lines) or lines[at].rstrip() != want:
            return lines
        at += 1
    return lines[at:]


def _key_of_fit(child: str, parent: str, parent_key: str, entry: str) -> str:
    """Return the key of a child; refuse a child that cannot take part."""
    if len(child) > MOST_CHARACTERS:
        raise PatchRefused(
            RefusalCode.CHILD_TOO_LONG,
            f"the child has {len(child)} characters, must be at most {MOST_CHARACTERS}",
            "shorten it",
        )
    tree = syntax_tree(child, "the child")
    if not defines_entry(child, entry, tree) and defines_entry(parent, entry):
        raise PatchRefused(
            RefusalCode.NO_ENTRY,
            f"the child does not define {entry} at top level",
            f"keep `def {entry}` with its parameters",
        )
    key = tree_key(tree)
    if key == parent_key and seeds_alone_differ(tree, syntax_tree(parent)):
        raise PatchRefused(RefusalCode.ONLY_A_SEED, ONLY_A_SEED, CHANGE_MORE)
    if key == parent_key:
        raise PatchRefused(
            RefusalCode.SAME_AS_PARENT,
            "the child does the same as its parent: apart from comments, docstrings and layout "
            "nothing changes",
            "change what the program does",
        )
    return key
