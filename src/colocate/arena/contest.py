"""The questions that every program gets."""

from dataclasses import dataclass
from hashlib import sha256

from colocate.arena.case_verdict import goal_word
from colocate.arena.question import Question
from colocate.arena.tally import Formula

RULES = 2
"""The version of these rules: verdicts by other versions cannot be compared.

Version 2 judges programs that use chance under several seeds.
"""


@dataclass(frozen=True)
class Contest:
    """The questions that every program gets.

    Parameters
    ----------
    suite
        The suite or task that the cases come from.
    public
        The cases as published.
    hidden
        Similar cases that no program can have seen; there may be none.
    formula
        How the score is made from the values of the cases.
    """

    suite: str
    public: tuple[Question, ...]
    hidden: tuple[Question, ...]
    formula: Formula = Formula.PRESSURE

    @property
    def questions(self) -> tuple[Question, ...]:
        """All questions, in the order in which the referee asks them."""
        return self.public + self.hidden

    @property
    def goal(self) -> str:
        """The name of the optimum: proven on every public case, or only the best known."""
        return "proven optimum" if self.target == "optimum" else "best value known"

    @property
    def target(self) -> str:
        """What ratios compare with, as verdicts call it."""
        return goal_word(question.proven for question in self.public)

    @property
    def bounded(self) -> bool:
        """Whether a proven bound limits every public case; else the best known may be beaten."""
        return all(question.bound is not None for question in self.public)

    @property
    def digest(self) -> str:
        """A short hash of rules, questions and optima; verdicts compare if it is the same."""
        parts = [f"{question.digest}{question.optimum!r}" for question in self.questions]
        return sha256("".join([str(RULES), *parts]).encode()).hexdigest()[:16]
