"""What machine code depends on besides its source, and where there is room to keep it."""

import os
import sys
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
ROOMS_WITH_KERNELS = (
    "latency",
    "machine_code",
    "problem",
    "replan/search/kernel",
    "simulate",
    "solver",
)
FOLDER = "NUMBA_CACHE_DIR"


def compiler_is_off() -> bool:
    """Say whether kernels are to run as Python, as numba's own switch has it."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in {"", "0"}


def loads_without_numba() -> bool:
    """Return whether code can be loaded without numba; tried on Linux with CPython alone."""
    return sys.platform == "linux" and sys.implementation.name == "cpython"


@cache
def stamp_of_machine() -> str:
    """Return a digest of the interpreter, the compiler with its settings, and the processor."""
    from llvmlite import binding

    facts = [sys.version, version("numba"), version("llvmlite"), version("numpy")]
    facts += [binding.get_process_triple(), binding.get_host_cpu_name()]
    facts.append(binding.get_host_cpu_features().flatten())
    facts += [
        f"{name}={value}"
        for name, value in sorted(os.environ.items())
        if name.startswith("NUMBA_") and name != FOLDER
    ]
    return sha256("\n".join(facts).encode()).hexdigest()[:12]


@cache
def stamp_of_sources() -> str:
    """Return a digest of the names, sizes and times of all files that kernels stand in."""
    digest = sha256(str(PACKAGE).encode())
    for room in ROOMS_WITH_KERNELS:
        for entry in _python_files(str(PACKAGE / room)):
            seen = entry.stat()
            digest.update(f"{entry.path} {seen.st_size} {seen.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


def _python_files(folder: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.endswith(".py"):
                yield entry
            elif entry.name != "__pycache__" and entry.is_dir():
                yield from _python_files(entry.path)


def folders() -> Iterator[Path]:
    """Yield the folders that may keep machine code, the preferred one first."""
    home = sha256(str(PACKAGE).encode()).hexdigest()[:12]
    if chosen := os.environ.get(FOLDER):
        yield Path(chosen) / f"colocate-{home}"
        return
    yield PACKAGE / "__pycache__"
    yield Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / f"colocate-{home}"
