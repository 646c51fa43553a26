"""Figures in rows and columns, independent of where they are drawn."""

from collections.abc import Iterable
from dataclasses import dataclass

from colocate.lab.program import Program
from colocate.lab.watch.ladder import Rung
from colocate.outputs.text.sanitise import LONGEST_NAME, one_line


@dataclass(frozen=True)
class Mention:
    """A program that is named, and may be linked."""

    number: int
    name: str = ""

    @property
    def text(self) -> str:
        """Its number and name."""
        return f"#{self.number} {one_line(self.name, LONGEST_NAME)}".rstrip()


Mentions = tuple[Mention, ...]
Cell = str | Mentions
"""Raw text: the code that draws it must sanitise it."""
Fact = tuple[str, Cell]
"""A label and its value."""


@dataclass(frozen=True)
class Sheet:
    """A table."""

    title: str
    """The title above the table."""
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    """A cell for each heading."""
    words: frozenset[str] = frozenset({"program"})
    """Headings of columns with words; the others have figures."""


def mention(program: Program | Rung) -> Mentions:
    """Name a program."""
    return (Mention(program.number, program.name),)


def numbers(programs: Iterable[int]) -> Cell:
    """Name programs by their numbers alone."""
    return tuple(Mention(number) for number in programs) or "-"


def words(*headings: str) -> frozenset[str]:
    """Name the columns that hold words."""
    return frozenset(headings)
