"""Who wants to know that kernels are about to be compiled."""

from collections.abc import Callable

_listeners: list[Callable[[], None]] = []


def tell_before_compiling(listener: Callable[[], None]) -> None:
    """Call somebody once, when the first kernel is about to be compiled."""
    _listeners.append(listener)


def about_to_compile() -> None:
    """Tell those who asked for it, each once."""
    while _listeners:
        _listeners.pop()()
