"""All bounds for placements within a budget, each confirmed by the independent checker."""

from functools import cached_property
from math import inf

from colocate.problem.certificate import Certificate
from colocate.problem.parts import Places
from colocate.problem.pressure import lower
from colocate.problem.tolerance import JUST_BELOW, PROVEN
from colocate.replan.bounds.eviction import Evictions, evictions_of
from colocate.replan.bounds.exhaustion import is_exhaustible, search_below
from colocate.replan.checker.budget_check import (
    GroupVerdicts,
    exceeds_budget,
    least_moved_gb,
    none_is_below,
)
from colocate.replan.replanning import BudgetProof
from colocate.replan.search.group_values import GroupValues
from colocate.replan.search.item_homes import ItemHomes
from colocate.solver.deadline import Deadline


class PointProofs:
    """What is proven about placements close to the one that runs.

    Parameters
    ----------
    homes, values
        The items with their homes, and the values of groups.
    old
        The placement that runs.
    certificate
        The bound of an ordinary plan for the same problem, which was checked with it.
    deadline
        When the checker stops, and bounds that it has not confirmed are dropped.
    """

    def __init__(
        self,
        homes: ItemHomes,
        values: GroupValues,
        old: Places,
        certificate: Certificate | None,
        deadline: Deadline,
    ) -> None:
        self._deadline = deadline
        self._homes, self._values, self._old = homes, values, old
        self._certificate = certificate

    @property
    def floor(self) -> float:
        """A value that no placement is below."""
        return self._certificate.bound if self._certificate else 0.0

    @cached_property
    def _checked(self) -> GroupVerdicts:
        """What the checker says of groups: bounds for several budgets ask for the same ones."""
        return GroupVerdicts(self._homes.reduction.whole)

    @cached_property
    def _evictions(self) -> Evictions:
        return evictions_of(self._homes, self._values, self.floor)

    def least_value(self, budget_gb: float) -> float:
        """Return a value that no placement within a budget is below, not yet confirmed."""
        return self._evictions.least_value(budget_gb)

    def least_gb(self, value: float) -> float:
        """Return the least that a placement moves whose value is not above the given one."""
        if lower(value, self.floor):
            return inf
        return self._evictions.least_gb(value)

    def confirmed(self, value: float, budget_gb: float) -> tuple[float, BudgetProof]:
        """Return the best bound on placements within a budget that the checker confirms.

        Parameters
        ----------
        value
            The value of a placement within the budget.
        budget_gb
            What may be moved.
        """
        best, proof = self.floor, BudgetProof.ANY_BUDGET
        if not best > 0.0:
            best, proof = 0.0, BudgetProof.NONE
        bound = min(self.least_value(budget_gb), value)
        if lower(best, bound) and self._is_confirmed(bound, budget_gb):
            best, proof = bound, BudgetProof.EVICTION
        if value <= best * (1 + PROVEN) or not is_exhaustible(self._homes):
            return best, proof
        return self._exhausted(value, budget_gb) or (best, proof)

    def _is_confirmed(self, bound: float, budget_gb: float) -> bool:
        whole, weights = self._homes.reduction.whole, self._homes.weights_gb
        below = bound * JUST_BELOW
        least = least_moved_gb(
            whole, self._old, weights, below, self._checked, lambda: self._deadline.over
        )
        return exceeds_budget(least, budget_gb)

    def _exhausted(self, value: float, budget_gb: float) -> tuple[float, BudgetProof] | None:
        """Return a proof that nothing is below a value, if all placements can be tried."""
        whole, weights = self._homes.reduction.whole, self._homes.weights_gb
        searched = search_below(self._homes, self._values, value, budget_gb)
        if searched.gpu_of is not None or not searched.complete:
            return None
        if not none_is_below(whole, self._old, weights, value, budget_gb):
            return None
        return value, BudgetProof.EXHAUSTION
