"""A kernel that Python calls."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import update_wrapper
from threading import RLock
from typing import Any

from colocate.machine_code.arguments import kind_of, written
from colocate.machine_code.request import Request

_wanted: ContextVar[list[Request] | None] = ContextVar("wanted", default=None)
_lock = RLock()


class EntryKernel:
    """A function whose calls run machine code for the kinds of their arguments.

    Code that no file holds is compiled at the first call. `py_func` is the function itself.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        self.py_func = function
        self._code: dict[Any, Callable[..., object]] = {}
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        kind = tuple(map(kind_of, arguments))
        code = self._code.get(kind)
        if code is None:
            code = self._found(kind, arguments)
        return code(*arguments)

    def _found(self, kind: Any, arguments: tuple[Any, ...]) -> Callable[..., object]:
        """Return machine code, or the function itself where that is to wait or not to be."""
        from colocate.machine_code.environment import compiler_is_off
        from colocate.machine_code.library import code_of

        if compiler_is_off():
            return self.py_func
        request = Request(self.py_func, written(kind), arguments)
        wanted = _wanted.get()
        with _lock:
            code = code_of(request)
            if code is None and wanted is not None:
                wanted.append(request)
                return self.py_func
            if code is None:
                _compile([request])
                code = code_of(request)
        assert code is not None
        self._code[kind] = code
        return code


@contextmanager
def compiled_together() -> Iterator[None]:
    """Run what has no machine code uncompiled, and compile all of it at the end, at once.

    Kernels that are compiled together share what they call, and two processes can do it.
    """
    wanted: list[Request] = []
    token = _wanted.set(wanted)
    try:
        yield
    finally:
        _wanted.reset(token)
    if wanted:
        with _lock:
            _compile(wanted)


def _compile(requests: list[Request]) -> None:
    from colocate.machine_code.batches import compile_requests

    compile_requests(requests)
