"""The content of an archive in memory, read once per run and updated with every write.

An archive has one writer, so nothing else can change it during the run.
"""

from collections.abc import Mapping, Sequence

from colocate.lab.archive import Archive
from colocate.lab.messages import Attempt
from colocate.lab.patches.syntax import syntax_key
from colocate.lab.program import Program
from colocate.lab.review.report import Review
from colocate.lab.spending import Spending


class LabRecord:
    """The programs, attempts and reviews of an archive.

    Parameters
    ----------
    archive
        Open for writing. Every addition goes there first.
    digest
        The digest of the contest that new verdicts come from.
    """

    def __init__(self, archive: Archive, digest: str) -> None:
        self._archive = archive
        self._digest = digest
        self._programs = {program.number: program for program in archive.programs()}
        self._attempts = {(each.number, each.attempt): each for each in archive.attempts()}
        self._reviews = dict(archive.reviews())
        self._unanswered = archive.unanswered()
        self._keys: dict[int, str] = {}

    @property
    def programs(self) -> list[Program]:
        """All programs by number."""
        return [self._programs[number] for number in sorted(self._programs)]

    @property
    def attempts(self) -> list[Attempt]:
        """All answers, in the order of their numbers."""
        return [self._attempts[place] for place in sorted(self._attempts)]

    @property
    def last_generation(self) -> int:
        """The generation of the last answer; 0 if there is none."""
        return max((attempt.generation for attempt in self._attempts.values()), default=0)

    @property
    def spent(self) -> Spending:
        """All that answers cost, those that never came included."""
        answers = (attempt.answer.spending for attempt in self._attempts.values())
        return sum(answers, self._unanswered)

    def attempts_at(self, number: int) -> list[Attempt]:
        """Return the answers to the request for a program, in order."""
        places = [place for place, each in self._attempts.items() if each.number == number]
        return [self._attempts[place] for place in sorted(places)]

    def numbers_by_key(self, programs: Sequence[Program]) -> Mapping[str, int]:
        """Return the numbers of programs by the keys of their syntax trees."""
        for program in programs:
            if program.number not in self._keys:
                self._keys[program.number] = syntax_key(program.source)
        return {self._keys[program.number]: program.number for program in programs}

    def last_review(self, most_programs: int) -> tuple[int, Review | None]:
        """Return the last review of at most so many programs, with its number of programs."""
        past = [number for number in self._reviews if number <= most_programs]
        return (max(past), Review.from_dict(self._reviews[max(past)])) if past else (0, None)

    def add_program(self, program: Program, key: str | None = None) -> None:
        """Keep a program with its verdict.

        Parameters
        ----------
        program
            A new one, or one that was judged again.
        key
            The key of its syntax tree, if already known.
        """
        self._archive.add_program(program, self._digest)
        self._programs[program.number] = program
        if key is not None:
            self._keys[program.number] = key

    def add_attempts(self, attempts: Sequence[Attempt]) -> None:
        """Keep the answers to a request, all or none of them."""
        self._archive.add_attempts(attempts)
        self._attempts |= {(each.number, each.attempt): each for each in attempts}

    def add_unanswered(self, spending: Spending) -> None:
        """Keep the cost of requests that are asked again later."""
        if spending:
            self._archive.add_unanswered(spending)
            self._unanswered += spending

    def add_review(self, number: int, review: Review) -> None:
        """Keep a review of the first so many programs."""
        facts = review.as_dict()
        self._archive.add_review(number, facts)
        self._reviews[number] = facts
