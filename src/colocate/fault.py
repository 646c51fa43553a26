"""One thing that is wrong with what was given: where, what was found, what was expected.

Faults travel as data. The sentence about one is made here and nowhere else.
"""

from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from reprlib import Repr
from typing import NamedTuple

MOST_DIGITS = 27
"""Of a whole number that a message shows; Python refuses to write one of some thousand digits."""
MOST_LETTERS, MOST_ENTRIES, MOST_LEVELS = 60, 3, 2
"""Of a value that a message shows: it stays on one line, whatever a file holds."""
SECTIONS = ("gpus", "models")
"""The lists of a fleet: a place in one of them is named by its number."""

Path = tuple[int | str, ...]
"""The steps to a field, such as ``("models", 3, "slo")``."""


class Nothing(Enum):
    """Stands for a value that is not there, where None is a value."""

    GIVEN = 0


class Owner(NamedTuple):
    """The GPU, model or machine that a field belongs to."""

    kind: str
    """``gpu``, ``model``, ``node`` or ``certificate``."""
    name: object
    """As it was given, right or wrong; None if it has no name."""


class Spot(NamedTuple):
    """An entry of a section, and the line that it begins on if that is known."""

    path: Path
    line: int | None = None

    def __str__(self) -> str:
        entry, _ = _entry(self.path)
        return entry if self.line is None else f"{entry} (line {self.line})"


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with what was given.

    Parameters
    ----------
    found
        What was found, if a value does not say it: ``is missing``.
    expected
        What must be there instead: ``a finite number > 0``.
    advice
        What to do about it.
    value
        The value found.
    path
        The field that it is about. It begins with the section and the number if they are known.
    owner
        The GPU or model that the field belongs to.
    twin
        The earlier entry that has the same value, where no two may.
    file, line
        Where it is written.
    cause
        The fault in another file, or deeper in this one, that makes this field wrong.
    """

    found: str = ""
    expected: str = ""
    advice: str = ""
    value: object = Nothing.GIVEN
    path: Path = ()
    owner: Owner | None = None
    twin: Spot | None = None
    file: str = ""
    line: int | None = None
    cause: "Fault | None" = None

    def within(self, path: Path = (), owner: Owner | None = None, file: str = "") -> "Fault":
        """Return the fault as one of a larger whole.

        Parameters
        ----------
        path
            The steps to the place that the fault counts its own steps from.
        owner
            The GPU or model there.
        file
            The file that holds it all.
        """
        if self.file:
            return Fault(path=path, owner=owner, file=file, cause=self)
        whole = (*path, *self.path)
        return replace(self, path=whole, owner=owner or self.owner, file=file)

    def __str__(self) -> str:
        item, steps = self._item()
        field = _field(steps)
        line = f"line {self.line}" if self.line is not None else ""
        places = [self.file, line, item]
        if self.cause is None:
            return ": ".join(filter(None, (*places, self._clause(field))))
        told = ": ".join(filter(None, (*places, field, str(self.cause))))
        return f"{told}, {self.advice}" if self.advice else told

    def _item(self) -> tuple[str, Path]:
        """Return the GPU or model in words, and the steps on from there."""
        name = self.owner.name if self.owner else None
        named = "" if name is None else f" {shown(name)}"
        entry, steps = _entry(self.path)
        if entry:
            return f"{entry}{named}", steps
        return f"{self.owner.kind}{named}" if self.owner else "", steps

    def _clause(self, field: str) -> str:
        """Say what was found in a field, what was expected and what to do."""
        subject = field
        if self.value is not Nothing.GIVEN:
            subject = f"{field}={shown(self.value)}" if field else f"found {shown(self.value)}"
        twin = "" if self.twin is None else f"is already that of {self.twin}"
        told = " ".join(filter(None, (subject, self.found, twin)))
        if self.expected:
            told += f", must be {self.expected}"
        if self.advice:
            whole = self.expected or ": " in self.found  # a clause that no comma may end
            told += f"{';' if whole else ','} {self.advice}"
        return told


def _entry(path: Path) -> tuple[str, Path]:
    """Return the section, with the number in it, that a path begins with, and the other steps."""
    if len(path) < 2 or path[0] not in SECTIONS:
        return "", path
    section, step, *others = path
    if isinstance(step, int):
        return f"{section}[{step}]", tuple(others)
    return str(section), path[1:]


def _field(steps: Path) -> str:
    """Return the steps to a field as it would be written: ``load[1]``."""
    if not steps:
        return ""
    first, *others = steps
    name = str(first)
    harmless = name.isprintable() and 0 < len(name) <= MOST_LETTERS
    return (name if harmless else shown(first)) + "".join(f"[{shown(step)}]" for step in others)


def shown(value: object) -> str:
    """Show a value from outside briefly, however large or nested it is."""
    if isinstance(value, int) and abs(value) >= 10**MOST_DIGITS:
        return "a number with very many digits"
    if isinstance(value, StrEnum):
        value = value.value
    short = Repr()
    short.maxlevel = MOST_LEVELS
    short.maxlist = short.maxtuple = short.maxdict = MOST_ENTRIES
    short.maxstring = short.maxother = MOST_LETTERS
    return short.repr(value)
