"""Tells a listener how many fresh hidden cases have been solved, since that can take minutes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[int, int], None]
"""Called with the number of cases that are solved, and of those that must be."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have a listener told about all cases that are solved meanwhile."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell_solved(done: int, count: int) -> None:
    """Tell the listener, if there is one."""
    if listener := _listener.get():
        listener(done, count)
