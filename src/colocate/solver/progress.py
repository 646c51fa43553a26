"""What a running solve knows: the best placement, the best bound, the clock, and when to stop."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from threading import RLock
from typing import NamedTuple

import numpy as np

from colocate.problem.certificate import Certificate
from colocate.problem.instance import Ints
from colocate.problem.layout import arrange, empty_layout
from colocate.problem.pressure import lower
from colocate.problem.problem import Problem
from colocate.problem.reduction import Reduction
from colocate.solver.deadline import Deadline

PROVEN = 2e-9
"""A gap of at most this, twice what rounding may do, is none."""
JUST_BELOW = 1.0 - 1e-9
"""What is proven out of reach, as a share of a value, for it to count as the lowest."""
JUST_ABOVE = 1.0 + 1e-9
"""What must be out of reach, as a multiple of a target, for the target to be."""
CHECK_MODEL, CHECK_CELL, CHECK_SYMBOL = 12e-6, 2e-9, 0.3e-6
"""Seconds that the checker takes for a model, for a cell of its table of multipliers, and for a
symbol of a tree."""


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


class Alarm(NamedTuple):
    """A bound that does not hold, and was not used.

    A placement is below it, or the checker has refused its proof.
    """

    proof: str
    """The kind of proof, or the solver that claimed it."""
    bound: float
    value: float
    """The pressure of the best placement then."""


def gap_between(value: float, bound: float) -> float:
    """Return `value / bound - 1`, and 0 where there is nothing between the two."""
    if value <= bound:
        return 0.0
    return value / bound - 1.0 if bound > 0.0 and value < inf else inf


@dataclass(frozen=True)
class Wish:
    """What is good enough.

    Parameters
    ----------
    gap
        The share of the optimum, at any time or after so many seconds.
    target
        A pressure that is good enough, and that it is enough to know to be out of reach.
    ceiling
        The highest pressure allowed: nothing above it is good enough.
    """

    gap: Gap = 0.0
    target: float | None = None
    ceiling: float = inf

    def granted(self, value: float, bound: float, seconds: float) -> bool:
        """Say whether a value and a bound are what was asked for, after some seconds."""
        gap = gap_between(value, bound)
        if gap <= PROVEN or bound > self.ceiling:
            return True
        if value > self.ceiling:
            return False
        if self.target is not None and (value <= self.target or bound > self.target):
            return True
        return gap <= (self.gap(seconds) if callable(self.gap) else self.gap)


class Progress:
    """The state of a stage, for several threads. Better placements and proofs are kept.

    Parameters
    ----------
    reduction
        What is placed.
    deadline
        When it ends.
    wish
        What ends it earlier.
    on_improvement
        Called with every better placement or bound.
    """

    def __init__(
        self,
        reduction: Reduction,
        deadline: Deadline,
        wish: Wish,
        on_improvement: Callable[[Improvement], None] | None = None,
    ) -> None:
        self.reduction = reduction
        self.deadline = deadline
        self.certificate: Certificate | None = None
        self.history: list[Improvement] = []
        self.alarms: list[Alarm] = []
        self._gpu_of: Ints = np.empty(0, np.int64)
        self._value = inf
        self._squares = inf
        self._wish = wish
        self._on_improvement = on_improvement
        self._layout = empty_layout(reduction.instance)
        self._checking = 0.0
        self._lock = RLock()

    @property
    def problem(self) -> Problem:
        """What is placed, as it was asked for."""
        return self.reduction.whole

    @property
    def best(self) -> tuple[Ints, float]:
        """The best placement so far and its peak pressure."""
        with self._lock:
            return self._gpu_of, self._value

    @property
    def found(self) -> bool:
        """Whether there is a placement."""
        return self._gpu_of.size > 0

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
        return self.deadline.seconds

    @property
    def seconds_left(self) -> float:
        """Time until the limit, less what the checker will take for the proof."""
        return self.deadline.left - self._checking

    @property
    def finished(self) -> bool:
        """Whether what was asked for is reached, or time is up."""
        reached = self.found and self._wish.granted(self._value, self.bound, self.seconds)
        return reached or self.seconds_left <= 0.0

    @property
    def sought(self) -> float:
        """The pressure to search at next: just below the best so far, or the target if lower."""
        below = self._value * JUST_BELOW
        if self._wish.ceiling < self._value:
            return max(below, (self._wish.ceiling + self._value) / 2.0)
        target = self._wish.target
        return min(below, target * JUST_ABOVE) if target else below

    def offer(self, gpu_of: Ints, block: str) -> float:
        """Take note of a placement if it is the best so far; return its peak pressure."""
        with self._lock:
            value, squares = self._rated(gpu_of)
            if not self.found or lower(value, self._value):
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
        """Take note of a proof if its bound is the best so far.

        A bound above the value of a known placement is false: it raises an alarm instead.
        """
        if certificate is None or certificate.bound <= self.bound:
            return
        with self._lock:
            if self.found and certificate.bound > self._value:
                self.alarm(Alarm(certificate.proof.value, certificate.bound, self._value))
            elif certificate.bound > self.bound:
                self.certificate = certificate
                self._checking = self._checking_time(certificate)
                self._note(certificate.proof.value)

    def alarm(self, alarm: Alarm) -> None:
        """Take note of a claim that turned out to be false."""
        with self._lock:
            self.alarms.append(alarm)

    def _checking_time(self, certificate: Certificate) -> float:
        cells = len(self.reduction.items) * max(certificate.multipliers, default=0)
        return CHECK_CELL * cells + CHECK_SYMBOL * len(certificate.tree)

    def _rated(self, gpu_of: Ints) -> tuple[float, float]:
        arrange(self.reduction.instance, self._layout, gpu_of)
        pressure = self._layout.pressure
        with np.errstate(over="ignore"):
            return float(pressure.max()), float(pressure @ pressure)

    def _note(self, block: str) -> None:
        improvement = Improvement(self.seconds, self._value, self.bound, block)
        self.history.append(improvement)
        if self._on_improvement:
            self._on_improvement(improvement)
