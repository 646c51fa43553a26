"""Marks functions that kernels of the checker call; it shares none with what it checks."""

from collections.abc import Callable
from typing import TypeVar

from colocate.machine_code.marks import marked

Function = TypeVar("Function", bound=Callable[..., object])


def kernel_part(function: Function) -> Function:
    """Mark a function that is compiled with the kernels that call it."""
    return marked(function, _nrt=False)
