"""Files that commands write: never over what they read, and never in silence."""

from collections.abc import Iterable
from pathlib import Path

import typer


def refuse_to_overwrite(source: Path, targets: Iterable[Path | None]) -> None:
    """Refuse, before any work is done, to write over the file that is read."""
    for target in targets:
        if target is not None and target.exists() and source.exists() and target.samefile(source):
            raise typer.BadParameter(f"{target} is the input; write to another file")


def say_wrote(path: Path) -> None:
    """Say that a file was written."""
    from colocate.outputs.console import notes

    notes().print(f"wrote {path}", markup=False)
