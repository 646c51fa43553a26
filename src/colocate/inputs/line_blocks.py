"""Long text files, read block by block: whole lines, in constant memory, also from gzip."""

import gzip
import zlib
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.inputs.text_file import opened

BLOCK = 256 * 1024
"""Bytes that are read at once: some ten thousand lines, which take a few megabytes as columns."""
LONGEST_LINE = 64 * 1024
"""Bytes: a line of a trace has a few dozen."""
GZIP = b"\x1f\x8b"
"""What every gzip file begins with (RFC 1952)."""
BYTE_ORDER_MARK = "\ufeff"


class LineBlock(NamedTuple):
    """Some lines of a file."""

    first: int
    """The number of the first line, from 1 on."""
    text: str
    """The lines, with a newline between them."""


def line_blocks(path: str | Path) -> Iterator[LineBlock]:
    """Yield a file in blocks of whole lines, `-` being standard input, gzipped or not."""
    try:
        with opened(path) as file:
            yield from _decoded(_unpacked(file))
    except OSError as error:
        raise InputError(Fault(f"cannot be read, {error.strerror or error}")) from None


def _unpacked(file: BinaryIO) -> BufferedIOBase:
    """Return what is in a gzip file, any other file as it is."""
    if not hasattr(file, "peek") or file.peek(len(GZIP))[: len(GZIP)] != GZIP:
        return cast(BufferedIOBase, file)
    return gzip.GzipFile(fileobj=file)


def _decoded(file: BufferedIOBase) -> Iterator[LineBlock]:
    first, rest = 1, b""
    while content := _some(file, first):
        lines, newline, rest = (rest + content).rpartition(b"\n")
        if newline:
            yield _block(first, lines)
            first += lines.count(b"\n") + 1
        if len(rest) > LONGEST_LINE:
            raise _too_long(first)
    if rest:
        yield _block(first, rest)


def _some(file: BufferedIOBase, line: int) -> bytes:
    """Return the next bytes of a file: all that can be had before the place where it is broken.

    Parameters
    ----------
    file
        The file.
    line
        The first line that has not been read as a whole.
    """
    content = b""
    try:
        while len(content) < BLOCK and (part := file.read1(BLOCK - len(content))):
            content += part
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        if not content:
            found = f"cannot be unpacked, {error}"
            raise InputError(Fault(found, "a whole gzip file", line=line)) from None
    return content


def _block(first: int, lines: bytes) -> LineBlock:
    longest = max(map(len, lines.split(b"\n")))
    if longest > LONGEST_LINE:
        lengths = [len(line) for line in lines.split(b"\n")]
        raise _too_long(first + lengths.index(longest))
    try:
        text = lines.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first + lines.count(b"\n", 0, error.start)
        raise InputError(Fault("is not UTF-8", "text", line=line)) from None
    if first == 1:
        text = text.removeprefix(BYTE_ORDER_MARK)
    return LineBlock(first, text.replace("\r\n", "\n").removesuffix("\r"))


def _too_long(line: int) -> InputError:
    expected = f"at most {LONGEST_LINE} bytes long"
    return InputError(Fault("is too long", expected, line=line))
