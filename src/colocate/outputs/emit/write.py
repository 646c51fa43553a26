"""Emitted files on their way to a folder."""

from collections.abc import Sequence
from pathlib import Path

from colocate.errors import OutputError, UnknownNameError
from colocate.outputs.emit.emission import EmittedFile
from colocate.outputs.text_output import write_text

RUNNABLE = 0o755


def chosen(files: Sequence[EmittedFile], node: str | None) -> list[EmittedFile]:
    """Return the file of one machine, or all."""
    found = [file for file in files if node is None or file.node == node]
    if not found:
        known = [file.node for file in files if file.node]
        if not known:
            raise UnknownNameError(f"node={node!r}: there is one file for all, leave --node out")
        raise UnknownNameError.among("node", str(node), known)
    return found


def write_files(folder: Path, files: Sequence[EmittedFile]) -> list[Path]:
    """Write files to a folder, which is made if it is not there, and return where they are."""
    paths = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be made: {error.strerror}") from error
    for file in files:
        path = folder / file.name
        write_text(path, file.text)
        if file.executable:
            path.chmod(RUNNABLE)
        paths.append(path)
    return paths
