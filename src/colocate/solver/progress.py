"""The state of a running search: its best placement, its best bound, and when to stop."""

from abc import ABC, abstractmethod
from math import inf
from threading import RLock

import numpy as np

from colocate.problem.certificate import Certificate
from colocate.problem.instance import Ints
from colocate.problem.layout import arrange, empty_layout
from colocate.problem.pressure import lower
from colocate.problem.problem import Problem
from colocate.problem.reduction import Reduction
from colocate.problem.tolerance import JUST_ABOVE, JUST_BELOW
from colocate.solver.budget import SolveBudget
from colocate.solver.deadline import Deadline
from colocate.solver.plan import Alarm, Improvement, gap_between

CHECK_CELL, CHECK_SYMBOL = 2e-9, 0.3e-6
"""Seconds that the checker takes per cell of its table of multipliers, and per symbol of a
tree."""


class Progress(ABC):
    """The state of a search that several threads share. It keeps the best placement and proof.

    Parameters
    ----------
    problem
        The problem as given.
    budget
        When the search ends, and which answer ends it early.
    certificate
        A proof known at the start.
    """

    def __init__(
        self, problem: Problem, budget: SolveBudget, certificate: Certificate | None = None
    ) -> None:
        self.problem = problem
        self.certificate = certificate
        self.history: list[Improvement] = []
        self.alarms: list[Alarm] = []
        self._budget = budget
        self._found = False
        self._value = inf
        self._checking = self._checking_time(certificate)
        self._lock = RLock()

    @property
    def deadline(self) -> Deadline:
        """When the search ends."""
        return self._budget.deadline

    @property
    def found(self) -> bool:
        """Whether there is a placement."""
        return self._found

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
        """The gap between the value and the bound."""
        return gap_between(self._value, self.bound)

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return self.deadline.seconds

    @property
    def checking(self) -> float:
        """Seconds that the checker needs for the proof."""
        return self._checking

    @property
    def seconds_left(self) -> float:
        """Time until the limit, less the time that the checker needs for the proof."""
        return self.deadline.left - self._checking

    @property
    def finished(self) -> bool:
        """Whether the answer is good enough, or time is up."""
        return self.finished_but(0.0)

    def finished_but(self, seconds: float) -> bool:
        """Whether the answer is good enough, or no more than these seconds are left."""
        reached = self._found and self._budget.enough(self._value, self.bound)
        return reached or self.seconds_left <= seconds

    @property
    def sought(self) -> float:
        """The next pressure to search at: just below the best so far, or the target if lower."""
        below = self._value * JUST_BELOW
        if self._budget.ceiling < self._value:
            return max(below, (self._budget.ceiling + self._value) / 2.0)
        target = self._budget.target
        return min(below, target * JUST_ABOVE) if target else below

    def prove(self, certificate: Certificate | None, checking: float | None = None) -> None:
        """Keep a proof if its bound is the best so far; a false one raises an alarm.

        Parameters
        ----------
        certificate
            The proof; None changes nothing.
        checking
            Seconds that the checker takes for it, where they are known.
        """
        if certificate is None or certificate.bound <= self.bound:
            return
        with self._lock:
            if self._is_false(certificate):
                self.alarm(Alarm(certificate.proof.value, certificate.bound, self._value))
            elif certificate.bound > self.bound:
                self.certificate = certificate
                self._checking = max(checking or 0.0, self._checking_time(certificate))
                self._note(certificate.proof.value)

    def alarm(self, alarm: Alarm) -> None:
        """Record a claim that turned out to be false."""
        with self._lock:
            self.alarms.append(alarm)

    @abstractmethod
    def _is_false(self, certificate: Certificate) -> bool:
        """Whether a bound is known to be false."""

    @abstractmethod
    def _checking_time(self, certificate: Certificate | None) -> float:
        """Return the seconds to reserve for the checker."""

    def _is_better(self, value: float) -> bool:
        return not self._found or lower(value, self._value)

    def _take(self, value: float, block: str) -> None:
        """Record the value of a better placement."""
        self._found, self._value = True, value
        self._note(block)

    def _note(self, block: str) -> None:
        improvement = Improvement(self.seconds, self._value, self.bound, block)
        self.history.append(improvement)
        if self._budget.on_improvement:
            self._budget.on_improvement(improvement)


class ItemProgress(Progress):
    """The state of a search with fixed numbers of replicas, including where the items are.

    The checker judges the best proof at the end. Until then, a bound counts as false only if it is
    above the value of a known placement.

    Parameters
    ----------
    reduction
        The problem as items.
    budget
        When the search ends, and which answer ends it early.
    """

    def __init__(self, reduction: Reduction, budget: SolveBudget) -> None:
        self.reduction = reduction
        self._gpu_of: Ints = np.empty(0, np.int64)
        self._squares = inf
        self._layout = empty_layout(reduction.instance)
        super().__init__(reduction.whole, budget)

    @property
    def best(self) -> tuple[Ints, float]:
        """The best placement so far and its peak pressure."""
        with self._lock:
            return self._gpu_of, self._value

    def offer(self, gpu_of: Ints, block: str) -> float:
        """Keep a placement if it is the best so far; return its peak pressure."""
        with self._lock:
            value, squares = self._rated(gpu_of)
            if self._is_better(value):
                self._gpu_of, self._squares = gpu_of.copy(), squares
                self._take(value, block)
            return value

    def offer_smoother(self, gpu_of: Ints) -> None:
        """Replace the best placement with a smoother one whose peak is no higher."""
        with self._lock:
            value, squares = self._rated(gpu_of)
            if value <= self._value and lower(squares, self._squares):
                self._gpu_of, self._value, self._squares = gpu_of.copy(), value, squares

    def _is_false(self, certificate: Certificate) -> bool:
        return self._found and certificate.bound > self._value

    def _checking_time(self, certificate: Certificate | None) -> float:
        if certificate is None:
            return 0.0
        cells = len(self.reduction.items) * max(certificate.multipliers, default=0)
        return CHECK_CELL * cells + CHECK_SYMBOL * len(certificate.tree)

    def _rated(self, gpu_of: Ints) -> tuple[float, float]:
        arrange(self.reduction.instance, self._layout, gpu_of)
        pressure = self._layout.pressure
        with np.errstate(over="ignore"):
            return float(pressure.max()), float(pressure @ pressure)
