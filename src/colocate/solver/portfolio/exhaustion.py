"""Exhaustion: searches the whole problem, with ever more nodes, until nothing is left."""

from math import isfinite

from colocate.problem.layout import empty_layout
from colocate.problem.reduction import Reduction
from colocate.solver.construct.completion import Outcome
from colocate.solver.construct.task import FINITE
from colocate.solver.deadline import Deadline
from colocate.solver.portfolio.activity import LONGEST_STEP
from colocate.solver.progress import CHECK_SYMBOL, ItemProgress
from colocate.solver.prove.tree import search_with_proof

FEWEST_NODES = 6000
"""Nodes of the first exhaustive search."""
LADDER, TOP = 4.0, 1e12
"""If no finite pressure is known: the factor between multiples of the bound, and the last one."""


class Exhaustion:
    """Search the whole problem just below the best value, or at the target, with ever more nodes.

    While no finite pressure is known, the search looks for one at ever larger multiples of the
    bound, and finally at any pressure.
    """

    share, handicap = 0.2, 0.0

    def __init__(self, reduction: Reduction, deadline: Deadline) -> None:
        self._instance = reduction.instance
        self._layout = empty_layout(reduction.instance, deadline.go)
        self._nodes = FEWEST_NODES
        self._multiple = 1.0
        self.exhausted = False

    def step(self, progress: ItemProgress) -> None:
        """Search until nothing better is left or the nodes are used up."""
        target = self._target(progress)
        before = progress.seconds
        found, proof = search_with_proof(self._instance, self._layout, target, self._nodes)
        if found.outcome is Outcome.FOUND:
            progress.offer(self._layout.gpu_of, "exhaustive search")
        elif proof:
            progress.prove(proof)
            self.exhausted = isfinite(progress.value) or target == FINITE
        elif isfinite(progress.value) or target == FINITE:
            a_node = (progress.seconds - before) / max(found.visited, 1) + 2 * CHECK_SYMBOL
            seconds = min(progress.seconds_left / 2, LONGEST_STEP)
            self._nodes = int(min(4 * self._nodes, max(seconds, 0.0) / a_node))
            self.exhausted = self._nodes < FEWEST_NODES

    def _target(self, progress: ItemProgress) -> float:
        sought = progress.sought
        if isfinite(sought):
            return sought
        self._multiple *= LADDER
        target = progress.bound * self._multiple
        return target if target > 0.0 and self._multiple <= TOP else FINITE
