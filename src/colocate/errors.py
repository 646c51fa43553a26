"""Every error that the package raises on purpose."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Self

MOST_NAMES = 8


class ColocateError(Exception):
    """The root of all errors raised by colocate."""


class InputError(ColocateError, ValueError):
    """What was given cannot be a problem: the message says what was found and expected."""


class UnknownNameError(InputError):
    """A strategy, suite or other name that is not in its catalogue."""

    @classmethod
    def among(cls, kind: str, name: str, known: Iterable[str]) -> Self:
        """Say which names there are, or which one was probably meant."""
        names = list(known)
        near = get_close_matches(name, names, n=1)
        some = ", ".join(names[:MOST_NAMES]) + (", ..." if len(names) > MOST_NAMES else "")
        hint = f"did you mean {near[0]!r}?" if near else f"must be one of: {some}"
        return cls(f"{kind}={name!r} is not known, {hint}")


class InfeasibleError(ColocateError):
    """It is proven that no placement exists."""


class NothingFoundError(ColocateError):
    """No placement was found, and none was proven impossible."""


class ProposerError(ColocateError):
    """A proposer gave no answer: its server failed or refused, or a record has none left."""


class SandboxError(ColocateError):
    """A program could not be run at all, through no fault of its own."""


class ArchiveError(ColocateError):
    """The record of a lab cannot be read or written."""


class OutputError(ColocateError):
    """A file cannot be written."""
