"""Every error that the package raises on purpose."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import SequenceMatcher, get_close_matches
from enum import Enum
from typing import Self

from colocate.fault import Fault, Owner, Path

MOST_NAMES = 8
"""Names of a catalogue that a message lists: more than a line of them is not read."""
MOST_FAULTS = 10
"""Faults that a message lists: as many as a screen shows without scrolling."""


class ColocateError(Exception):
    """The root of all errors raised by colocate."""


class InputError(ColocateError, ValueError):
    """Something given cannot be used: each fault says where, what was found and expected.

    Parameters
    ----------
    faults
        All that is wrong; a text is a fault of no field.
    """

    def __init__(self, *faults: Fault | str) -> None:
        super().__init__(*faults)
        self.faults = tuple(Fault(fault) if isinstance(fault, str) else fault for fault in faults)

    @classmethod
    def of(
        cls, field: str | Path, value: object, expected: str, owner: Owner | None = None
    ) -> Self:
        """Return the error of a value that cannot be used.

        Parameters
        ----------
        field
            Its name, or the steps to it.
        value
            What was found.
        expected
            What must be there instead.
        owner
            The GPU or model that the field belongs to.
        """
        return cls(Fault(value=value, expected=expected, path=_path(field), owner=owner))

    @classmethod
    def missing(
        cls, field: str | Path, expected: str = "", advice: str = "", owner: Owner | None = None
    ) -> Self:
        """Return the error of a field that is not there.

        Parameters
        ----------
        field
            Its name, or the steps to it.
        expected
            What must be there.
        advice
            What to do about it.
        owner
            The GPU or model that the field belongs to.
        """
        return cls(Fault("is missing", expected, advice, path=_path(field), owner=owner))

    @property
    def in_a_file(self) -> bool:
        """Whether a file is to blame: it is named, or a GPU, model or machine that it holds."""
        return any(fault.file or fault.owner for fault in self.faults)

    def __str__(self) -> str:
        lines = [str(fault) for fault in self.faults[:MOST_FAULTS]]
        more = len(self.faults) - len(lines)
        return "\n".join([*lines, f"and {more} more of the kind"] if more else lines)


def _path(field: str | Path) -> Path:
    return (field,) if isinstance(field, str) else field


@contextmanager
def within(path: Path = (), owner: Owner | None = None, file: str = "") -> Iterator[None]:
    """Let faults that are found meanwhile say where they are.

    Parameters
    ----------
    path
        The steps to the place that they count their own steps from.
    owner
        The GPU or model there.
    file
        The file that holds it all.
    """
    try:
        yield
    except InputError as error:
        raise InputError(*(fault.within(path, owner, file) for fault in error.faults)) from None


class UnknownNameError(InputError):
    """A strategy, suite or other name that is not in its catalogue."""

    @classmethod
    def among(
        cls,
        kind: str,
        name: str,
        known: Iterable[str],
        aliases: Mapping[str, str] | None = None,
        other: str = "",
    ) -> Self:
        """Say which names there are, or which one was probably meant.

        Parameters
        ----------
        kind
            What the name is of, such as ``strategy``.
        name
            The name given.
        known
            All names there are; if they are too many, the message lists those most like the name.
        aliases
            Other spellings, each with the name that it stands for.
        other
            What may stand in the place of a name, such as ``a folder``.
        """
        names = list(known)
        near, found = closest(name, names, aliases), "is not known"
        if near:
            return cls(Fault(found, advice=near, value=name, path=(kind,)))
        some = ", ".join(_most_alike(name, names)) + (", ..." if len(names) > MOST_NAMES else "")
        some += f", or {other}" if other else ""
        return cls(Fault(found, f"one of: {some}", value=name, path=(kind,)))


def closest(name: str, known: Iterable[str], aliases: Mapping[str, str] | None = None) -> str:
    """Ask for the known name that is most like one that is not, nothing if none is like it.

    Parameters
    ----------
    name
        The name that is not known.
    known
        All names there are.
    aliases
        Other spellings, each with the name that it stands for.
    """
    meant = {alias.lower(): each for alias, each in (aliases or {}).items()}
    meant |= {each.lower(): each for each in known}
    near = get_close_matches(name.lower(), meant, n=1)
    return f"did you mean {meant[near[0]]!r}?" if near else ""


def _most_alike(name: str, names: list[str]) -> list[str]:
    """Return as many names as a message lists: all in their order, or those most like a name."""
    if len(names) <= MOST_NAMES:
        return names

    def likeness(other: str) -> float:
        return SequenceMatcher(None, name.lower(), other.lower()).ratio()

    return sorted(names, key=likeness, reverse=True)[:MOST_NAMES]


class InfeasibleError(ColocateError):
    """It is proven that no placement exists."""


class NothingFoundError(ColocateError):
    """No placement was found, and none was proven impossible."""


class StepFaultError(ColocateError):
    """Steps that were found do not stand the check, so they must not be carried out."""


class ProposerError(ColocateError):
    """A proposer gave no answer: its server failed or refused, or a record has none left."""


class ServerError(ColocateError):
    """A server cannot be reached, refuses a request, or answers what cannot be used.

    Parameters
    ----------
    message
        What happened, and what to do about it.
    status
        The HTTP status of a refusal.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Trouble(Enum):
    """Why nothing can be concluded from a source of measurements."""

    DOWN = "down"
    LATE = "late"
    EMPTY = "empty"
    NONSENSE = "nonsense"
    TOO_LARGE = "too large"


class SourceError(ServerError):
    """A source of measurements is down, late, empty or too large, or says what cannot be.

    Parameters
    ----------
    trouble
        Which of these.
    message
        What happened, and what to do about it.
    status
        The HTTP status of a refusal.
    """

    def __init__(self, trouble: Trouble, message: str, status: int | None = None) -> None:
        super().__init__(message, status)
        self.trouble = trouble


class SandboxError(ColocateError):
    """A program could not be run at all, through no fault of its own."""


class TaskError(ColocateError):
    """The scorer of a task failed, so nothing can be judged; no fault of a program."""


class ArchiveError(ColocateError):
    """The record of a lab cannot be read or written."""


class OutputError(ColocateError):
    """A file cannot be written."""
