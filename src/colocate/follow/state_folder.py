"""The folder in which `colocate watch` keeps what must survive; one process at a time owns it."""

import fcntl
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Self

from colocate.errors import InputError, OutputError
from colocate.fault import Fault
from colocate.follow.state import WatchState
from colocate.inputs.text_file import naming, read_text
from colocate.outputs.text.whole_files import write_text

STATE, LOCK, METRICS = "state.json", "lock", "metrics.prom"
"""The files: what is known, who owns the folder, and what Prometheus reads."""
FLEET, PLACEMENT, STEPS = "fleet.json", "placement.json", "steps.json"
"""The last change: the fleet with the demand that was measured, where models go, and how."""
BEGIN_ANEW = "remove it to begin anew from a plan"


def has_state(path: Path) -> bool:
    """Whether a `colocate watch` has left what it knows in a folder."""
    return (path / STATE).exists()


class StateFolder:
    """Reads and writes the state; a context manager that frees the folder at its end.

    Every write is complete and on the disk before the next thing happens, so a process that is
    killed at any moment leaves a state that is true.

    Parameters
    ----------
    path
        The folder, which is made if needed.

    Raises
    ------
    InputError
        If another process owns it.
    OutputError
        If it cannot be made or written to.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise OutputError(f"{path}: cannot be used: {error.strerror}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            found = "is in use by another `colocate watch`"
            advice = "end that one, or give another --state"
            raise InputError(Fault(found, advice=advice, file=str(path))) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        with suppress(OSError):
            os.close(self._lock)

    def read(self) -> WatchState | None:
        """Return what was written last; None if that is nothing."""
        if not has_state(self.path):
            return None
        file = self.path / STATE
        with naming(file):
            try:
                data = json.loads(read_text(file))
            except (ValueError, RecursionError) as error:
                raise InputError(Fault(f"not valid JSON, {error}", advice=BEGIN_ANEW)) from None
            return WatchState.from_dict(data)

    def write(self, state: WatchState) -> None:
        """Write the state, and wait until the disk has it."""
        text = json.dumps(state.as_dict(), indent=1)
        write_text(self.path / STATE, text, durable=True)

    def write_change(self, fleet: str, placement: str, steps: str) -> None:
        """Write the fleet with its demand, the placement, and the steps towards it, as JSON."""
        for name, text in ((FLEET, fleet), (PLACEMENT, placement), (STEPS, steps)):
            write_text(self.path / name, text, durable=True)

    def write_metrics(self, text: str) -> None:
        """Write the metrics of the last round."""
        write_text(self.path / METRICS, text)
