"""Files that are written whole, or not at all."""

import os
from pathlib import Path

from colocate.errors import OutputError


def write_text(path: Path, text: str) -> None:
    """Write a file of text; see `write_bytes`."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file; whoever reads it meanwhile, or finds it after a fault, sees the old one."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        unfinished.write_bytes(data)
        os.replace(unfinished, path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
