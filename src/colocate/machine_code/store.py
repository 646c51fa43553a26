"""Files that keep machine code for the next start.

A file appears whole or not at all, so a process that is killed leaves nothing half written. What
another version wrote has another name.
"""

import fcntl
import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from zlib import crc32

from colocate.machine_code.environment import folders, stamp_of_machine, stamp_of_sources

ENDING = ".kernels"
LOCK = "compiling.lock"
LONGEST_WAIT = 300.0
"""Seconds to wait for another process that compiles: ten times what all kernels take."""
LOOK = 0.05
"""Seconds between two tries to be next."""
UNREADABLE = (
    AttributeError,
    EOFError,
    ImportError,
    IndexError,
    KeyError,
    OSError,
    TypeError,
    ValueError,
    pickle.UnpicklingError,
)
"""What reading a pickle of unknown origin may raise."""


@dataclass(frozen=True)
class WayIn:
    """Where in a piece of machine code the way in from Python is.

    Parameters
    ----------
    function
        The symbol that Python calls.
    environment
        The symbol that must point at the constants.
    constants
        Python objects that the code refers to.
    """

    function: str
    environment: str
    constants: tuple[Any, ...]


@dataclass(frozen=True)
class Batch:
    """Machine code of kernels that were compiled together: an object file, and its ways in."""

    entries: dict[str, WayIn]
    code: bytes


def kept() -> Iterator[Batch]:
    """Yield all batches of these very sources."""
    for folder in folders():
        with suppress(OSError):
            for path in sorted(folder.glob(f"{_prefix()}*{ENDING}")):
                if batch := _read(path):
                    yield batch


def keep(batch: Batch) -> None:
    """Write a batch to the first folder that takes it, and remove what older sources left."""
    content = pickle.dumps((batch.entries, batch.code))
    content = crc32(content).to_bytes(4, "big") + content
    name = f"{_prefix()}{_digest(sorted(batch.entries))}{ENDING}"
    for folder in folders():
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            _write(folder / name, content)
            _tidy(folder)
            return


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Wait until no other process compiles; what it compiled need not be compiled again.

    The kernel of the system frees the lock of a process that ends. Where nothing can be locked,
    or another process takes too long, this one goes on.
    """
    lock = _lock_file()
    if lock is None:
        yield
        return
    try:
        until = monotonic() + LONGEST_WAIT
        while not _locked(lock) and monotonic() < until:
            sleep(LOOK)
        yield
    finally:
        os.close(lock)


def _lock_file() -> int | None:
    for folder in folders():
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            return os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    return None


def _locked(file: int) -> bool:
    """Lock a file unless another process has; a file that cannot be locked counts as locked."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _prefix() -> str:
    return f"{stamp_of_machine()}-{stamp_of_sources()}-"


def _digest(names: list[str]) -> str:
    return sha256("\n".join(names).encode()).hexdigest()[:16]


def _read(path: Path) -> Batch | None:
    try:
        content = path.read_bytes()
        if crc32(content[4:]) != int.from_bytes(content[:4], "big"):
            return None
        return Batch(*pickle.loads(content[4:]))
    except UNREADABLE:
        return None


def _write(path: Path, content: bytes) -> None:
    unfinished = path.with_name(f"{path.stem}.{os.getpid()}")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def _tidy(folder: Path) -> None:
    for path in folder.glob(f"{stamp_of_machine()}-*{ENDING}"):
        if not path.name.startswith(_prefix()):
            path.unlink(missing_ok=True)
