"""What is wrong with the entries of a fleet file, all of it before anything is said."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from colocate.errors import InputError
from colocate.fault import Fault, Owner, Path
from colocate.inputs.spec import GpuSpec, ModelSpec

Entry = TypeVar("Entry", GpuSpec, ModelSpec)
Made = TypeVar("Made")


class EntryFaults:
    """Faults of GPUs and models, collected while something is made of every entry."""

    def __init__(self) -> None:
        self._found: list[Fault] = []

    def made(self, entries: Iterable[Entry], make: Callable[[Entry], Made]) -> list[Made]:
        """Return what is made of every entry, and take note of those that nothing can be made of.

        Parameters
        ----------
        entries
            All GPUs of a file, or all models.
        make
            What makes one of them, or raises an error.
        """
        made = []
        for number, entry in enumerate(entries):
            try:
                made.append(make(entry))
            except InputError as error:
                path, owner = _place_of(entry, number)
                self._found += [fault.within(path, owner) for fault in error.faults]
        return made

    def tell(self) -> None:
        """Raise what was found, if anything was."""
        if self._found:
            raise InputError(*self._found)


def _place_of(entry: GpuSpec | ModelSpec, number: int) -> tuple[Path, Owner]:
    if isinstance(entry, GpuSpec):
        return ("gpus", number), Owner("gpu", entry.stated_name or None)
    return ("models", number), Owner("model", entry.name)
