"""What one call of the solver may spend, and which answer is good enough to end it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

from colocate.problem.tolerance import PROVEN
from colocate.solver.deadline import Deadline
from colocate.solver.plan import Improvement, gap_between

Gap = float | Callable[[float], float]
"""A gap that is good enough, at any time or after so many seconds."""


@dataclass(frozen=True)
class SolveBudget:
    """What all stages of a call share.

    Parameters
    ----------
    deadline
        When all of it ends.
    gap
        The share of the optimum within which the answer is good enough.
    target
        A pressure that is good enough. A proof that it is out of reach is an answer, too.
    seed, workers, on_improvement
        As `solve` takes them.
    ceiling
        The highest pressure allowed: nothing above it is good enough.
    """

    deadline: Deadline
    gap: Gap = 0.0
    target: float | None = None
    seed: int = 0
    workers: int = 2
    on_improvement: Callable[[Improvement], None] | None = None
    ceiling: float = inf

    def enough(self, value: float, bound: float) -> bool:
        """Say whether a value and a bound are what was asked for; the only rule that says so."""
        gap = gap_between(value, bound)
        if gap <= PROVEN or bound > self.ceiling:
            return True
        if value > self.ceiling:
            return False
        if self.target is not None and (value <= self.target or bound > self.target):
            return True
        return gap <= (self.gap(self.deadline.seconds) if callable(self.gap) else self.gap)

    def keeping(self, seconds: float) -> "SolveBudget":
        """Return what is left now but for some seconds, which are kept for what comes after."""
        return replace(self, deadline=self.deadline.part(self.deadline.left - seconds))

    def attempt(self, seconds: float) -> "SolveBudget":
        """Return some seconds for the optimum of a part of the question, reported to nobody."""
        return SolveBudget(self.deadline.part(seconds), seed=self.seed, workers=self.workers)
