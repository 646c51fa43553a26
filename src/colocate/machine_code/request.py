"""A wish for machine code."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

OPTIONS = "kernel_options"
"""The attribute of a function that says how it is to be compiled."""


@dataclass(frozen=True)
class Request:
    """A function, the kinds of its arguments as they are written down, and examples of them."""

    function: Callable[..., object]
    kinds: str
    arguments: tuple[Any, ...]

    @property
    def name(self) -> str:
        """What the code is kept under."""
        return f"{self.function.__module__}.{self.function.__qualname__}{self.kinds}"


Function = TypeVar("Function", bound=Callable[..., object])


def marked(function: Function, **options: Any) -> Function:
    """Let the compiler know that kernels may call a function, and how to compile it."""
    marks: Any = function
    marks.py_func = function
    marks.kernel_options = {"error_model": "numpy", **options}
    return function
