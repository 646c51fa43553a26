"""How hot loops are compiled.

A kernel is plain Python over numpy arrays and named tuples, so it also runs, slowly, without
the compiler (`kernel.py_func`). Nothing is compiled on import: the first call does it, and the
machine code is kept for the next start.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    """Compile a function that Python calls."""
    return _compiled(function)


def kernel_part(function: Function) -> Function:
    """Compile a function that only kernels call: without a way in from Python, it is quicker."""
    return _compiled(function, no_cpython_wrapper=True)


def kernel_section(function: Function) -> Function:
    """Write a function that has hardly more than one caller into it, instead of compiling it."""
    return _compiled(function, no_cpython_wrapper=True, inline="always")


def _compiled(function: Function, **options: Any) -> Function:
    options |= {"cache": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    compiled: Function = njit(**options)(function)
    return compiled
