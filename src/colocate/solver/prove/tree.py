"""A search of everything whose decisions are kept as a proof."""

from math import inf

import numpy as np

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.instance import Instance
from colocate.problem.layout import Layout
from colocate.solver.construct.completion import Outcome, Tape
from colocate.solver.construct.exhaustive import Searched, search_fit
from colocate.solver.construct.task import FINITE

LONGEST_TAPE = 2 * 8_000_000
"""A longer tree is not kept."""


def search_with_proof(
    instance: Instance, layout: Layout, target: float, nodes: int
) -> tuple[Searched, Certificate | None]:
    """Fill the layout with a placement at the target, or return the proof that there is none.

    Parameters
    ----------
    instance, layout
        What is placed, and what is filled.
    target
        The highest pressure; infinite for memory alone, `FINITE` for any finite pressure.
    nodes
        How many nodes it may visit.
    """
    tape: Tape = np.empty(min(2 * nodes + 2, LONGEST_TAPE), np.uint16)
    found = search_fit(instance, layout, target, nodes, tape)
    proof = _proof(found, target, tape) if found.outcome is Outcome.NONE else None
    return found, proof


def _proof(found: Searched, target: float, tape: Tape) -> Certificate:
    bound = inf if target >= FINITE else target
    if found.written > len(tape):
        return Certificate(Proof.SEARCH, bound, nodes=found.visited)
    return Certificate(
        Proof.TREE,
        bound,
        nodes=found.visited,
        order=tuple(found.order.tolist()),
        tree=_bytes(tape[: found.written]),
        finite=target == FINITE,
    )


def _bytes(tape: Tape) -> bytes:
    """Return what is written, a byte each if that is enough."""
    return tape.astype(np.uint8 if tape.max(initial=0) < 2**8 else "<u2").tobytes()
