"""Text files as they arrive from outside, and errors that name them."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO

from colocate.errors import InputError

LARGEST_FILE = 16 * 1024 * 1024
STANDARD_INPUT = "-"
"""Stands for what is piped in, where a file could be named."""


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Let every line of an error name the file."""
    name = "standard input" if str(path) == STANDARD_INPUT else path
    try:
        yield
    except InputError as error:
        lines = str(error).splitlines()
        raise InputError("\n".join(f"{name}: {line}" for line in lines)) from None


def read_text(path: str | Path) -> str:
    """Return the text of a file, `-` being standard input, or say why it cannot be read."""
    try:
        with _opened(path) as file:
            content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise InputError(f"larger than {LARGEST_FILE} bytes, must be a smaller file")
        return content.decode("utf-8")
    except OSError as error:
        raise InputError(f"cannot be read, {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start} is not UTF-8, must be a text file") from None


def _opened(path: str | Path) -> AbstractContextManager[BinaryIO]:
    """Open a file; standard input stays open."""
    if str(path) == STANDARD_INPUT:
        return nullcontext(sys.stdin.buffer)
    return Path(path).open("rb")
