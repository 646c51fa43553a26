"""The state of a search for numbers of replicas."""

from collections.abc import Mapping, Sequence

from colocate.problem.certificate import Certificate
from colocate.problem.parts import replicas_in
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.verify import verify
from colocate.problem.verify_bound import refuted
from colocate.solver.budget import SolveBudget
from colocate.solver.decide.replica_counts import Counts
from colocate.solver.plan import Plan, Status
from colocate.solver.progress import Progress
from colocate.solver.prove.replica_bounds import prove_with_replicas

CHECKING = 0.05
"""Seconds reserved for the final check."""


class ReplicaProgress(Progress):
    """The best plan so far, and the best bound for any numbers of replicas.

    The checker judges every proof and every placement when it arrives.
    """

    def __init__(self, problem: Problem, budget: SolveBudget) -> None:
        self.best: Plan | None = None
        self.counts: Counts = ()
        super().__init__(problem, budget, prove_with_replicas(problem))

    def offer(self, placement: Mapping[str, Sequence[str]], block: str) -> bool:
        """Keep a placement if there is one, it is valid, and it is better than the best."""
        if not placement:
            return False
        verdict = verify(self.problem, placement)
        if not verdict.valid or not self._is_better(verdict.pressure):
            return False
        found = Placement(placement)
        self.best = Plan(self.problem, Status.FEASIBLE, found, verdict.pressures)
        self.counts = tuple(replicas_in(self.problem, placement).values())
        self._take(verdict.pressure, block)
        return True

    def _is_false(self, certificate: Certificate) -> bool:
        return refuted(self.problem, certificate) is not None

    def _checking_time(self, certificate: Certificate | None) -> float:
        return CHECKING
