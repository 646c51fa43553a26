"""What passes between the loop and its proposers: a request for a change, and an answer."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, runtime_checkable

from colocate.lab.patches.patch import PatchedProgram
from colocate.lab.patches.refusal import Refusal
from colocate.lab.program import Program

NOBODY = "nobody"
"""Who is recorded for an answer that never came."""


class Kind(StrEnum):
    """What kind of change is asked for."""

    DIFF = "diff"
    REWRITE = "rewrite"
    CROSSING = "crossing"
    """One program made of two: the parent and the first inspiration."""


@dataclass(frozen=True)
class Request:
    """What a proposer is shown."""

    kind: Kind
    parent: Program
    """The program to change."""
    inspirations: tuple[Program, ...] = ()
    """Other good programs; the first is the other parent of a crossing."""
    recommendations: tuple[str, ...] = ()
    """What the last review advises."""
    refusal: Refusal | None = None
    """Why the previous answer to this request was refused; None at the first attempt."""
    seed: int = 0
    """Decides every random choice that the proposer makes."""
    number: int = 0
    """Of the program that the answer is to become."""


@dataclass(frozen=True)
class Answer:
    """What a proposer said, as it was said."""

    text: str
    """As it came."""
    who: str
    """The proposer, with the name of its model if it has one."""
    tokens_in: int = 0
    tokens_out: int = 0
    """As the server counts; 0 where there is none."""
    cost: float = 0.0
    """Money, in the currency of the prices given."""
    seconds: float = 0.0
    """Until the answer was there."""
    cut_off: bool = False
    """Whether the server said that the answer is not complete."""
    made: PatchedProgram | None = field(default=None, compare=False, repr=False)
    """What the proposer itself made of the parent by this text, so that nobody does it again."""

    @property
    def came(self) -> bool:
        """Whether anybody answered."""
        return self.who != NOBODY


@dataclass(frozen=True)
class Attempt:
    """An answer to a request, and what became of it."""

    number: int
    """The program that it was to be: every request has the number of its program."""
    attempt: int
    """0 for the first answer to a request."""
    generation: int
    """Of the request."""
    kind: Kind
    """The kind of change that was made, or if none was made, that was asked for."""
    parents: tuple[int, ...]
    """Numbers of the programs that the request named."""
    answer: Answer
    """What was said; an answer of nobody if nothing was."""
    refusal: Refusal | None = None
    """Why it was refused; None if it was taken."""


class Proposer(Protocol):
    """Something that proposes changes."""

    def propose(self, request: Request) -> Answer:
        """Answer a request; raises ProposerError if there is no answer to be had."""


@runtime_checkable
class LearningProposer(Protocol):
    """A proposer that learns from what became of its answers."""

    def propose(self, request: Request) -> Answer:
        """Answer a request."""

    def learn(self, rewards: Sequence[tuple[str, float, float]]) -> None:
        """Forget what was learned, and learn from (who, improvement, cost) of all answers."""
