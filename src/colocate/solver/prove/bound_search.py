"""Raise the bound: choose the next target to prove out of reach, and how hard to try.

Targets lie between the bound and the value. The first is close to the value. Each further one
leaves a gap that is the geometric mean of the proven gap and of the gap that failed. When these two
have met, the grid is made finer.
"""

from dataclasses import replace
from math import isfinite, sqrt

from colocate.problem.certificate import Certificate
from colocate.problem.instance import Instance
from colocate.problem.tolerance import JUST_BELOW, SMALLEST_GAP
from colocate.problem.verify_bound import refuted
from colocate.solver.plan import gap_between
from colocate.solver.progress import Progress
from colocate.solver.prove.columns import prove_by_columns
from colocate.solver.prove.dual_functions import prove_by_dual_functions
from colocate.solver.prove.knapsack import Choices

FIRST_GAP = 2e-4
"""The gap that the first proof by columns asks for, or a quarter of the proven one if that is less.
"""
CLOSE = 1.2
"""The proven and the failed gap have met when their ratio is below this."""
MOST_CELLS = 2e8
"""Models times steps of a grid, the cost of a knapsack; no finer grid is tried beyond it."""
MOST_WHOLE = 200_000
"""The largest whole numbers in certificates; larger ones take long to check."""
REFINEMENTS = 4
"""How often the grid is made finer before the search gives up."""
STRETCHES = (0.0, 0.05, 0.25)
"""Shares of the gap: a proof is tried again at bounds that leave only these."""
MOST_STRETCHED = 5e7
"""Multipliers times the largest of them, the cost of a check; costlier proofs are not stretched."""


class BoundSearch:
    """Proofs by multipliers, at targets that approach the best possible bound.

    Where the number of replicas is open, the instance has a row for every choice.
    """

    share, handicap = 0.2, 0.0

    def __init__(self, instance: Instance, choices: Choices | None = None) -> None:
        models = instance.size.shape[0]
        self._instance = instance
        self._choices = choices
        self._window = int(instance.load.sum(axis=0).argmax())
        self._steps = int(min(max(4e6 / models, 2000), 10_000))
        self._whole = int(min(max(1e7 / models, 20_000), 100_000))
        self._failed: float | None = None
        self._refinements = 0
        self._tried_functions = False
        self._patience = 0.05
        self.exhausted = False

    def step(self, progress: Progress) -> None:
        """Try to raise the bound once."""
        if not isfinite(progress.value):
            self.exhausted = True
            return
        if not self._tried_functions:
            self._tried_functions = True
            self._by_functions(progress)
            return
        target = self._next_target(progress)
        if target is None:
            return
        until = progress.seconds + self._patience
        proof = prove_by_columns(
            self._instance,
            target,
            self._window,
            self._steps,
            self._whole,
            progress.deadline.part(min(self._patience, progress.seconds_left)),
            self._choices,
        )
        out_of_time = proof is None and progress.seconds >= until
        if out_of_time:
            self._patience *= 3.0
        self._note(progress, target, proof)

    def _note(self, progress: Progress, target: float, proof: Certificate | None) -> None:
        if proof:
            progress.prove(proof)
            self._stretch(progress, proof)
        else:
            self._failed = target

    def _stretch(self, progress: Progress, proof: Certificate) -> None:
        """Try the same multipliers at higher bounds: they often reach beyond their own grid."""
        if len(proof.multipliers) * max(proof.multipliers) > MOST_STRETCHED:
            return
        for share in STRETCHES:
            bound = progress.value * JUST_BELOW / (1.0 + share * progress.gap)
            further = replace(proof, bound=bound)
            if progress.finished:
                return
            if refuted(progress.problem, further) is None:
                progress.prove(further)
                return

    def _by_functions(self, progress: Progress) -> None:
        low, high = progress.bound, progress.value
        for _ in range(6):
            target = sqrt(low * high) if low > 0.0 else high / 2.0
            if progress.finished or gap_between(high, low) < 1e-3:
                break
            proof = prove_by_dual_functions(self._instance, target, self._window, self._choices)
            progress.prove(proof)
            low, high = (target, high) if proof else (low, target)

    def _next_target(self, progress: Progress) -> float | None:
        """Return the next target, or None if the grid was made finer instead or nothing is left."""
        proven = progress.gap
        if self._failed is not None and self._failed >= progress.value:
            self._failed = None
        if self._failed is None:
            wanted = min(FIRST_GAP, proven / 4.0)
        else:
            failed = max(gap_between(progress.value, self._failed), SMALLEST_GAP)
            if proven < failed * CLOSE:
                self._refine()
                return None
            wanted = sqrt(proven * failed)
        if wanted < SMALLEST_GAP:
            self.exhausted = True
            return None
        return progress.value / (1.0 + wanted)

    def _refine(self) -> None:
        self._refinements += 1
        self._failed = None
        cells = self._instance.size.shape[0] * self._steps * 3
        if self._refinements > REFINEMENTS or cells > MOST_CELLS:
            self.exhausted = True
        self._steps *= 3
        self._whole = min(self._whole * 2, MOST_WHOLE)
