"""Recorded answers, given once more."""

from collections.abc import Iterable

from colocate.errors import ProposerError
from colocate.lab.proposal import Answer, Request


class Replay:
    """A proposer that repeats a record, whatever it is asked.

    Parameters
    ----------
    answers
        What to say, in order.
    """

    def __init__(self, answers: Iterable[Answer]) -> None:
        self._answers = tuple(answers)
        self._given = 0

    def propose(self, request: Request) -> Answer:
        """Return the next answer of the record.

        Raises
        ------
        ProposerError
            If none is left.
        """
        if self._given == len(self._answers):
            raise ProposerError(
                f"the record has no answer {self._given + 1}: it holds {len(self._answers)}; "
                "replay as many generations as were recorded, with the same settings"
            )
        self._given += 1
        return self._answers[self._given - 1]
