"""Compiling what is asked for, in two processes where there are two processors."""

import os

from colocate.machine_code.compiler_process import CompilerProcess
from colocate.machine_code.library import add, code_of, look_again
from colocate.machine_code.notice import about_to_compile
from colocate.machine_code.request import KernelRequest
from colocate.machine_code.shares import shared_out
from colocate.machine_code.store import Batch, keep, one_at_a_time

PROCESSES = tuple(CompilerProcess() for _ in range(min(2, os.cpu_count() or 1)))
"""More of them would mostly compile the same callees."""


def compile_requests(requests: list[KernelRequest]) -> None:
    """Compile kernels, unless another process has kept them in the meantime, and load them."""
    with one_at_a_time():
        look_again()
        missing = [each for each in requests if code_of(each) is None]
        if missing:
            about_to_compile()
            for batch in _compiled(missing):
                add([batch])
                keep(batch)
    for each in requests:
        code_of(each)


def _compiled(requests: list[KernelRequest]) -> list[Batch]:
    shares = shared_out(requests, len(PROCESSES))
    asked = [process.ask(share) for process, share in zip(PROCESSES, shares, strict=False)]
    return [answer() for answer in asked]
