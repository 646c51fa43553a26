"""A note for those who wait for the first start."""

from typing import Any

from numba.core import event

from colocate.outputs.text.console import notes

KERNELS = "colocate."


class _Note(event.Listener):
    """Print one notice when the first kernel is compiled."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if not self.said and function.__module__.startswith(KERNELS):
            self.said = True
            notes().print("compiling kernels; later starts reuse them")

    def on_end(self, event: Any) -> None:
        """Nothing to say."""


def say_when_compiling() -> None:
    """Write a note to stderr if this start has to compile kernels."""
    event.register("numba:compile", _Note())  # type: ignore[no-untyped-call]
