"""Reads programs from files: as text, never as code."""

from pathlib import Path

from colocate.errors import InputError
from colocate.fault import Fault

MOST_CHARACTERS = 1_000_000
"""A program of a megabyte is a mistake, such as a file of data."""


def read_program(path: Path) -> str:
    """Return the source of a program."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            source = file.read(MOST_CHARACTERS + 1)
    except FileNotFoundError:
        raise InputError(Fault("no such file", file=str(path))) from None
    except OSError as error:
        told = f"cannot be read: {error.strerror or error}"
        raise InputError(Fault(told, file=str(path))) from error
    except UnicodeDecodeError as error:
        fault = Fault(f"cannot be read as a program: {error}", file=str(path))
        raise InputError(fault) from error
    return checked_source(source, str(path))


def checked_source(source: str, file: str) -> str:
    """Return the source of a program that stands in a file, if it is one."""
    if len(source) > MOST_CHARACTERS:
        raise InputError(Fault("is too long", f"at most {MOST_CHARACTERS} characters", file=file))
    try:
        source.encode()
    except UnicodeEncodeError as error:
        raise InputError(Fault(f"is no text: {error}", file=file)) from error
    return source
