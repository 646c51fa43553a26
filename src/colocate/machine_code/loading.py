"""Machine code from a file into memory, as numba would do it but without its compiler."""

from collections.abc import Callable
from ctypes import c_void_p
from functools import cached_property
from sys import modules
from typing import Any

from llvmlite import binding

from colocate.machine_code.request import KernelRequest
from colocate.machine_code.runtime import provide_runtime
from colocate.machine_code.store import Batch


class LoadedBatch:
    """A batch that is brought into memory when it is first needed."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch

    def function(self, request: KernelRequest) -> Callable[..., object]:
        """Return a kernel as something that Python calls."""
        entry = self.batch.entries[request.name]
        runtime = provide_runtime()
        home = modules[request.module]
        environment = runtime.Environment(vars(home))
        environment.consts[:] = entry.constants
        if pointer := self._engine.get_global_value_address(entry.environment):
            c_void_p.from_address(pointer).value = id(environment)
        address = self._engine.get_function_address(entry.function)
        function: Callable[..., object] = runtime.make_function(
            home, request.kernel, "", address, environment, (self._engine,)
        )
        return function

    @cached_property
    def _engine(self) -> Any:
        provide_runtime()
        machine = binding.Target.from_default_triple().create_target_machine(jit=True)
        engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
        engine.add_object_file(binding.ObjectFileRef.from_data(self.batch.code))
        engine.finalize_object()
        return engine
