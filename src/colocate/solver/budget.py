"""What one call of the solver may spend, and which answer is good enough to end it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

from colocate.problem.tolerance import PROVEN
from colocate.solver.deadline import Deadline
from colocate.solver.plan import Improvement, gap_between

Gap = float | Callable[[float], float]
"""The gap that is good enough: one number, or a function of the seconds since the start."""


@dataclass(frozen=True)
class SolveBudget:
    """The limits that all stages of one call share.

    Parameters
    ----------
    deadline
        When the whole call ends.
    gap
        The share of the optimum within which the answer is good enough.
    target
        A pressure that is good enough. A proof that no placement reaches it also ends the search.
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
        """Whether a value and a bound meet the request; no other code decides this."""
        gap = gap_between(value, bound)
        if gap <= PROVEN or bound > self.ceiling:
            return True
        if value > self.ceiling:
            return False
        if self.target is not None and (value <= self.target or bound > self.target):
            return True
        return gap <= (self.gap(self.deadline.seconds) if callable(self.gap) else self.gap)

    def keeping(self, seconds: float) -> "SolveBudget":
        """Return the remaining budget, less some seconds kept for later stages."""
        return replace(self, deadline=self.deadline.part(self.deadline.left - seconds))

    def attempt(self, seconds: float, target: float | None = None) -> "SolveBudget":
        """Return a budget of some seconds for a part of the problem, without reports.

        A placement at or below the target, if there is one, ends it.
        """
        deadline = self.deadline.part(seconds)
        return SolveBudget(deadline, target=target, seed=self.seed, workers=self.workers)
