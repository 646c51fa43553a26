"""The loop: asks for changes, takes those that fit, judges the programs, learns, and asks again.

A generation sees only the generations before it, and its requests follow from the seed alone. So a
run that was killed continues where it stopped, and the same answers make the same archive.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from math import inf
from time import monotonic

from colocate.arena.contest import Contest
from colocate.arena.repeats import FIRST_LOOK, Repeats
from colocate.arena.tasks.catalogue import open_task
from colocate.errors import ProposerError
from colocate.lab.archive import Archive
from colocate.lab.judging.evaluation import Evaluation
from colocate.lab.judging.meanwhile import JudgingMeanwhile
from colocate.lab.lab_record import LabRecord
from colocate.lab.messages import (
    NOBODY,
    Attempt,
    LearningProposer,
    PaidProposer,
    Proposer,
    Request,
)
from colocate.lab.patches.refusal import Refusal, RefusalCode
from colocate.lab.population import Population
from colocate.lab.program import Program, best_first
from colocate.lab.proposers.asking import Child, ask, askers, unanswered
from colocate.lab.review.report import write_review
from colocate.lab.settings import Budget, Settings
from colocate.lab.spending import NOTHING


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

        The last generation of the archive may be unfinished, so the run continues there. It never
        touches earlier generations again.
        """
        started = monotonic()
        self._record = LabRecord(self._archive, self._contest.digest)
        self._judge_again_if_the_contest_changed()
        if isinstance(self._proposer, PaidProposer):
            self._proposer.allow(*budget.left(self._record.spent))
        for generation in count(self._record.last_generation):
            complete = self._make(generation) if generation else True
            best = self._confirmed_best()
            on_generation(generation, best)
            if best.verdict.public.optimal:
                return f"the {self._contest.goal} is reached on every public case"
            seconds = monotonic() - started
            spent = self._record.spent
            reason = budget.spent(generation, self._record.attempts, spent, seconds)
            if not complete:
                return f"{reason or 'the budget is spent'}, within generation {generation}"
            if reason:
                return reason
        raise AssertionError("no budget is as large as that")

    def _make(self, generation: int) -> bool:
        """Make a generation; reuse everything that the archive already holds of it.

        Return whether it is complete: a budget may end within it, and the next run completes it.
        """
        programs = [p for p in self._record.programs if p.generation < generation]
        population = Population(programs, self._settings)
        advice = self._advice(programs, generation)
        slots = range(self._settings.proposals)
        blank = [population.request(generation, slot, advice) for slot in slots]
        requests = [replace(request, task=self._task) for request in blank]
        self._teach(programs, generation)
        judging = JudgingMeanwhile(self._evaluation, self._contest, FIRST_LOOK)
        children, complete = self._propose(generation, requests, programs, judging)
        self._judge(generation, children, judging)
        return complete

    def _propose(
        self,
        generation: int,
        requests: Sequence[Request],
        programs: Sequence[Program],
        judging: JudgingMeanwhile,
    ) -> tuple[list[Child], bool]:
        """Send the requests without a recorded answer, and have the children judged meanwhile.

        Return the children in order, and whether all requests were sent. Children after a request
        that was not sent are left to the next run, since that may make a twin of them.
        """
        by_number = {program.number: program for program in programs}
        known = self._record.numbers_by_key(programs)
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
        return self._without_twins([children[number] for number in kept], answered), not unsent

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

    def _judge(self, generation: int, children: Sequence[Child], judging: JudgingMeanwhile) -> None:
        done = {program.number for program in self._record.programs}
        waiting = {child.made.source: child for child in children if child.number not in done}
        for source, verdict in judging.verdicts(list(waiting)):
            child = waiting[source]
            island = (child.number - 1) % self._settings.proposals % self._settings.islands
            program = Program(
                child.number,
                child.made.patch.name,
                child.made.patch.description,
                child.made.source,
                verdict,
                child.parents,
                generation,
                island,
            )
            self._record.add_program(program, child.made.key)

    def _confirmed_best(self) -> Program:
        """Return the best program so far, after enough runs of it to call it best.

        New programs run under one seed. One that seems best runs under all of them: if that was
        luck, another one leads.
        """
        enough = Repeats().of_the_best
        while True:
            best = best_first(self._record.programs)[0]
            if enough.enough_for(best.verdict):
                return best
            self._judge_again([best], enough)

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
