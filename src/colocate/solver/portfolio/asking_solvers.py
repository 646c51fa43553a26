"""An activity that runs CP-SAT and SCIP together."""

from math import isfinite

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.reduction import Reduction
from colocate.solver.construct.completion import Outcome
from colocate.solver.portfolio.activity import LONGEST_STEP
from colocate.solver.progress import ItemProgress
from colocate.solver.prove.solvers.two_solvers import search_all


class AskingSolvers:
    """Ask CP-SAT and SCIP for a better placement, for longer every time."""

    share, handicap = 0.2, 0.1

    def __init__(self, reduction: Reduction) -> None:
        self._reduction = reduction
        self._patience = 0.1
        self.exhausted = False

    def step(self, progress: ItemProgress) -> None:
        """Search for a while."""
        target = progress.sought
        if not isfinite(target):
            return
        seconds = min(self._patience, progress.seconds_left)
        deadline = progress.deadline.part(seconds, lambda: progress.finished)
        answer = search_all(self._reduction.whole, target, deadline, 1, progress.value)
        if answer.alarm:
            progress.alarm(answer.alarm)
        if answer.outcome is Outcome.FOUND:
            progress.offer(self._reduction.indices(answer.placement), "two solvers")
        if answer.outcome is Outcome.NONE:
            progress.prove(Certificate(Proof.SOLVERS, target))
            self.exhausted = True
        self._patience = min(2.0 * self._patience, LONGEST_STEP)
