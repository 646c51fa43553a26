"""When to stop: one deadline that reaches every loop, those of kernels included.

Kernels cannot look at a clock. They look at `go[0]` instead, which someone else sets to 0: whoever
stops a run, or a timer while the deadline is watched.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from threading import Timer
from time import perf_counter

import numpy as np

from colocate.problem.instance import Ints


class Deadline:
    """Some seconds from now on, all of them or a part of those of another deadline.

    Parameters
    ----------
    seconds
        How long it is.
    whole
        The deadline that this one is a part of, and which stops this one too.
    """

    def __init__(self, seconds: float = inf, whole: "Deadline | None" = None) -> None:
        now = perf_counter()
        self.started: float = now if whole is None else whole.started
        self.go: Ints = np.ones(1, np.int64)
        self._end = now + seconds
        self._parts: list[Deadline] = []
        if whole is not None:
            self._end = min(self._end, whole._end)
            whole._parts.append(self)
            if whole.stopped:
                self.stop()

    @property
    def seconds(self) -> float:
        """Time since the start of the whole."""
        return perf_counter() - self.started

    @property
    def left(self) -> float:
        """Seconds until it is over; none if someone has stopped it."""
        return max(self._end - perf_counter(), 0.0) if self.go[0] else 0.0

    @property
    def over(self) -> bool:
        """Whether it is time to stop."""
        return self.left <= 0.0

    @property
    def stopped(self) -> bool:
        """Whether kernels are told to stop."""
        return not self.go[0]

    def part(self, seconds: float) -> "Deadline":
        """Return a deadline of at most so many seconds, which ends when this one does."""
        return Deadline(seconds, self)

    def stop(self) -> None:
        """Let everything end that keeps to this deadline or to a part of it."""
        self.go[0] = 0
        for part in self._parts:
            part.stop()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Tell kernels when the time is over."""
        if self._end == inf:
            yield
            return
        timer = Timer(self.left, self.stop)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
