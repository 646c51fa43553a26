"""The machine code that this process knows of."""

from collections.abc import Callable
from threading import RLock

from colocate.machine_code.loading import Loaded
from colocate.machine_code.request import Request
from colocate.machine_code.store import Batch, keep, kept


class _Library:
    """Batches by the names of the kernels in them."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._batches: dict[str, Loaded] = {}
        self._read = False

    def code_of(self, request: Request) -> Callable[..., object] | None:
        with self._lock:
            if not self._read:
                self._read = True
                for batch in kept():
                    self.add(batch)
            batch = self._batches.get(request.name)
            return batch.function(request.name, request.function) if batch else None

    def add(self, batch: Batch) -> None:
        with self._lock:
            loaded = Loaded(batch)
            for name in batch.entries:
                self._batches.setdefault(name, loaded)


_library = _Library()


def code_of(request: Request) -> Callable[..., object] | None:
    """Return the machine code of a kernel, loaded; None if it is not compiled."""
    return _library.code_of(request)


def add(batch: Batch) -> None:
    """Take up new machine code, and keep it for other processes."""
    _library.add(batch)
    keep(batch)
