"""The work and the spending of a lab."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from colocate.arena.verdict import Tally
from colocate.lab.archive import Archive
from colocate.lab.messages import Attempt
from colocate.lab.program import Program, best_first
from colocate.lab.watch.sheet import Fact, mention
from colocate.outputs.text.sanitise import LONGEST_NAME, one_line
from colocate.outputs.text.wording import fixed


@dataclass(frozen=True)
class Account:
    """Sums over a number of programs and answers."""

    programs: int
    generation: int
    """The last one."""
    answers: int
    refused: int
    """Requests, answered or not, and those that made no program."""
    tokens_in: int
    tokens_out: int
    """As servers count them."""
    cost: float
    asking_seconds: float
    judging_seconds: float
    """Time of proposers, and of the referee."""

    @classmethod
    def of(cls, programs: Sequence[Program], attempts: Sequence[Attempt]) -> Self:
        """Add up the work of programs and answers."""
        answers = [attempt.answer for attempt in attempts]
        generations = {program.generation for program in programs}
        generations |= {attempt.generation for attempt in attempts}
        return cls(
            programs=len(programs),
            generation=max(generations, default=0),
            answers=len(answers),
            refused=sum(bool(attempt.refusal) for attempt in attempts),
            tokens_in=sum(answer.tokens_in for answer in answers),
            tokens_out=sum(answer.tokens_out for answer in answers),
            cost=sum(answer.cost for answer in answers),
            asking_seconds=sum(answer.seconds for answer in answers),
            judging_seconds=sum(_judging_seconds(program) for program in programs),
        )

    def facts(self) -> list[Fact]:
        """Return the sums, one fact per line."""
        return [
            ("programs", f"{self.programs:,} by generation {self.generation:,}"),
            ("proposals", f"{self.answers:,}, refused {self.refused:,}"),
            ("tokens", f"{self.tokens_in:,} in, {self.tokens_out:,} out"),
            ("cost", f"{self.cost:,.4f}"),
            ("asking", duration(self.asking_seconds)),
            ("judging", duration(self.judging_seconds)),
        ]


def settings_line(archive: Archive) -> str:
    """Return the main settings of a lab as one line."""
    told = (archive.setting(name) for name in ("suite", "seed", "islands"))
    suite, seed, islands = (one_line(str(value), LONGEST_NAME) for value in told)
    return f"Lab on {suite}, seed {seed}, {islands} island{'' if islands == '1' else 's'}"


def best_facts(programs: Sequence[Program]) -> list[Fact]:
    """Return facts on the best program."""
    best = best_first(programs)[0]
    verdict = best.verdict
    optimal = Tally(
        tuple(
            replace(result, value=result.optimum, failure=None) for result in verdict.public.results
        )
    )
    score = f"{fixed(verdict.score, 4)}, optimum {fixed(optimal.score, 4)}"
    ratio = f"{fixed(verdict.ratio, 6)}, hidden {fixed(verdict.hidden.ratio, 6)}"
    return [("best", mention(best)), ("score", score), ("ratio", ratio)]


def duration(seconds: float) -> str:
    """Return a time in the two units that matter."""
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, left = divmod(minutes, 60)
    return f"{hours:,} h {left} min" if hours else f"{minutes} min {rest} s"


def _judging_seconds(program: Program) -> float:
    verdict = program.verdict
    return verdict.runs * (verdict.public.seconds + verdict.hidden.seconds)
