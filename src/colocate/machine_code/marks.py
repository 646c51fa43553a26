"""How a function says that it is a kernel."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., object])


def marked(function: Function, **options: Any) -> Function:
    """Let the compiler know that kernels may call a function, and how it is compiled."""
    marks: Any = function
    marks.py_func = function
    marks.kernel_options = {"error_model": "numpy", "nogil": True, **options}
    return function


def source_of(value: object) -> Any:
    """Return the function that a kernel is made of; None for anything else."""
    function = getattr(value, "py_func", None)
    return function if hasattr(function, "kernel_options") else None


def called_by(function: Any) -> Iterator[Any]:
    """Yield the kernels that a kernel names, as functions."""
    for name in function.__code__.co_names:
        if source := source_of(function.__globals__.get(name)):
            yield source
