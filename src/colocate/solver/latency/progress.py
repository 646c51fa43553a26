"""The state of a search by latency: its best placement, which may still break a limit."""

from collections.abc import Sequence

import numpy as np

from colocate.problem.certificate import Certificate
from colocate.problem.instance import Floats, Ints
from colocate.problem.layout import arrange
from colocate.problem.placement import Placement
from colocate.problem.pressure import lower
from colocate.problem.reduction import Reduction
from colocate.problem.tolerance import TIE
from colocate.solver.budget import SolveBudget
from colocate.solver.latency.annealing_rounds import RoundPace
from colocate.solver.latency.checking import timed_checking
from colocate.solver.latency.cost import BROKEN, SATURATED
from colocate.solver.latency.fill import lone_costs
from colocate.solver.latency.item_moves import rate_all
from colocate.solver.latency.now import empty_state
from colocate.solver.progress import Progress

CHECKING = 0.01
"""Seconds reserved for the final check."""


class LatencyProgress(Progress):
    """The best placement by its costs, the highest first.

    A placement that breaks a limit is kept while none is better, but does not count as found.

    Parameters
    ----------
    reduction
        The problem as items.
    budget
        What the search may spend.
    to_check
        Seconds that are kept for the check of its placement, after the budget.
    """

    def __init__(self, reduction: Reduction, budget: SolveBudget, to_check: float = 0.0) -> None:
        self.reduction = reduction
        self.to_check = to_check
        self.now = empty_state(reduction)
        """The problem, and room to rate the placements that are offered."""
        self.pace = RoundPace(len(reduction.items))
        """How long rounds of annealing are by now."""
        self.complete = False
        """Whether a search has shown that no placement has a lower peak."""
        self.hopeless: Certificate | None = None
        """A proof that no placement keeps all targets that it must."""
        self._floor = float(lone_costs(self.now).max()) * (1.0 + TIE)
        self._gpu_of: Ints = np.empty(0, np.int64)
        self._levels: Floats = np.empty(0)
        super().__init__(reduction.whole, budget)

    @property
    def best(self) -> Ints:
        """The best placement so far; empty if there is none."""
        return self._gpu_of

    @property
    def placement(self) -> Placement:
        """The best placement of the models."""
        return self.reduction.placement(self._gpu_of)

    @property
    def ended(self) -> bool:
        """Whether there is nothing left to search for."""
        return self.complete or self.finished or self.hopeless is not None

    @property
    def peak(self) -> float:
        """The highest cost of the best placement so far."""
        return float(self._levels[0]) if len(self._levels) else np.inf

    @property
    def worst_gpu(self) -> int:
        """The number of the GPU that costs most in the best placement."""
        return int(self._rated(self._gpu_of).argmax())

    def time_check(self) -> None:
        """Learn from the best placement how long the checker takes, and end the search by that."""
        if len(self._gpu_of):
            kept, self.to_check = self.to_check, timed_checking(self.problem, self.placement)
            self.deadline.extend(kept - self.to_check)

    def better_than(self, other: "LatencyProgress | None") -> bool:
        """Whether its best placement costs less than that of another search on these GPUs."""
        return other is None or _is_lower(self._levels, other._levels)

    def offer(self, gpu_of: Ints, block: str) -> bool:
        """Keep a placement if it is the best so far; return whether it is."""
        with self._lock:
            costs = np.sort(self._rated(gpu_of))[::-1]
            found: Floats = np.append(costs, self.now.layout.pressure.max())
            if len(self._gpu_of) and not _is_lower(found, self._levels):
                return False
            self._gpu_of, self._levels = gpu_of.copy(), found
            self.complete = self.complete or self.peak <= self._floor
            if self.peak < BROKEN:
                value = self.peak if self.peak < SATURATED else np.inf
                if self._is_better(value):
                    self._take(value, block)
            return True

    def _rated(self, gpu_of: Ints) -> Floats:
        """Return the cost of every GPU in a placement."""
        arrange(self.now.instance, self.now.layout, gpu_of)
        rate_all(self.now)
        return self.now.costs.cost

    def _is_false(self, certificate: Certificate) -> bool:
        return self._found and certificate.bound > self._value

    def _checking_time(self, certificate: Certificate | None) -> float:
        return CHECKING


def _is_lower(values: Sequence[float] | Floats, others: Sequence[float] | Floats) -> bool:
    """Return whether the first values that differ by more than rounding are lower."""
    for value, other in zip(values, others, strict=True):
        if lower(value, other):
            return True
        if lower(other, value):
            return False
    return False
