"""The time that one question to the solvers may take, building its programs included."""

from collections.abc import Callable
from time import perf_counter


class TimeOverError(Exception):
    """The time was over, or a stop was asked for, before a program stood."""


def never() -> bool:
    """Let a search go on until its time is over."""
    return False


class Clock:
    """Seconds that are left, unless a stop is asked for before."""

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
        """Return one for a share of what is left, which stops when this one does."""
        return Clock(self.left * share, self.stopped)
