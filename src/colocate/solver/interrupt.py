"""Treats Ctrl-C as a request to stop, not as an exception somewhere in a kernel."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stopping_on_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` at the first interrupt; a second one interrupts as usual.

    This works only in the main thread, where signals arrive, and only if no other handler is set.
    """
    usual = signal.default_int_handler
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not usual:
        yield
        return

    def first(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, usual)
        stop()

    signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
