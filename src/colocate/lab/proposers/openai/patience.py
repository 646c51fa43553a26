"""How long a server may go without an answer, over all requests together."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from time import monotonic


class Patience:
    """Counts the time without an answer while somebody waits for one.

    Parameters
    ----------
    seconds
        The longest such time.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._lock = Lock()
        self._waiting = 0
        self._quiet = 0.0
        self._since = 0.0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Wait for an answer meanwhile."""
        with self._lock:
            if not self._waiting:
                self._since = monotonic()
            self._waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1
                if not self._waiting:
                    self._quiet += monotonic() - self._since

    def heard(self) -> None:
        """Begin anew, since an answer came."""
        with self._lock:
            self._quiet, self._since = 0.0, monotonic()

    @property
    def left(self) -> float:
        """The seconds that are left."""
        with self._lock:
            now = monotonic() - self._since if self._waiting else 0.0
            return self.seconds - self._quiet - now
