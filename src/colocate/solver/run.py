"""One call of the solver: its deadline, what it was asked for, and the wish to stop."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

from colocate.problem.reduction import Reduction
from colocate.solver.deadline import Deadline
from colocate.solver.progress import CHECK_MODEL, Gap, Improvement, Progress, Wish


@dataclass
class Run:
    """What all stages of a call share.

    Parameters
    ----------
    deadline
        When all of it ends.
    gap
        The share of the optimum within which the answer is good enough.
    target
        A pressure at which it is, too; also that it is out of reach is an answer then.
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
    interrupted: bool = field(default=False, init=False)

    @property
    def wish(self) -> Wish:
        """What is good enough."""
        return Wish(self.gap, self.target, self.ceiling)

    def interrupt(self) -> None:
        """Let all stages finish because someone asked to."""
        self.interrupted = True
        self.deadline.stop()

    def progress(self, reduction: Reduction) -> Progress:
        """Return the state of a stage that has all the time that is left."""
        return Progress(reduction, self._stage(reduction, inf), self.wish, self.on_improvement)

    def attempt(self, reduction: Reduction, seconds: float) -> Progress:
        """Return the state of a stage that has some seconds, and of which nothing is told."""
        return Progress(reduction, self._stage(reduction, seconds), Wish())

    def _stage(self, reduction: Reduction, seconds: float) -> Deadline:
        """Return the deadline of a stage, which leaves time to check its placement."""
        return self.deadline.part(
            min(seconds, self.deadline.left) - CHECK_MODEL * len(reduction.items)
        )

    def tell(self, found: Improvement) -> None:
        """Tell of an improvement."""
        if self.on_improvement:
            self.on_improvement(found)
