"""A process that does nothing but compile.

Numba stays out of the process that asks, which need not wait for its import when all is compiled.
The process waits a little for further requests: what kernels have in common is compiled once.
"""

import atexit
import gc
import os
import pickle
import sys
from collections.abc import Callable
from functools import partial
from select import select
from subprocess import DEVNULL, PIPE, Popen
from typing import IO, Any

from colocate.machine_code.request import KernelRequest
from colocate.machine_code.store import Batch

BEGIN = "import sys; sys.path[:] = {path!r}; from {module} import serve; serve()"
IDLE = 10.0
"""Seconds without a request after which the process ends, and its memory is free again."""
BROKEN = (OSError, EOFError, pickle.UnpicklingError)
"""What talking to a process that has ended may raise."""


class CompilerProcess:
    """The end of the line of the one who asks."""

    def __init__(self) -> None:
        self._process: Popen[bytes] | None = None
        self._owner = 0

    def ask(self, requests: list[KernelRequest]) -> Callable[[], Batch]:
        """Ask for machine code; returns what waits for the answer.

        Where no process can be started, or it fails, this one compiles.
        """
        try:
            process = self._running()
            assert process.stdin is not None
            pickle.dump(requests, process.stdin)
            process.stdin.flush()
        except BROKEN:
            return partial(_compiled_here, requests)
        return partial(self._answer, process, requests)

    def _answer(self, process: Popen[bytes], requests: list[KernelRequest]) -> Batch:
        assert process.stdout is not None
        try:
            batch: Batch = pickle.load(process.stdout)
        except BROKEN:
            return _compiled_here(requests)
        except KeyboardInterrupt:
            process.kill()  # or its answer would be taken for that to the next request
            raise
        return batch

    def _running(self) -> Popen[bytes]:
        process = self._process
        if process is None or process.poll() is not None or self._owner != os.getpid():
            code = BEGIN.format(path=sys.path, module=__name__)
            command = [sys.executable, "-c", code]
            process = Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
            self._process, self._owner = process, os.getpid()
            atexit.register(_end, process, self._owner)
        return process


def _end(process: Popen[bytes], owner: int) -> None:
    if os.getpid() == owner:
        process.kill()
        process.communicate()


def _compiled_here(requests: list[KernelRequest]) -> Batch:
    from colocate.machine_code.compiler import compiled

    return compiled(requests)


def serve() -> None:
    """Answer requests until there are no more.

    A fault ends the process. Then the one who asked compiles by itself, and sees what is wrong.
    """
    gc.disable()  # a fifth of the time would go into looking for cycles
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    while (requests := _next(sys.stdin.buffer)) is not None:
        pickle.dump(_compiled_here(requests), answers)
        answers.flush()
    os._exit(0)


def _next(questions: IO[bytes]) -> Any:
    ready, _, _ = select([questions], [], [], IDLE)
    try:
        return pickle.load(questions) if ready else None
    except EOFError:
        return None
