"""A request for machine code."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from colocate.machine_code.arguments import written


@dataclass(frozen=True)
class KernelRequest:
    """A kernel that Python calls, and the kinds of the arguments."""

    module: str
    kernel: str
    kinds: tuple[Any, ...]

    @property
    def name(self) -> str:
        """What the code is kept under."""
        return f"{self.module}.{self.kernel}{written(self.kinds)}"

    @property
    def function(self) -> Callable[..., object]:
        """The source, as Python runs it."""
        function: Callable[..., object] = getattr(import_module(self.module), self.kernel).py_func
        return function
