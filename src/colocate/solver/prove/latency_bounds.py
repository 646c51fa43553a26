"""Bounds on the worst ratio of latency to target, for any placement."""

from collections.abc import Iterator

from colocate.problem.certificate import Certificate
from colocate.problem.problem import Problem
from colocate.solver.deadline import Deadline


def latency_bounds(
    problem: Problem, deadline: Deadline, value: float, binding: bool = False
) -> Iterator[Certificate]:
    """Yield ever higher bounds on the worst ratio.

    Parameters
    ----------
    problem, deadline, value, binding
        The problem, when to end, the best ratio known, and whether only binding targets count.
    """
    yield from ()


def keeps_no_target(problem: Problem, deadline: Deadline) -> Certificate | None:
    """Return a proof that no placement keeps all targets that it must; None if none is found."""
    return None
