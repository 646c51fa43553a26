"""The one clock: a deadline that reaches every loop, including those in kernels.

Kernels cannot read a clock. They read `go[0]` instead. A call of `stop` sets it to 0, and so does a
timer while the deadline is watched.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from threading import Timer
from time import perf_counter

import numpy as np

from colocate.problem.instance import Ints


class TimeOverError(Exception):
    """Time ran out, or someone asked to stop, before a step was complete."""


class Deadline:
    """A number of seconds from now on, alone or as a part of another deadline.

    Parameters
    ----------
    seconds
        Its length.
    whole
        The deadline that this one is a part of; when that one stops, this one stops too.
    stop_when
        Called now and then; True ends the deadline early.
    """

    def __init__(
        self,
        seconds: float = inf,
        whole: "Deadline | None" = None,
        stop_when: Callable[[], bool] | None = None,
    ) -> None:
        now = perf_counter()
        self.started: float = now if whole is None else whole.started
        self.go: Ints = np.ones(1, np.int64)
        self.stopped = False
        """Whether someone has stopped it; running out of time does not count."""
        self._end = now + seconds
        self._whole = whole
        self._stop_when = stop_when
        self._parts: list[Deadline] = []
        if whole is not None:
            self._end = min(self._end, whole._end)
            whole._parts.append(self)
            if whole.stopped:
                self.stop()
            elif not whole.go[0]:
                self._halt_kernels()

    @property
    def seconds(self) -> float:
        """Time since the start of the whole."""
        return perf_counter() - self.started

    @property
    def left(self) -> float:
        """Seconds until it is over; 0 if someone has stopped it."""
        return max(self._end - perf_counter(), 0.0) if self.go[0] else 0.0

    @property
    def over(self) -> bool:
        """Whether it is time to stop."""
        return self.left <= 0.0 or self._asked_to_stop

    @property
    def _asked_to_stop(self) -> bool:
        if self._stop_when is not None and self._stop_when():
            return True
        return self._whole is not None and self._whole._asked_to_stop

    def check(self) -> None:
        """Raise `TimeOverError` if it is time to stop; loops that build programs call this."""
        if self.over:
            raise TimeOverError

    def part(self, seconds: float, stop_when: Callable[[], bool] | None = None) -> "Deadline":
        """Return a deadline of at most so many seconds, which ends no later than this one."""
        return Deadline(seconds, self, stop_when)

    def extend(self, seconds: float) -> None:
        """Move the end by some seconds, later or earlier; parts and timers keep their old end."""
        self._end += seconds

    def stop(self) -> None:
        """Stop everything that keeps to this deadline or to a part of it."""
        self.stopped = True
        self.go[0] = 0
        for part in self._parts:
            part.stop()

    def _halt_kernels(self) -> None:
        """Stop the kernels because time is up."""
        self.go[0] = 0
        for part in self._parts:
            part._halt_kernels()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Stop the kernels when time is up."""
        if self._end == inf:
            yield
            return
        timer = Timer(self.left, self._halt_kernels)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
