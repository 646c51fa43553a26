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

from colocate.problem.code_cache import keep_code

Function = TypeVar("Function", bound=Callable[..., object])

ROOMS_WITH_KERNELS = ("problem", "solver")


def entry_kernel(function: Function) -> Function:
    """Compile a function that Python calls."""
    return cast(Function, _compiled(function))


def kernel(function: Function) -> Function:
    """Compile a function that kernels call, without the way in from Python, which takes as long.

    Called from Python all the same, once or in a test, it runs uncompiled.
    """
    return _without_way_in(function)


def leaf_kernel(function: Function) -> Function:
    """Compile a function that kernels call, and that makes no arrays.

    It does not count references to the arrays that it is given. Counting them is more than half of
    the time of a short function.
    """
    return _without_way_in(function, _nrt=False)


def _without_way_in(function: Function, **options: Any) -> Function:
    compiled = _compiled(function, no_cpython_wrapper=True, **options)
    compiled.add_overload = lambda result: compiled.overloads.update(
        {tuple(result.signature.args): result}
    )
    compiled._compile_for_args = lambda *_, **__: function
    return cast(Function, compiled)


def kernel_section(function: Function) -> Function:
    """Write a function that has hardly more than one caller into it, which compiles quicker."""
    return cast(Function, _compiled(function, inline="always"))


def _compiled(function: Callable[..., object], **options: Any) -> Any:
    options |= {"error_model": "numpy", "no_cfunc_wrapper": True, "nogil": True}
    compiled: Any = njit(**options)(function)
    keep_code(compiled, SOURCES)
    return compiled


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
