"""What a target produces: files as text, and notes on what they cannot do."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from colocate.errors import OutputError
from colocate.outputs.text.whole_files import write_text

RUNNABLE = 0o755
"""The mode of a script: the owner may change it, everyone may run it."""


class NoteKind(StrEnum):
    """What a note is about."""

    ISOLATION = "isolation"
    """Engines on a GPU can bring each other down."""
    SHARING = "sharing"
    """How engines share a GPU."""
    CHECKPOINT = "checkpoint"
    """A model needs a checkpoint in another format than its source may have."""
    LOADING = "loading"
    """An engine needs more memory while it loads."""
    MEMORY = "memory"
    """A GPU keeps little memory free."""
    FORMAT = "format"
    """A GPU does not run a format as it is."""
    MAKER = "maker"
    """GPUs of a maker lack something."""
    BALANCE = "balance"
    """An engine does not compare the free memory of its GPUs."""
    SLEEP = "sleep"
    """Who can put engines to sleep."""
    SOURCE = "source"
    """A name that engines may not be able to load."""
    TASK = "task"
    """A model that embeds or ranks has an engine that answers chats."""
    SIZE = "size"
    """What was assumed or left out when a model was sized."""
    TARGET = "target"
    """What the files of this target cannot do."""
    GATEWAY = "gateway"
    """What the files of gateways cannot do."""


class Note(NamedTuple):
    """What a person should know before the files are used."""

    kind: NoteKind
    text: str
    """The sentence."""
    about: tuple[str, ...] = ()
    """The names of the models, engines or GPUs that it is about, if it is about some."""


@dataclass(frozen=True)
class EmittedFile:
    """One file; its name is safe in any folder."""

    name: str
    text: str
    node: str = ""
    """The machine that it is for, empty where there is only one or it is for all."""
    executable: bool = False


@dataclass(frozen=True)
class Emission:
    """All files of a target."""

    files: tuple[EmittedFile, ...]
    notes: tuple[Note, ...] = ()
    """What the files cannot honour."""
    companions: tuple[EmittedFile, ...] = ()
    """What goes beside them into a folder; a single file is printed without it."""

    def write(self, folder: str | Path) -> list[Path]:
        """Write all files to a folder, which is made if needed, and return their paths."""
        return write_files(Path(folder), (*self.files, *self.companions))


def notes_on(kind: NoteKind, texts: Iterable[str]) -> tuple[Note, ...]:
    """Return sentences as notes that are about no model in particular."""
    return tuple(Note(kind, text) for text in texts)


def write_files(folder: Path, files: Iterable[EmittedFile]) -> list[Path]:
    """Write files to a folder, which is made if needed, and return their paths."""
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
