"""Search exhaustively, and keep the decisions as a proof."""

from math import inf

import numpy as np

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.instance import Instance
from colocate.problem.layout import Layout
from colocate.solver.construct.completion import Outcome, Tape
from colocate.solver.construct.exhaustive import Searched, search_fit
from colocate.solver.construct.task import FINITE

LONGEST_TAPE = 2 * 8_000_000
"""The most symbols of a tree that is kept."""
LARGEST_BYTE = 255
"""With more items or GPUs than this, the numbers of a tree take two bytes each."""


def search_with_proof(
    instance: Instance, layout: Layout, target: float, nodes: int
) -> tuple[Searched, Certificate | None]:
    """Fill the layout with a placement at the target, or return the proof that there is none.

    Parameters
    ----------
    instance, layout
        The problem, and the layout to fill.
    target
        The highest pressure; infinite for memory alone, `FINITE` for any finite pressure.
    nodes
        The most nodes to visit.
    """
    tape: Tape = np.empty(min(2 * nodes + 2, LONGEST_TAPE), np.uint16)
    found = search_fit(instance, layout, target, nodes, tape)
    if found.outcome is not Outcome.NONE:
        return found, None
    wide = max(len(instance.size) + 2, len(instance.capacity) + 1) > LARGEST_BYTE
    return found, _proof(found, target, tape, wide)


def _proof(found: Searched, target: float, tape: Tape, wide: bool) -> Certificate:
    bound = inf if target >= FINITE else target
    finite = target == FINITE
    if found.written > len(tape):
        return Certificate(Proof.SEARCH, bound, nodes=found.visited, finite=finite)
    return Certificate(
        Proof.TREE,
        bound,
        nodes=found.visited,
        order=tuple(found.order.tolist()),
        tree=tape[: found.written].astype("<u2" if wide else np.uint8).tobytes(),
        finite=finite,
    )
