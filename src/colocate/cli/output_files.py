"""Files that commands write: never over what they read, and never in silence."""

import errno
import os
from collections.abc import Iterable
from pathlib import Path

import typer

from colocate.errors import OutputError


def check_outputs(source: Path, targets: Iterable[Path | None]) -> None:
    """Refuse files that cannot be written or would be lost, before any work is done."""
    given = [target for target in targets if target is not None]
    for number, target in enumerate(given):
        refuse_to_overwrite(source, target)
        if target.resolve() in [other.resolve() for other in given[:number]]:
            raise typer.BadParameter(f"{target} is given twice; write to different files")
        folder = target.resolve().parent
        if not os.access(folder, os.W_OK):
            code = errno.EACCES if folder.exists() else errno.ENOENT
            raise OutputError(f"{target}: cannot be written: {os.strerror(code)}")


def refuse_to_overwrite(source: Path, target: Path) -> None:
    """Refuse to write over the file that is read."""
    if target.exists() and source.exists() and target.samefile(source):
        raise typer.BadParameter(f"{target} is the input; write to another file")


def refuse_to_replace(target: Path, force: bool) -> None:
    """Refuse to write over a file that may have been edited, unless that was asked for."""
    if target.exists() and not force:
        raise typer.BadParameter(f"{target} would be replaced; give another file, or --force")


def say_wrote(path: Path) -> None:
    """Print that a file was written."""
    from colocate.outputs.text.console import notes

    notes().print(f"wrote {path}", markup=False)
