"""Numba's compiler, put to work on many kernels at once.

Numba would optimise each function by itself, then once more in each function that calls it. Here
the functions wait until all are there and are optimised once, together. Afterwards numba would not
compile other people's functions as usual, so this belongs into a process of its own.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from enum import EnumMeta
from functools import cache
from types import FunctionType
from typing import Any
from unittest.mock import patch

import numpy as np
from llvmlite import binding
from numba import njit
from numba import types as numba_types
from numba.core import codegen, ir
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import CPUContext
from numba.core.registry import cpu_target
from numba.core.targetconfig import TargetConfig
from numba.np.numpy_support import from_dtype

from colocate.machine_code.arguments import ALIGNED, C_CONTIGUOUS, F_CONTIGUOUS, WRITEABLE
from colocate.machine_code.marks import source_of
from colocate.machine_code.request import KernelRequest
from colocate.machine_code.store import Batch, WayIn

types: Any = numba_types


def compiled(requests: Iterable[KernelRequest]) -> Batch:
    """Compile kernels, all in one."""
    with global_compiler_lock:
        return _compiled_batch(requests)


def _compiled_batch(requests: Iterable[KernelRequest]) -> Batch:
    context = cpu_target.target_context
    cpu_target.typing_context.refresh()
    context.refresh()
    with _collecting(context.codegen()):
        results = {each.name: _compiled(each) for each in requests}
    libraries = [_with_way_in(context, result) for result in results.values()]
    entries = {
        name: WayIn(
            result.fndesc.llvm_cpython_wrapper_name,
            result.fndesc.env_name,
            tuple(result.environment.consts),
        )
        for name, result in results.items()
    }
    symbols = {entry.function for entry in entries.values()}
    return Batch(entries, _object_code(context.codegen(), libraries, symbols))


def _compiled(request: KernelRequest) -> Any:
    signature = tuple(map(_type, request.kinds))
    dispatcher = _dispatcher(request.function)
    dispatcher.compile(signature)
    return dispatcher.overloads[signature]


def _type(kind: Any) -> Any:
    """Return numba's name for a kind of argument."""
    if isinstance(kind, str):
        return getattr(types, kind)
    if kind is np.random.Generator:
        return types.npy_rng
    if isinstance(kind, EnumMeta):
        return types.IntEnumMember(kind, types.int64)
    head, *rest = kind
    if isinstance(head, type):
        return types.BaseTuple.from_types(tuple(map(_type, rest)), head)
    dimensions, flags = rest
    layout = "C" if flags & C_CONTIGUOUS else "F" if flags & F_CONTIGUOUS else "A"
    read_only, aligned = not flags & WRITEABLE, bool(flags & ALIGNED)
    return types.Array(from_dtype(head), dimensions, layout, read_only, aligned=aligned)


@cache
def _dispatcher(function: Any) -> Any:
    """Return numba's version of a kernel, which other kernels may call, but Python may not."""
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **function.kernel_options}
    twin = FunctionType(function.__code__, _names(function), function.__name__)
    twin.__module__, twin.__qualname__ = function.__module__, function.__qualname__
    dispatcher = njit(**options)(twin)
    dispatcher.add_overload = lambda result: dispatcher.overloads.update(
        {tuple(result.signature.args): result}
    )
    return dispatcher


_names_of: dict[str, dict[str, Any]] = {}


def _names(function: Any) -> dict[str, Any]:
    """Return what a function's module defines, with numba's version of each kernel."""
    module = function.__module__
    if module not in _names_of:
        names = _names_of[module] = dict(function.__globals__)
        for name, value in function.__globals__.items():
            if source := source_of(value):
                names[name] = _dispatcher(source)
    return _names_of[module]


class _Collected(codegen.JITCodeLibrary):
    """Code that waits to be optimised."""

    def add_llvm_module(self, module: Any) -> None:
        for function in module.functions:
            if not function.is_declaration and function.linkage == binding.Linkage.external:
                function.linkage = "weak_odr"  # others may bring the same one
        self._final_module.link_in(module)

    def finalize(self) -> None:
        self._finalized = True


_new_library: Any = _Collected


@contextmanager
def _collecting(generator: Any) -> Iterator[None]:
    """Let numba neither optimise nor load what it compiles, and waste no time on copies."""
    instead: dict[str, Any] = {
        "create_cpython_wrapper": lambda *_, **__: None,
        "create_cfunc_wrapper": lambda *_, **__: None,
        "get_executable": lambda *_: [].append,  # numba wants another function each time
    }
    with ExitStack() as stack:
        stack.enter_context(patch.object(generator, "_library_class", _Collected))
        stack.enter_context(patch.multiple(CPUContext, **instead))
        # Sections are copied block by block, each with the names of all blocks: half of the time.
        stack.enter_context(patch.object(ir.Scope, "__deepcopy__", _same, create=True))
        stack.enter_context(patch.object(ir.Loc, "__deepcopy__", _same, create=True))
        # Options are compared a hundred thousand times, each time with the defaults of all.
        stack.enter_context(patch.object(TargetConfig, "__eq__", _equal))
        yield


def _same(value: Any, _: Any) -> Any:
    return value


def _equal(options: Any, others: Any) -> Any:
    if type(options) is not type(others):
        return NotImplemented
    return options._values == others._values or options.values() == others.values()


def _with_way_in(context: Any, result: Any) -> Any:
    """Return a library with the function that Python calls."""
    library = _new_library(context.codegen(), f"way into {result.fndesc.qualname}")
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
        if not function.is_declaration:
            function.linkage = "external" if function.name in symbols else "internal"
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
