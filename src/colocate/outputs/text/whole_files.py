"""Files that are written whole, or not at all."""

import os
import shutil
from pathlib import Path

from colocate.errors import OutputError


def write_text(path: Path, text: str, *, durable: bool = False) -> None:
    """Write a file of text.

    Parameters
    ----------
    path, text, durable
        See `write_bytes`.
    """
    write_bytes(path, text.encode(), durable=durable)


def write_bytes(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Write a file; until it is complete, and after a fault, the old one stays in place.

    A link stays a link, and a pipe or device is written to directly.

    Parameters
    ----------
    path, data
        The file, and its new content.
    durable
        Whether to wait until the disk has it, so that it survives a machine that stops.
    """
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            target.write_bytes(data)
        else:
            _replace(target, data, durable)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error


def _replace(path: Path, data: bytes, durable: bool) -> None:
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        unfinished.write_bytes(data)
        if durable:
            _flush(unfinished)
        if path.exists():
            shutil.copymode(path, unfinished)
        os.replace(unfinished, path)
        if durable:
            _flush(path.parent)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def _flush(path: Path) -> None:
    """Wait until the disk has a file, or the names in a folder."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
