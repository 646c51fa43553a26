"""The messages between the loop and its proposers: a request for a change, and an answer."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, runtime_checkable

from colocate.arena.tasks.catalogue import open_task
from colocate.arena.tasks.task import Task
from colocate.lab.patches.patch import PatchedProgram
from colocate.lab.patches.refusal import Refusal
from colocate.lab.program import Program

NOBODY = "nobody"
"""The recorded author of an answer that never came."""


class Kind(StrEnum):
    """The kind of change that a request asks for."""

    DIFF = "diff"
    REWRITE = "rewrite"
    CROSSING = "crossing"
    """One program made of two: the parent and the first inspiration."""


@dataclass(frozen=True)
class Request:
    """The content of a request, which a proposer sees."""

    kind: Kind
    parent: Program
    """The program to change."""
    inspirations: tuple[Program, ...] = ()
    """Other good programs; the first is the other parent of a crossing."""
    recommendations: tuple[str, ...] = ()
    """The advice of the last review."""
    refusal: Refusal | None = None
    """Why the previous answer to this request was refused; None at the first attempt."""
    seed: int = 0
    """Decides every random choice that the proposer makes."""
    number: int = 0
    """The number of the program that the answer is to become."""
    task: Task = field(default_factory=open_task, compare=False, repr=False)
    """What the program must do."""


@dataclass(frozen=True)
class Answer:
    """An answer of a proposer, unchanged."""

    text: str
    """The raw text."""
    who: str
    """The proposer, with the name of its model if it has one."""
    tokens_in: int = 0
    tokens_out: int = 0
    """As the server counts them; 0 if there is no server."""
    cost: float = 0.0
    """Money, in the currency of the prices given."""
    seconds: float = 0.0
    """Time until the answer arrived."""
    cut_off: bool = False
    """Whether the server reported the answer as incomplete."""
    made: PatchedProgram | None = field(default=None, compare=False, repr=False)
    """The program that the proposer already made with this text, to save doing it again."""

    @property
    def came(self) -> bool:
        """Whether anybody answered."""
        return self.who != NOBODY


@dataclass(frozen=True)
class Attempt:
    """An answer to a request, and whether it was taken."""

    number: int
    """The program that it was to be: every request has the number of its program."""
    attempt: int
    """0 for the first answer to a request."""
    generation: int
    """The generation of the request."""
    kind: Kind
    """The kind of change made, or the kind requested if none was made."""
    parents: tuple[int, ...]
    """Numbers of the programs that the request named."""
    answer: Answer
    """The answer; its author is `NOBODY` if none came."""
    refusal: Refusal | None = None
    """Why it was refused; None if it was taken."""


class Proposer(Protocol):
    """A source of proposed changes."""

    def propose(self, request: Request) -> Answer:
        """Answer a request; raise ProposerError if there is no answer."""


@runtime_checkable
class LearningProposer(Protocol):
    """A proposer that learns from the results of its answers."""

    def propose(self, request: Request) -> Answer:
        """Answer a request."""

    def learn(self, rewards: Sequence[tuple[str, float, float]]) -> None:
        """Learn again from scratch, from (who, improvement, cost) of all answers."""
