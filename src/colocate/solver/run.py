"""One call of the solver: its clock, what it was asked for, and the wish to stop."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from time import perf_counter

from colocate.problem.problem import Problem
from colocate.solver.progress import Gap, Improvement, Progress, gap_after, gap_between


@dataclass
class Run:
    """What all stages of a call share.

    Parameters
    ----------
    time_limit
        Seconds for all of it.
    gap
        The share of the optimum within which the answer is good enough.
    target
        A pressure at which it is, too; also that it is out of reach is an answer then.
    seed, workers, on_improvement
        As `solve` takes them.
    ceiling
        The highest pressure allowed: nothing above it is good enough.
    """

    time_limit: float
    gap: Gap = 0.0
    target: float | None = None
    seed: int = 0
    workers: int = 2
    on_improvement: Callable[[Improvement], None] | None = None
    ceiling: float = inf
    interrupted: bool = False
    _started: float = field(default_factory=perf_counter)
    _current: Progress | None = None

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return perf_counter() - self._started

    @property
    def seconds_left(self) -> float:
        """Time until the limit, none after an interrupt."""
        return 0.0 if self.interrupted else self.time_limit - self.seconds

    def interrupt(self) -> None:
        """Let all stages finish because someone asked to."""
        self.interrupted = True
        if self._current:
            self._current.interrupt()

    def progress(self, problem: Problem) -> Progress:
        """Return the state of a stage that has all the time that is left."""
        self._current = Progress(
            problem,
            self.time_limit,
            self.gap,
            self.on_improvement,
            started=self._started,
            target=self.target,
            ceiling=self.ceiling,
        )
        return self._started_with(self._current)

    def attempt(self, problem: Problem, seconds: float) -> Progress:
        """Return the state of a stage that has some seconds, and of which nothing is told."""
        self._current = Progress(problem, min(seconds, max(self.seconds_left, 0.001)), 0.0, None)
        return self._started_with(self._current)

    def _started_with(self, progress: Progress) -> Progress:
        if self.interrupted:
            progress.interrupt()
        return progress

    def tell(self, found: Improvement) -> None:
        """Tell of an improvement."""
        if self.on_improvement:
            self.on_improvement(found)

    def good_enough(self, value: float, bound: float) -> bool:
        """Say whether a value and a bound are what was asked for."""
        if value > self.ceiling:
            return bound > self.ceiling
        if self.target is not None and (value <= self.target or bound > self.target):
            return True
        return gap_between(value, bound) <= gap_after(self.gap, self.seconds)
