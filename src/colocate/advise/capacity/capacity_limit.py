"""What a mix of GPUs has to reach: a pressure, or the latency targets of its models."""

from dataclasses import replace
from math import isinf
from typing import NamedTuple

from colocate.advise.ratio_problem import for_ratio
from colocate.latency.prediction import predict_placement
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.tolerance import OVER_LIMIT


class CapacityLimit(NamedTuple):
    """A pressure that no GPU may exceed, or targets that every model must keep at any pressure.

    Where there are targets, a pressure is reached only together with them.
    """

    pressure: float
    """Infinite if any pressure will do, so that targets alone decide."""

    @property
    def by_ratio(self) -> bool:
        """Whether the worst ratio of a latency to its target decides."""
        return isinf(self.pressure)

    @property
    def limit(self) -> float:
        """The highest pressure, or the highest ratio, that reaches it."""
        return 1.0 if self.by_ratio else self.pressure * (1.0 + OVER_LIMIT)

    def trial_problem(self, problem: Problem) -> Problem:
        """Return the problem whose best value tells whether a mix reaches it.

        Where targets alone decide, that is the worst ratio.
        """
        return for_ratio(problem) if self.by_ratio else replace(problem, objective="pressure")

    def plan_problem(self, problem: Problem) -> Problem:
        """Return the problem of the answer's plan: the fleet's own, within the pressure."""
        return problem if self.by_ratio else replace(problem, most_pressure=self.pressure)


def ratio_of_targets(problem: Problem, placement: Placement, stated: bool) -> float | None:
    """Return the worst ratio of a latency to its target; None if nothing is known of latencies.

    Parameters
    ----------
    problem, placement
        Where the models are.
    stated
        Whether only targets count that a placement must keep.
    """
    if not problem.has_requests or not placement:
        return None
    found = predict_placement(problem, placement)
    counted = [each.shared.ratio for each in found if each.requests.binding or not stated]
    return max(counted, default=None)
