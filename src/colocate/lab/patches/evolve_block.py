"""The part of a program that may change: the lines between two comments."""

from collections.abc import Sequence
from dataclasses import dataclass

from colocate.lab.patches.refusal import PatchRefused, RefusalCode
from colocate.lab.patches.syntax import quoted_code

START = "# EVOLVE-BLOCK-START"
END = "# EVOLVE-BLOCK-END"


@dataclass(frozen=True)
class Sections:
    """The lines of a program, in three parts.

    Parameters
    ----------
    before
        Up to and including the start marker; empty in a program without markers.
    inside
        The lines that may change.
    after
        From the end marker on, including it; empty in a program without markers.
    """

    before: tuple[str, ...]
    inside: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def marked(self) -> bool:
        """Whether there are markers."""
        return bool(self.before)

    @property
    def frame(self) -> tuple[int, int]:
        """The index of the first and the last line that a change may touch or quote."""
        first = max(0, len(self.before) - 1)
        return first, len(self.before) + len(self.inside) - (0 if self.marked else 1)

    @property
    def lines(self) -> list[str]:
        """All lines of the program."""
        return [*self.before, *self.inside, *self.after]


def is_marker(line: str) -> bool:
    """Whether a line is one of the two comments."""
    return line.strip() in (START, END)


def sections(lines: Sequence[str], whose: str) -> Sections:
    """Cut a program at its markers.

    Raises
    ------
    PatchRefused
        If there are markers, but not one start and then one end.
    """
    marks = [at for at, line in enumerate(lines) if is_marker(line)]
    if not marks:
        return Sections((), tuple(lines), ())
    if [lines[at].strip() for at in marks] != [START, END]:
        found = ", ".join(f"line {at + 1} {lines[at].strip()!r}" for at in marks[:4])
        raise PatchRefused(
            RefusalCode.MARKERS_UNPAIRED,
            f"{whose} has the markers {found}, must have one {START!r} and then one {END!r}",
            "quote a marker in SEARCH only if REPLACE keeps it, and add none",
        )
    first, last = marks
    return Sections(tuple(lines[: first + 1]), tuple(lines[first + 1 : last]), tuple(lines[last:]))


def kept_outside(parent: Sections, child: Sequence[str], whose: str) -> Sections:
    """Return the child with the parent's own lines around the block.

    Lines outside may differ in whitespace at their ends; the parent's version stays.

    Parameters
    ----------
    parent
        The parent in its three parts.
    child
        All lines of the child.
    whose
        The name of the child in messages.

    Raises
    ------
    PatchRefused
        If the child differs outside in more than that.
    """
    made = sections(child, whose)
    if made.marked and not parent.marked:
        fault = f"{whose} adds evolve markers, but the parent has none"
        raise PatchRefused(RefusalCode.MARKERS_ADDED, fault, "leave them out")
    if parent.marked and not made.marked:
        fault = f"{whose} removes {START!r} and {END!r}"
        raise PatchRefused(RefusalCode.MARKERS_REMOVED, fault, "keep both lines")
    _refuse_other(parent.before, made.before, 1, whose)
    _refuse_other(parent.after, made.after, len(parent.before) + len(parent.inside) + 1, whose)
    return Sections(parent.before, made.inside, parent.after)


def _refuse_other(own: Sequence[str], other: Sequence[str], first: int, whose: str) -> None:
    own, other = bare(own), bare(other)
    if own == other:
        return
    pairs = enumerate(zip(own, other, strict=False))
    same = next((at for at, (ours, theirs) in pairs if ours != theirs), min(len(own), len(other)))
    had = quoted_code(own[same]) if same < len(own) else "at its end"
    has = quoted_code(other[same]) if same < len(other) else "nothing"
    raise PatchRefused(
        RefusalCode.OUTSIDE_CHANGED,
        f"{whose} changes the parent outside of the evolve block: line {first + same}, {had}, "
        f"becomes {has}",
        f"change only what is between {START!r} and {END!r}",
    )


def bare(lines: Sequence[str]) -> list[str]:
    """Return the lines without whitespace at their ends."""
    return [line.rstrip() for line in lines]
