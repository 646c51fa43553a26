"""Emitted files on their way to a folder."""

from collections.abc import Sequence
from pathlib import Path

from colocate.errors import UnknownNameError
from colocate.fault import Fault
from colocate.outputs.emit.emission import EmittedFile
from colocate.outputs.emit.settings import Target

SIGNATURE, SIGNED_WITHIN = "colocate plan", 500
"""The words that mark an emitted file, and the letters within which they stand."""

STEMS = {Target.SYSTEMD: "colocate"}
"""What the names of files begin with, where that is not the target."""


def chosen(files: Sequence[EmittedFile], node: str | None) -> list[EmittedFile]:
    """Return the file of one machine, or all."""
    found = [file for file in files if node is None or file.node == node]
    if not found:
        known = [file.node for file in files if file.node]
        if not known:
            one, advice = "names no file: there is one for all", "leave --node out"
            raise UnknownNameError(Fault(one, advice=advice, value=node, path=("node",)))
        raise UnknownNameError.among("node", str(node), known)
    return found


def left_over(folder: Path, target: Target, files: Sequence[EmittedFile]) -> list[Path]:
    """Return the files that another plan left in a folder.

    Parameters
    ----------
    folder
        Where to look.
    target
        What the files are for.
    files
        Those of this plan, which stay.
    """
    names = {file.name for file in files}
    stem = STEMS.get(target, target.value)
    suffixes = {Path(name).suffix for name in names}
    found = (path for suffix in suffixes for path in folder.glob(f"{stem}*{suffix}"))
    others = sorted(path for path in found if path.name not in names)
    return [path for path in others if _is_emitted(path, f"{stem}{path.suffix}", f"{stem}-")]


def foreign(folder: Path, files: Sequence[EmittedFile]) -> list[Path]:
    """Return the files of others in a folder that these files would replace."""
    paths = [folder / file.name for file in files]
    return [path for path in paths if path.exists() and not _is_marked(path)]


def _is_emitted(path: Path, name: str, prefix: str) -> bool:
    """Return whether a file has a name of ours and the mark of an emitted file."""
    return (path.name == name or path.name.startswith(prefix)) and _is_marked(path)


def _is_marked(path: Path) -> bool:
    """Return whether a file has the mark of an emitted one."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return SIGNATURE in file.read(SIGNED_WITHIN)
    except OSError:
        return False
