"""Numba's compiler, put to work on many kernels at once.

Numba would optimise each function by itself, then once more in each function that calls it. Here
the functions wait until all are there and are optimised once, together.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from types import FunctionType
from typing import Any
from unittest.mock import patch

from llvmlite import binding
from numba import njit, typeof
from numba.core import codegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import CPUContext
from numba.core.registry import cpu_target

from colocate.machine_code.entry import EntryKernel
from colocate.machine_code.request import OPTIONS, Request
from colocate.machine_code.store import Batch, Entry

Signature = tuple[Any, ...]
"""Numba's types of the arguments."""


def signature_of(request: Request) -> Signature:
    """Return what numba calls the kinds of the arguments."""
    return tuple(map(typeof, request.arguments))


@global_compiler_lock
def compiled(wishes: dict[str, tuple[Callable[..., object], Signature]]) -> Batch:
    """Compile functions for the types of their arguments, by the names that they are kept under."""
    context = cpu_target.target_context
    cpu_target.typing_context.refresh()
    context.refresh()
    with _collecting(context.codegen()):
        results = {
            name: _dispatcher(function).compile_result(signature)
            for name, (function, signature) in wishes.items()
        }
    libraries = [_with_way_in(context, result) for result in results.values()]
    entries = {
        name: Entry(
            result.fndesc.llvm_cpython_wrapper_name,
            result.fndesc.env_name,
            tuple(result.environment.consts),
        )
        for name, result in results.items()
    }
    symbols = {entry.function for entry in entries.values()}
    return Batch(entries, _object_code(context.codegen(), libraries, symbols))


class _Dispatcher:
    """What numba makes of one kernel; it is never called, only compiled and called by others."""

    def __init__(self, function: Callable[..., object]) -> None:
        options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "nogil": True}
        twin = FunctionType(
            function.__code__,
            _names(function),
            function.__name__,
            function.__defaults__,
            function.__closure__,
        )
        twin.__module__, twin.__qualname__ = function.__module__, function.__qualname__
        self.numba: Any = njit(**options, **getattr(function, OPTIONS))(twin)
        self.numba.add_overload = self._add

    def _add(self, result: Any) -> None:
        self.numba.overloads[tuple(result.signature.args)] = result

    def compile_result(self, signature: Signature) -> Any:
        self.numba.compile(signature)
        return self.numba.overloads[signature]


@cache
def _dispatcher(function: Callable[..., object]) -> _Dispatcher:
    return _Dispatcher(function)


_names_of: dict[str, dict[str, Any]] = {}


def _names(function: Any) -> dict[str, Any]:
    """Return what a function's module defines, with numba's version of each kernel."""
    module = function.__module__
    if module not in _names_of:
        names = _names_of[module] = dict(function.__globals__)
        for name, value in function.__globals__.items():
            source = value.py_func if isinstance(value, EntryKernel) else value
            if isinstance(source, FunctionType) and hasattr(source, OPTIONS):
                names[name] = _dispatcher(source).numba
    return _names_of[module]


class _Collected(codegen.JITCodeLibrary):  # type: ignore[misc]
    """Code that waits to be optimised."""

    def add_llvm_module(self, module: Any) -> None:
        self._final_module.link_in(module)

    def finalize(self) -> None:
        self._finalized = True


@contextmanager
def _collecting(generator: Any) -> Iterator[None]:
    """Let numba neither optimise nor load what it compiles, nor make ways in from elsewhere."""
    nothing = {
        "create_cpython_wrapper": lambda *_, **__: None,
        "create_cfunc_wrapper": lambda *_, **__: None,
        "get_executable": lambda *_: [].append,  # numba wants another one each time
    }
    with patch.object(generator, "_library_class", _Collected), patch.multiple(CPUContext, **nothing):
        yield


def _with_way_in(context: Any, result: Any) -> Any:
    """Return a library with the function that Python calls."""
    library = _Collected(context.codegen(), f"way into {result.fndesc.qualname}")
    library.add_linking_library(result.library)
    inner = result.target_context.subtarget(environment=result.environment, fndesc=result.fndesc)
    inner.create_cpython_wrapper(
        library, result.fndesc, result.environment, result.call_helper, release_gil=True
    )
    return library


def _object_code(generator: Any, libraries: Iterable[Any], symbols: set[str]) -> bytes:
    """Link libraries and all that they call into one module, and optimise that."""
    module = binding.parse_assembly(str(generator._create_empty_module("kernels")))
    module.data_layout = generator._data_layout
    for library in _all_called(libraries):
        module.link_in(library._final_module, preserve=True)
    for function in module.functions:
        if not function.is_declaration and function.name not in symbols:
            function.linkage = "internal"
    module.verify()
    for options in (
        {"loop_vectorize": False, "slp_vectorize": False, "opt": 0, "cost": "cheap"},
        {},
    ):
        passes, builder = generator._module_pass_manager(**options)
        passes.run(module, builder)
    code: bytes = generator._tm.emit_object(module)
    return code


def _all_called(libraries: Iterable[Any]) -> list[Any]:
    """Return the libraries, and those that they link, each once."""
    found: dict[int, Any] = {}
    waiting = list(libraries)
    while waiting:
        library = waiting.pop()
        if id(library) not in found:
            found[id(library)] = library
            waiting += library._linking_libraries
    return list(found.values())
