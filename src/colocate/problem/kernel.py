"""How hot loops are compiled.

A kernel is plain Python over numpy arrays and named tuples, so it also runs, slowly, without
the compiler (`kernel.py_func`). Nothing is compiled on import: the first call does it, and the
machine code is kept for the next start.
"""

from collections.abc import Callable
from typing import TypeVar, cast

from colocate.machine_code.entry import EntryKernel
from colocate.machine_code.marks import marked

Function = TypeVar("Function", bound=Callable[..., object])


def entry_kernel(function: Function) -> Function:
    """Compile a function that Python calls."""
    return cast(Function, EntryKernel(marked(function)))


def kernel(function: Function) -> Function:
    """Compile a function that kernels call; called from Python, it runs uncompiled."""
    return marked(function)


def leaf_kernel(function: Function) -> Function:
    """Compile a function that kernels call, and that makes no arrays.

    It does not count references to the arrays that it is given. Counting them is more than half of
    the time of a short function.
    """
    return marked(function, _nrt=False)


def kernel_section(function: Function) -> Function:
    """Write a function that has hardly more than one caller into it, which compiles quicker."""
    return marked(function, inline="always")


def leaf_section(function: Function) -> Function:
    """Compile a leaf kernel by itself, and write its machine code into each caller.

    A function with many sections compiles far quicker so, and just as fast code comes out of it.
    """
    return marked(function, _nrt=False, forceinline=True)
