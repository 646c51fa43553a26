"""A note for those who wait for the first start."""

from colocate.machine_code.notice import tell_before_compiling
from colocate.outputs.text.console import notes


def say_when_compiling() -> None:
    """Write a note to stderr if this start has to compile kernels."""
    tell_before_compiling(lambda: notes().print("compiling kernels; later starts reuse them"))
