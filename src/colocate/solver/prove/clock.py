"""The time for one question to the solvers, building their programs included."""

from collections.abc import Callable
from time import perf_counter


class TimeOverError(Exception):
    """Time ran out, or a stop was requested, before a program was complete."""


def never() -> bool:
    """Let a search go on until its time is over."""
    return False


class Clock:
    """Seconds that are left, unless a stop is requested earlier."""

    def __init__(self, seconds: float, stopped: Callable[[], bool] = never) -> None:
        self._end = perf_counter() + seconds
        self.stopped = stopped

    @property
    def left(self) -> float:
        """Seconds that are left, 0 at the least."""
        return max(self._end - perf_counter(), 0.0)

    @property
    def over(self) -> bool:
        """Whether to end now."""
        return self.left <= 0.0 or self.stopped()

    def check(self) -> None:
        """Raise if it is time to end; loops that build programs call this."""
        if self.over:
            raise TimeOverError

    def part(self, share: float) -> "Clock":
        """Return a clock for a share of the time left, which stops when this one does."""
        return Clock(self.left * share, self.stopped)
