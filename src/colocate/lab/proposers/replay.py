"""A proposer that repeats recorded answers."""

from collections import defaultdict
from collections.abc import Iterable

from colocate.errors import ProposerError
from colocate.lab.messages import Answer, Attempt, Request, UnusableAnswer


class Replay:
    """A proposer that repeats the recorded answer to every request, or its absence.

    Parameters
    ----------
    attempts
        The record: the answers to each request, in order.
    """

    def __init__(self, attempts: Iterable[Attempt]) -> None:
        self._left: defaultdict[int, list[Attempt]] = defaultdict(list)
        for attempt in attempts:
            self._left[attempt.number].append(attempt)

    def propose(self, request: Request) -> Answer:
        """Return the next answer of the record to this request.

        Raises
        ------
        ProposerError
            If none came, or none is left.
        """
        if not self._left[request.number]:
            raise ProposerError(
                f"the record has no further answer to request {request.number}; "
                "replay as many generations as were recorded, with the same settings"
            )
        attempt = self._left[request.number].pop(0)
        if attempt.refusal and not attempt.answer.came:
            raise UnusableAnswer(attempt.refusal, attempt.answer)
        return attempt.answer
