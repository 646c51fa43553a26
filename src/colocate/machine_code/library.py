"""The machine code that this process knows of."""

from collections.abc import Callable, Iterable
from functools import cache

from colocate.machine_code.loading import LoadedBatch
from colocate.machine_code.request import KernelRequest
from colocate.machine_code.store import Batch, kept


def code_of(request: KernelRequest) -> Callable[..., object] | None:
    """Return the machine code of a kernel, loaded; None if there is none."""
    loaded = _batches().get(request.name)
    return loaded.function(request) if loaded else None


def add(batches: Iterable[Batch]) -> None:
    """Take up more machine code; of what is there already, the first stays."""
    known = _batches()
    for batch in batches:
        loaded = LoadedBatch(batch)
        for name in batch.entries:
            known.setdefault(name, loaded)


def look_again() -> None:
    """Take up what other processes have kept in the meantime."""
    add(kept())


@cache
def _batches() -> dict[str, LoadedBatch]:
    """Return batches by the names of the kernels in them."""
    return {name: loaded for loaded in map(LoadedBatch, kept()) for name in loaded.batch.entries}
