"""What a running solve knows: the best placement, the best bound, the clock, and when to stop."""

from collections.abc import Callable
from math import inf
from threading import RLock
from time import perf_counter
from typing import NamedTuple

import numpy as np

from colocate.problem.certificate import Certificate
from colocate.problem.instance import Ints
from colocate.problem.layout import arrange, empty_layout
from colocate.problem.pressure import lower
from colocate.problem.problem import Problem

PROVEN = 2e-9
"""A gap of at most this, twice what rounding may do, is none."""
JUST_BELOW = 1.0 - 1e-9
"""What is proven out of reach, as a share of a value, for it to count as the lowest."""
JUST_ABOVE = 1.0 + 1e-9
"""What must be out of reach, as a multiple of a target, for the target to be."""
CHECK_MODEL, CHECK_CELL = 20e-6, 2e-9
"""Seconds that the checker takes for a model, and for a cell of its table of weights."""


Gap = float | Callable[[float], float]
"""A gap that is good enough, at any time or after so many seconds."""


class Improvement(NamedTuple):
    """A better placement or bound, as it was found."""

    seconds: float
    value: float
    """The peak pressure then; infinite if there was no placement yet."""
    bound: float
    block: str
    """What found it."""


def gap_after(gap: Gap, seconds: float) -> float:
    """Return the gap that is good enough after some seconds."""
    return gap(seconds) if callable(gap) else gap


def gap_between(value: float, bound: float) -> float:
    """Return `value / bound - 1`, and 0 where there is nothing between the two."""
    if value <= bound:
        return 0.0
    return value / bound - 1.0 if bound > 0.0 and value < inf else inf


class Progress:
    """The state of a run, for several threads. Better placements and proofs are kept."""

    def __init__(
        self,
        problem: Problem,
        time_limit: float,
        gap: Gap,
        on_improvement: Callable[[Improvement], None] | None,
        started: float | None = None,
        target: float | None = None,
        ceiling: float = inf,
    ) -> None:
        self.problem = problem
        self.certificate: Certificate | None = None
        self.history: list[Improvement] = []
        self.interrupted = False
        self._gpu_of: Ints = np.empty(0, np.int64)
        self._value = inf
        self._squares = inf
        self._started = perf_counter() if started is None else started
        self._time_limit = time_limit
        self._gap = gap
        self._target = target
        self._ceiling = ceiling
        self._on_improvement = on_improvement
        self._layout = empty_layout(problem.instance)
        self._stopped = False
        self._allowed: list[Ints] = []
        self._lock = RLock()

    @property
    def best(self) -> tuple[Ints, float]:
        """The best placement so far and its peak pressure."""
        with self._lock:
            return self._gpu_of, self._value

    @property
    def value(self) -> float:
        """The peak pressure of the best placement so far."""
        return self._value

    @property
    def bound(self) -> float:
        """The best bound so far."""
        return self.certificate.bound if self.certificate else 0.0

    @property
    def gap(self) -> float:
        """How far the value is from the bound."""
        return gap_between(self._value, self.bound)

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return perf_counter() - self._started

    @property
    def seconds_left(self) -> float:
        """Time until the limit, less what the checker will take."""
        models = len(self.problem.models)
        weights = self.certificate.weights if self.certificate else ()
        checking = CHECK_MODEL * models + CHECK_CELL * models * max(weights, default=0)
        return self._time_limit - checking - self.seconds

    @property
    def finished(self) -> bool:
        """Whether the gap is closed as far as asked for, the target decided, or time is up."""
        closed = self._gpu_of.size > 0 and self._closed
        return self._stopped or closed or self.seconds_left <= 0.0

    @property
    def _closed(self) -> bool:
        """Whether the value is good enough, which none above the ceiling is, or cannot be."""
        if self.gap <= PROVEN or self.bound > self._ceiling:
            return True
        return self._value <= self._ceiling and (
            self.gap <= gap_after(self._gap, self.seconds) or self._decided
        )

    @property
    def sought(self) -> float:
        """The pressure to search at next: just below the best so far, or the target if lower."""
        below = self._value * JUST_BELOW
        return min(below, self._target * JUST_ABOVE) if self._target else below

    @property
    def _decided(self) -> bool:
        """Whether it is known that the target is reached, or that it cannot be."""
        target = self._target
        return target is not None and (self._value <= target or self.bound > target)

    def interrupt(self) -> None:
        """Let all threads finish because someone asked to."""
        self.interrupted = True
        self.stop()

    def stop(self) -> None:
        """Let all threads finish."""
        with self._lock:
            self._stopped = True
            for nodes in self._allowed:
                nodes[0] = 0

    def allow(self, nodes: int) -> Ints:
        """Return a limit on the nodes of a search, which drops to 0 when the run is stopped."""
        with self._lock:
            self._allowed.append(np.array([0 if self._stopped else nodes]))
            return self._allowed[-1]

    def offer(self, gpu_of: Ints, block: str) -> float:
        """Take note of a placement if it is the best so far; return its peak pressure."""
        with self._lock:
            value, squares = self._rated(gpu_of)
            if self._gpu_of.size == 0 or lower(value, self._value):
                self._gpu_of, self._value, self._squares = gpu_of.copy(), value, squares
                self._note(block)
            return value

    def offer_smoother(self, gpu_of: Ints) -> None:
        """Take a placement instead of the best if it is smoother and its peak no higher."""
        with self._lock:
            value, squares = self._rated(gpu_of)
            if value <= self._value and lower(squares, self._squares):
                self._gpu_of, self._value, self._squares = gpu_of.copy(), value, squares

    def prove(self, certificate: Certificate | None) -> None:
        """Take note of a proof if its bound is the best so far."""
        with self._lock:
            if certificate is not None and certificate.bound > self.bound:
                self.certificate = certificate
                self._note(certificate.proof.value)

    def _rated(self, gpu_of: Ints) -> tuple[float, float]:
        arrange(self.problem.instance, self._layout, gpu_of)
        pressure = self._layout.pressure
        return float(pressure.max()), float((pressure * pressure).sum())

    def _note(self, block: str) -> None:
        improvement = Improvement(self.seconds, self._value, self.bound, block)
        self.history.append(improvement)
        if self._on_improvement:
            self._on_improvement(improvement)
