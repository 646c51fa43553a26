"""Asks for all programs of a generation, and has them judged meanwhile."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf

from colocate.errors import ProposerError
from colocate.lab.judging.meanwhile import JudgingMeanwhile
from colocate.lab.lab_record import LabRecord
from colocate.lab.messages import Attempt, PaidProposer, Proposer, Request
from colocate.lab.patches.refusal import Refusal, RefusalCode
from colocate.lab.program import Program
from colocate.lab.proposers.asking import Child, ask, askers, unanswered
from colocate.lab.settings import Settings
from colocate.lab.spending import NOTHING


@dataclass(frozen=True)
class Generation:
    """A generation whose requests have been sent; its programs are being judged.

    Parameters
    ----------
    number
        Its number, from 1.
    children
        The programs that it made, in order.
    complete
        Whether all its requests were sent: a budget may end within it.
    judging
        Ends with all programs up to this generation.
    """

    number: int
    children: tuple[Child, ...]
    complete: bool
    judging: JudgingMeanwhile[list[Program]]


class Proposing:
    """Asks for generations.

    Parameters
    ----------
    record
        What is known so far, and takes up what is answered.
    settings
        How to search.
    proposer, askers
        The source of changes, and how many requests it gets at a time.
    """

    def __init__(
        self, record: LabRecord, settings: Settings, proposer: Proposer, askers: int
    ) -> None:
        self._record = record
        self._settings = settings
        self._proposer = proposer
        self._askers = askers

    def ask(
        self,
        generation: int,
        requests: Sequence[Request],
        known: Mapping[str, int],
        judging: JudgingMeanwhile[list[Program]],
    ) -> Generation:
        """Send the requests without a recorded answer, and have the children judged meanwhile.

        Children after a request that was not sent are left to the next run, since that may make a
        twin of them.

        Parameters
        ----------
        generation
            The number of the generation.
        requests
            Its requests.
        known
            Numbers of the programs that are no new ones, by the keys of their syntax trees.
        judging
            Judges the children.
        """
        by_number = {program.number: program for program in self._record.programs}
        answered: dict[int, list[Attempt]] = {}
        children: dict[int, Child] = {}
        unsent: list[int] = []
        done = {program.number for program in self._record.programs}
        with self._unanswered_when_interrupted(), askers(self._askers) as pool:
            asked = {}
            for request in requests:
                before = self._record.attempts_at(request.number)
                blank = before[0] if before else unanswered(request, generation)
                # If the contest has changed since, the choice of parent would differ now.
                told = replace(request, parent=by_number[blank.parents[0]])
                arguments = (told, blank, before, self._settings.attempts, known)
                asked[pool.submit(ask, self._proposer, *arguments)] = request.number
            for future in as_completed(asked):
                attempts, child = future.result()
                answered[asked[future]] = attempts
                if not child and len(attempts) < self._settings.attempts:
                    unsent.append(asked[future])
                if any(attempt.answer.came for attempt in attempts):
                    self._record.add_attempts(attempts)
                if child:
                    twins = (other.made.key == child.made.key for other in children.values())
                    if child.number not in done and not any(twins):
                        judging.add(child.made.source)
                    children[child.number] = child
        self._keep_silent(answered, complete=not unsent)
        kept = [number for number in sorted(children) if number < min(unsent, default=inf)]
        first = self._without_twins([children[number] for number in kept], answered)
        return Generation(generation, tuple(first), not unsent, judging)

    @contextmanager
    def _unanswered_when_interrupted(self) -> Iterator[None]:
        """Count requests as paid for whose answers nobody waits for any more."""
        try:
            yield
        except KeyboardInterrupt:
            if isinstance(self._proposer, PaidProposer):
                self._record.add_unanswered(self._proposer.in_flight)
            raise

    def _keep_silent(self, answered: Mapping[int, list[Attempt]], complete: bool) -> None:
        """Record requests without an answer: the next generation continues without them.

        If nobody answered, or the generation is not complete, the next run asks again. What they
        cost counts all the same.
        """
        came = {n: any(attempt.answer.came for attempt in a) for n, a in answered.items()}
        nobody = not any(came.values())
        for number in (number for number in answered if not came[number]):
            if complete and not nobody:
                self._record.add_attempts(answered[number])
            elif not self._record.attempts_at(number):
                costs = (attempt.answer.spending for attempt in answered[number])
                self._record.add_unanswered(sum(costs, NOTHING))
        if complete and nobody:
            raise ProposerError(str(answered[min(answered)][-1].refusal))

    def _without_twins(
        self, children: Sequence[Child], answered: Mapping[int, list[Attempt]]
    ) -> list[Child]:
        """Of identical children in one generation, keep the first."""
        first: dict[str, Child] = {}
        for child in children:
            twin = first.setdefault(child.made.key, child)
            if twin is not child:
                fault = f"program {twin.number} of the same generation is the same"
                last = answered[child.number][-1]
                refused = replace(last, refusal=Refusal(RefusalCode.TWIN, fault))
                self._record.add_attempts([refused])
        return list(first.values())
