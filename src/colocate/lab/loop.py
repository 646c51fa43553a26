"""The loop: asks for changes, takes those that fit, judges the programs, learns, and asks again.

A generation sees only the generations before it, and its requests follow from the seed alone. So a
run that was killed continues where it stopped, and the same answers make the same archive. If it is
asked for while the one before it is judged, it sees only those before that one: not what happens to
be judged by then.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from time import monotonic

from colocate.arena.contest import Contest
from colocate.arena.repeats import FIRST_LOOK, Repeats
from colocate.arena.tasks.catalogue import open_task
from colocate.arena.verdict import Verdict
from colocate.errors import ProposerError
from colocate.lab.archive import Archive
from colocate.lab.judging.evaluation import Evaluation
from colocate.lab.judging.meanwhile import JudgingMeanwhile
from colocate.lab.lab_record import LabRecord
from colocate.lab.messages import NOBODY, LearningProposer, PaidProposer, Proposer
from colocate.lab.population import Population
from colocate.lab.program import Program, best_first
from colocate.lab.proposers.asking import Child
from colocate.lab.proposing import Generation, Proposing
from colocate.lab.review.report import write_review
from colocate.lab.settings import Budget, Settings


class Lab:
    """A search for better programs that starts from its archive.

    Parameters
    ----------
    archive
        Open for writing, with the start program in it.
    settings, contest
        How to search, and the questions that programs answer.
    evaluation
        Where programs are judged.
    proposer, askers
        The source of changes, and how many requests it gets at a time.
    """

    _record: LabRecord
    _proposing: Proposing

    def __init__(
        self,
        archive: Archive,
        settings: Settings,
        contest: Contest,
        evaluation: Evaluation,
        proposer: Proposer,
        askers: int = 1,
    ) -> None:
        self._archive = archive
        self._settings = settings
        self._contest = contest
        self._task = open_task(settings.task)
        self._evaluation = evaluation
        self._proposer = proposer
        self._askers = askers

    def run(self, budget: Budget, on_generation: Callable[[int, Program], None]) -> str:
        """Run until the optimum is reached or the budget is spent; return why it ended.

        Where no bound is proven, a best value known may be beaten: only the budget ends the run.

        The last generations of the archive may be unfinished, so the run continues there. It never
        touches earlier ones again.
        """
        started = monotonic()
        self._record = LabRecord(self._archive, self._contest.digest)
        self._proposing = Proposing(self._record, self._settings, self._proposer, self._askers)
        self._judge_again_if_the_contest_changed()
        if isinstance(self._proposer, PaidProposer):
            self._proposer.allow(*budget.left(self._record.spent))

        def over(generation: int) -> str:
            seconds = monotonic() - started
            return budget.spent(generation, self._record.attempts, self._record.spent, seconds)

        ahead = self._settings.ahead
        reason = ""
        last = self._record.last_generation
        first = max(last - ahead, 0)
        if first == 0:
            first = 1
            start = [program for program in self._record.programs if program.generation == 0]
            reason = self._kept(0, self._confirmed(start), {}, on_generation)
            reason = reason or ("" if last else over(0))
        asked: deque[Generation] = deque()
        for generation in count(first):
            if reason:
                break
            asked.append(self._asked_after(asked, generation, on_generation))
            if not asked[-1].complete:
                why = over(generation) or "the budget is spent"
                reason = f"{why}, within generation {generation}"
            while len(asked) > ahead and not reason:
                reason = self._finish(asked.popleft(), on_generation)
            if generation >= last:  # those that were asked for already cost no more
                reason = reason or over(generation)
        return self._finish_all(asked, on_generation) or reason

    def _asked_after(
        self,
        asked: "deque[Generation]",
        generation: int,
        on_generation: Callable[[int, Program], None],
    ) -> Generation:
        """Ask for a generation; if nobody answers, finish those before it first."""
        try:
            return self._asked(generation, asked[-1] if asked else None)
        except ProposerError:
            self._finish_all(asked, on_generation)
            raise

    def _asked(self, generation: int, last: Generation | None) -> Generation:
        """Ask for a generation; reuse everything that the archive already holds of it.

        Its requests know the programs of all generations but the one that is still being judged.
        """
        seen = max(generation - self._settings.ahead, 1)
        programs = [p for p in self._record.programs if p.generation < seen]
        population = Population(programs, self._settings)
        advice = self._advice(programs, seen)
        slots = range(self._settings.proposals)
        blank = [population.request(generation, slot, advice) for slot in slots]
        requests = [replace(request, task=self._task) for request in blank]
        self._teach(programs, seen)
        children = last.children if last else ()
        known = {child.made.key: child.number for child in children}
        known |= self._record.numbers_by_key(programs)
        judging = JudgingMeanwhile(
            self._evaluation, self._contest, FIRST_LOOK, last.judging if last else None
        )
        made = self._proposing.ask(generation, requests, known, judging)
        self._close(made, last)
        return made

    def _close(self, made: Generation, last: Generation | None) -> None:
        """Have the programs of a generation made when they are judged, and the best confirmed."""
        before = [p for p in self._record.programs if p.generation <= made.number]
        done = {program.number for program in before}
        new = [child for child in made.children if child.number not in done]

        def programs(verdicts: Mapping[str, Verdict]) -> list[Program]:
            earlier = {program.number: program for program in before}
            if last:
                earlier |= {program.number: program for program in last.judging.outcome()}
            born = [self._born(child, made.number, verdicts[child.made.source]) for child in new]
            return self._confirmed([*earlier.values(), *born])

        made.judging.close([child.made.source for child in new], programs)

    def _born(self, child: Child, generation: int, verdict: Verdict) -> Program:
        island = (child.number - 1) % self._settings.proposals % self._settings.islands
        patch = child.made.patch
        told = (child.number, patch.name, patch.description, child.made.source, verdict)
        return Program(*told, child.parents, generation, island)

    def _finish(self, made: Generation, on_generation: Callable[[int, Program], None]) -> str:
        """Keep the programs of a generation; return why the run ends, if the optimum is reached."""
        keys = {child.number: child.made.key for child in made.children}
        return self._kept(made.number, made.judging.outcome(), keys, on_generation)

    def _finish_all(
        self, asked: "deque[Generation]", on_generation: Callable[[int, Program], None]
    ) -> str:
        """Finish all generations that have been asked for; return why the run ends, if it does."""
        reason = ""
        while asked:
            reason = self._finish(asked.popleft(), on_generation) or reason
        return reason

    def _kept(
        self,
        generation: int,
        programs: Sequence[Program],
        keys: Mapping[int, str],
        on_generation: Callable[[int, Program], None],
    ) -> str:
        """Keep what is new and report the best; return why the run ends, if it is optimal."""
        known = {program.number: program for program in self._record.programs}
        for program in programs:
            if known.get(program.number) != program:
                self._record.add_program(program, keys.get(program.number))
        best = best_first(programs)[0]
        on_generation(generation, best)
        done = self._contest.bounded and best.verdict.public.optimal
        return f"the {self._contest.goal} is reached on every public case" if done else ""

    def _confirmed(self, programs: Sequence[Program]) -> list[Program]:
        """Return the programs after enough runs of the best to call it that.

        New programs run under one seed. One that seems best runs under all of them: if that was
        luck, another one leads.
        """
        enough = Repeats().of_the_best
        found = {program.number: program for program in programs}
        while True:
            best = best_first(list(found.values()))[0]
            if enough.enough_for(best.verdict):
                return [found[number] for number in sorted(found)]
            ((_, verdict),) = self._evaluation.judge([best.source], self._contest, enough)
            found[best.number] = replace(best, verdict=verdict)

    def _judge_again_if_the_contest_changed(self) -> None:
        outdated = set(self._archive.judged_otherwise(self._contest.digest))
        self._judge_again([p for p in self._record.programs if p.number in outdated], FIRST_LOOK)

    def _judge_again(self, programs: Sequence[Program], repeats: Repeats) -> None:
        sources = [program.source for program in programs]
        for place, verdict in self._evaluation.judge(sources, self._contest, repeats):
            self._record.add_program(replace(programs[place], verdict=verdict))

    def _teach(self, programs: Sequence[Program], generation: int) -> None:
        """Give a learning proposer the results of all its answers so far."""
        if not isinstance(self._proposer, LearningProposer):
            return
        fitness = {program.number: program.verdict.fitness for program in programs}
        rewards = []
        for attempt in self._record.attempts:
            if attempt.generation < generation and attempt.answer.who != NOBODY:
                base = fitness[attempt.parents[0]]
                reached = base if attempt.refusal else fitness.get(attempt.number, base)
                rewards.append((attempt.answer.who, reached - base, attempt.answer.cost))
        self._proposer.learn(rewards)

    def _advice(self, programs: Sequence[Program], generation: int) -> tuple[str, ...]:
        """Return the recommendations of the last review; write a review if one is due."""
        due = len(programs) // self._settings.review * self._settings.review
        number, last = self._record.last_review(due)
        if due > number:
            attempts = [a for a in self._record.attempts if a.generation < generation]
            last = write_review(programs, attempts, last)
            self._record.add_review(due, last)
        return last.recommendations if last else ()
