"""How hot loops are compiled.

A kernel is plain Python over numpy arrays and named tuples, so it also runs, slowly, without
the compiler (`kernel.py_func`). Nothing is compiled on import: the first call does it, and the
machine code is kept for the next start.

The code kept is that of these very sources. By itself, numba would only look at the file that
a kernel stands in and not notice a change in what it calls.
"""

from collections.abc import Callable, Iterator
from hashlib import sha256
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., object])

ROOMS_WITH_KERNELS = ("problem", "solver")


def kernel(function: Function) -> Function:
    """Compile a function."""
    return _compiled(function)


def kernel_section(function: Function) -> Function:
    """Write a function that has hardly more than one caller into it, which compiles quicker."""
    return _compiled(function, inline="always")


def _compiled(function: Function, **options: Any) -> Function:
    options |= {"error_model": "numpy", "no_cfunc_wrapper": True}
    compiled: Any = njit(**options)(function)
    try:
        compiled.enable_caching()
    except RuntimeError:  # there is no place to write to: it is compiled at every start
        return cast(Function, compiled)
    compiled._cache._cache_file._source_stamp = SOURCES
    return cast(Function, compiled)


def _python_files(folder: Traversable) -> Iterator[Traversable]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _python_files(entry)
        elif entry.name.endswith(".py"):
            yield entry


def _digest_of_sources() -> str:
    digest = sha256()
    for room in ROOMS_WITH_KERNELS:
        for file in _python_files(resources.files("colocate").joinpath(room)):
            digest.update(file.read_bytes())
    return digest.hexdigest()


SOURCES = _digest_of_sources()
"""What the kept machine code was compiled from."""
