"""The proposer that needs no language model: it composes blocks of the product."""

from dataclasses import replace
from hashlib import sha256

import numpy as np

from colocate.arena.tasks.frame import Frame
from colocate.errors import ProposerError
from colocate.lab.messages import Answer, Kind, Request
from colocate.lab.patches.answer_writer import write_patch
from colocate.lab.patches.refusal import PatchRefused
from colocate.lab.proposers.composer.choices import Draw
from colocate.lab.proposers.composer.grammar import Composition
from colocate.lab.proposers.composer.mutation import (
    Mutation,
    crossed,
    mutated,
    mutated_often,
    renewed,
)
from colocate.lab.proposers.composer.naming import name_of
from colocate.lab.proposers.composer.source import read_composition, write_into

WHO = "composer"
"""The recorded author of its answers."""
CHANGED_OFTEN = 0.5
"""How often a rewrite changes the parent in several places instead of starting afresh."""


class Composer:
    """Mutates and crosses compositions, and writes them as programs.

    It can read the composition of a program that it wrote itself. Other programs have none, so the
    answer to such a parent is a rewrite. A crossing then continues from the inspiration, if that
    has a composition; everything else begins with a single start. The same request always gets the
    same answer.
    """

    def propose(self, request: Request) -> Answer:
        """Answer a request with a program that differs from the parent.

        Raises
        ------
        ProposerError
            If the parent cannot be changed, because its evolve markers are no pair, or if the task
            is not placement.
        """
        frame = request.task.frame
        if frame is None:
            raise ProposerError(f"{WHO}: it writes placement programs only")
        parent = read_composition(request.parent.source, frame)
        change = _change(request, frame, parent, _draw(request, frame.slower))
        rewrites = parent is None or request.kind is Kind.REWRITE
        try:
            return _answer(change, frame, request.parent.source, rewrites)
        except PatchRefused as refusal:
            raise ProposerError(f"{WHO}: {refusal}") from refusal


def _draw(request: Request, slower: float) -> Draw:
    # The hash of a text changes with every start of Python; a digest does not.
    refused = sha256(str(request.refusal).encode()).digest() if request.refusal else b""
    return Draw(np.random.default_rng([request.seed, *refused]), request.recommendations, slower)


def _change(request: Request, frame: Frame, parent: Composition | None, draw: Draw) -> Mutation:
    crosses = request.kind is Kind.CROSSING and bool(request.inspirations)
    other = read_composition(request.inspirations[0].source, frame) if crosses else None
    if parent is None:
        return _after_inspiration(mutated(other, draw)) if other else renewed(None, draw)
    if other:
        return crossed(parent, other, draw)
    if request.kind is Kind.DIFF:
        return mutated(parent, draw)
    return (
        mutated_often(parent, draw) if draw.rng.random() < CHANGED_OFTEN else renewed(parent, draw)
    )


def _after_inspiration(change: Mutation) -> Mutation:
    return replace(change, clause=f"go on from the inspiration: {change.clause}")


def _answer(change: Mutation, frame: Frame, parent: str, rewrites: bool) -> Answer:
    """Return a change as an answer; with line ends of two letters, as a rewrite."""
    name = name_of(change.child)
    description = f"{change.clause[0].upper()}{change.clause[1:]}."
    program = write_into(parent, change.child, frame)
    if not rewrites and "\r\n" not in parent:
        written = write_patch(parent, program, name=name, description=description)
        return Answer(written.text, WHO, made=written.made)
    text = (
        f"<NAME>\n{name}\n</NAME>\n\n<DESCRIPTION>\n{description}\n</DESCRIPTION>\n\n"
        f"<CODE>\n```python\n{program}```\n</CODE>\n"
    )
    return Answer(text, WHO)
