"""The work and the spending of a lab."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from colocate.arena.leaderboard import goal_heading
from colocate.arena.luck import luck_sentence
from colocate.arena.tally import Tally
from colocate.lab.archive import Archive
from colocate.lab.messages import Attempt
from colocate.lab.program import Program, best_first
from colocate.lab.spending import NOTHING, Spending
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
    spent: Spending
    """All that was paid for, and how many answers had to be estimated."""
    estimated: int
    asking_seconds: float
    judging_seconds: float
    """Time of proposers, and of the referee."""

    @classmethod
    def of(
        cls,
        programs: Sequence[Program],
        attempts: Sequence[Attempt],
        unanswered: Spending = NOTHING,
    ) -> Self:
        """Add up the work of programs and answers.

        Parameters
        ----------
        programs, attempts
            What to add up.
        unanswered
            What was spent on requests that no answer is kept of.
        """
        answers = [attempt.answer for attempt in attempts]
        generations = {program.generation for program in programs}
        generations |= {attempt.generation for attempt in attempts}
        return cls(
            programs=len(programs),
            generation=max(generations, default=0),
            answers=len(answers),
            refused=sum(bool(attempt.refusal) for attempt in attempts),
            spent=sum((answer.spending for answer in answers), unanswered),
            estimated=sum(answer.estimated for answer in answers),
            asking_seconds=sum(answer.seconds for answer in answers),
            judging_seconds=sum(_judging_seconds(program) for program in programs),
        )

    @property
    def doubt(self) -> str:
        """How much of the spending is an estimate; empty if nothing is."""
        if not self.spent.estimated:
            return ""
        return f" (estimated for {self.estimated:,} answers)" if self.estimated else " (estimated)"

    def facts(self) -> list[Fact]:
        """Return the sums, one fact per line."""
        return [
            ("programs", f"{self.programs:,} by generation {self.generation:,}"),
            ("proposals", f"{self.answers:,}, refused {self.refused:,}"),
            ("tokens", f"{self.spent.tokens_in:,} in, {self.spent.tokens_out:,} out{self.doubt}"),
            ("cost", f"{self.spent.cost:,.4f}"),
            ("asking", duration(self.asking_seconds)),
            ("judging", duration(self.judging_seconds)),
        ]


def settings_line(archive: Archive) -> str:
    """Return the main settings of a lab as one line."""
    told = (archive.task, archive.setting("seed"), archive.setting("islands"))
    task, seed, islands = (one_line(str(value), LONGEST_NAME) for value in told)
    return f"Lab on {task}, seed {seed}, {islands} island{'' if islands == '1' else 's'}"


def best_facts(programs: Sequence[Program]) -> list[Fact]:
    """Return facts on the best program."""
    best = best_first(programs)[0]
    verdict = best.verdict
    results = verdict.public.results
    reached = tuple(replace(each, value=each.optimum, failure=None) for each in results)
    optimal = Tally(reached, verdict.public.formula)
    goal = goal_heading(results)
    score = f"{fixed(verdict.score, 4)}, {goal} {fixed(optimal.score, 4)}"
    ratio = f"{fixed(verdict.ratio, 6)}, hidden {fixed(verdict.hidden.ratio, 6)}"
    luck = luck_sentence(verdict.luck)
    facts: list[Fact] = [("best", mention(best)), ("score", score), ("ratio", ratio)]
    return [*facts, ("luck", luck)] if luck else facts


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
