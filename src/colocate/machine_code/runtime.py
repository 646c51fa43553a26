"""The part of numba that compiled code calls while it runs, which is written in C.

Importing numba would bring in its compiler as well, so the extension modules are loaded by
themselves. A later import of numba finds them loaded.
"""

import builtins
import pickle
import sys
from ctypes import PYFUNCTYPE, c_int, c_void_p, cast, py_object, string_at
from functools import cache
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from llvmlite import binding

FUNCTIONS, HELPERS, MEMORY = "numba._dynfunc", "numba._helperlib", "numba.core.runtime._nrt_python"


@cache
def provide_runtime() -> Any:
    """Let machine code find what it calls; returns the module that makes Python functions of it."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    functions, helpers, memory = map(_extension, (FUNCTIONS, HELPERS, MEMORY))
    symbols = {f"numba_{name}": at for name, at in helpers.c_helpers.items()}
    symbols |= {f"numba_{name}": at for name, at in functions.c_helpers.items()}
    symbols |= {
        name if name.startswith("_") else f"NRT_{name}": at for name, at in memory.c_helpers.items()
    }
    symbols |= {f"PyExc_{each.__name__}": id(each) for each in _exceptions()}
    symbols |= {"_Py_NoneStruct": id(None), "numba_unpickle": _address(_maker)}
    for name, address in symbols.items():
        binding.add_symbol(name, address)
    for name, address in helpers.c_helpers.items():  # functions of C's mathematics among others
        if not binding.address_of_symbol(name):
            binding.add_symbol(name, address)
    return functions


def _extension(name: str) -> Any:
    """Import a module of numba that is written in C, and nothing else of numba."""
    if "numba" in sys.modules or name in sys.modules:
        return import_module(name)
    package = find_spec("numba")
    assert package is not None
    assert package.submodule_search_locations
    stem = Path(package.submodule_search_locations[0], *name.split(".")[1:])
    for ending in EXTENSION_SUFFIXES:
        path = stem.with_name(stem.name + ending)
        if path.exists():
            return _loaded(name, path)
    return import_module(name)


def _loaded(name: str, path: Path) -> ModuleType:
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module
    return module


def _exceptions() -> list[type[BaseException]]:
    return [
        each
        for each in vars(builtins).values()
        if isinstance(each, type) and issubclass(each, BaseException)
    ]


_made: dict[bytes, Any] = {}


def _unpickle(data: int, length: int, _: int) -> Any:
    """Return an object that machine code names, such as a class of arrays."""
    content = string_at(data, length)
    if content not in _made:
        _made[content] = pickle.loads(content)
    return _made[content]


_maker = PYFUNCTYPE(py_object, c_void_p, c_int, c_void_p)(_unpickle)
"""As machine code calls it; numba's own would import the compiler."""


def _address(function: Any) -> int:
    address = cast(function, c_void_p).value
    assert address is not None
    return address
