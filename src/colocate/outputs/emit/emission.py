"""What a target produces: files as text, and notes on what they cannot do."""

from dataclasses import dataclass


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
    notes: tuple[str, ...] = ()
    """What the files cannot honour, for a person."""
    companions: tuple[EmittedFile, ...] = ()
    """What goes beside them into a folder; a single file is printed without it."""
