"""Kernels as numba compiles and keeps them by itself: slower to start, but on every platform.

Numba looks for changes in the file of a kernel alone. After an edit of a kernel that others call,
remove the `__pycache__` folders.
"""

from functools import cache
from types import FunctionType
from typing import Any

from numba import njit

from colocate.machine_code.marks import source_of


@cache
def compiled_by_numba(function: Any) -> Any:
    """Return numba's own version of a kernel, which calls numba's versions of others."""
    names = dict(function.__globals__)
    for name in function.__code__.co_names:
        if source := source_of(names.get(name)):
            names[name] = compiled_by_numba(source)
    twin = FunctionType(function.__code__, names, function.__name__)
    twin.__module__, twin.__qualname__ = function.__module__, function.__qualname__
    return njit(cache=True, **function.kernel_options)(twin)
