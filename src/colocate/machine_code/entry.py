"""A kernel that Python calls."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial, update_wrapper
from threading import RLock
from typing import Any

import numpy as np

from colocate.machine_code.arguments import kind_of
from colocate.machine_code.request import KernelRequest

_lock = RLock()
_waiting: ContextVar[list[KernelRequest] | None] = ContextVar("waiting", default=None)
"""Requests that wait to be compiled together."""
_uncompiled: ContextVar[bool] = ContextVar("uncompiled", default=False)
"""Whether a kernel that calls others is running as Python."""


class EntryKernel:
    """A function whose calls run machine code for the kinds of their arguments.

    Code that no file holds is compiled at the first call. `py_func` is the function itself.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        self.py_func = function
        self._code: dict[Any, Callable[..., object]] = {}
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Run the machine code."""
        kinds = tuple(map(kind_of, arguments))
        code = self._code.get(kinds)
        if code is None:
            code = self._found(kinds)
        return code(*arguments)

    @property
    def kinds(self) -> list[tuple[Any, ...]]:
        """The kinds of arguments that it was called with."""
        return list(self._code)

    def _found(self, kinds: tuple[Any, ...]) -> Callable[..., object]:
        """Return machine code, or the function itself where it is not to be compiled now."""
        from colocate.machine_code.environment import compiler_is_off, loads_without_numba
        from colocate.machine_code.library import code_of

        if _uncompiled.get() or compiler_is_off():
            return self.py_func
        if not loads_without_numba():
            return self._ordinary(kinds)
        request = KernelRequest(self.py_func.__module__, self.py_func.__name__, kinds)
        waiting = _waiting.get()
        with _lock:
            code = code_of(request)
            if code is None and waiting is not None:
                waiting.append(request)
                return partial(_run_uncompiled, self.py_func)
            if code is None:
                _compile([request])
                code = code_of(request)
        assert code is not None
        self._code[kinds] = code
        return code

    def _ordinary(self, kinds: tuple[Any, ...]) -> Callable[..., object]:
        from colocate.machine_code.ordinary import compiled_by_numba

        code: Callable[..., object] = compiled_by_numba(self.py_func)
        self._code[kinds] = code
        return code


@contextmanager
def compiled_together() -> Iterator[None]:
    """Run kernels without machine code as Python, and compile them together at the end.

    Kernels that are compiled together share what they call, and two processes can do it. Inside
    another such block, all wait for the end of that one.
    """
    if _waiting.get() is not None:
        yield
        return
    waiting: list[KernelRequest] = []
    token = _waiting.set(waiting)
    try:
        yield
    finally:
        _waiting.reset(token)
    if waiting:
        with _lock:
            _compile(list(dict.fromkeys(waiting)))


def _run_uncompiled(function: Callable[..., object], *arguments: Any) -> object:
    token = _uncompiled.set(True)
    try:
        with np.errstate(all="ignore"):  # machine code is silent as well
            return function(*arguments)
    finally:
        _uncompiled.reset(token)


def _compile(requests: list[KernelRequest]) -> None:
    from colocate.machine_code.batches import compile_requests

    compile_requests(requests)
