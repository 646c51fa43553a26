"""Text files as they arrive from outside, and errors that name them."""

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO

from colocate.errors import InputError, within
from colocate.fault import Fault

LARGEST_FILE = 64 * 1024 * 1024
"""Bytes: a plan of 100,000 models with its fleet; a larger file was named by mistake."""
STANDARD_INPUT = "-"
"""Stands for what is piped in, where a file could be named."""


def name_of(path: str | Path) -> str:
    """Return what messages call a file."""
    return "standard input" if str(path) == STANDARD_INPUT else str(path)


def naming(path: str | Path) -> AbstractContextManager[None]:
    """Let faults that are found meanwhile name the file."""
    return within(file=name_of(path))


def read_text(path: str | Path, most: int = LARGEST_FILE) -> str:
    """Return the text of a file, `-` being standard input, or say why it cannot be read."""
    try:
        with opened(path) as file:
            content = file.read(most + 1)
        if len(content) > most:
            raise InputError(Fault("is too large", f"a file of at most {most} bytes"))
        return content.decode("utf-8")
    except OSError as error:
        raise InputError(Fault(f"cannot be read, {error.strerror or error}")) from None
    except UnicodeDecodeError as error:
        raise InputError(Fault(f"byte {error.start} is not UTF-8", "a text file")) from None


def opened(path: str | Path) -> AbstractContextManager[BinaryIO]:
    """Open a file; standard input stays open."""
    if str(path) == STANDARD_INPUT:
        return nullcontext(sys.stdin.buffer)
    return Path(path).open("rb")
