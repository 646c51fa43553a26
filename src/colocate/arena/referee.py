"""The referee: puts the cases of a task to a program and keeps everything else to itself.

A program receives plain data, and answers with plain data. The referee keeps the cases, the
checker, the optimum and the clock.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue

from colocate.arena.contest import Contest
from colocate.arena.enclosure import Enclosure, find_packages
from colocate.arena.program_text import read_program
from colocate.arena.question import Question
from colocate.arena.sandbox import LONGEST_ANSWER, Limits, Reply, Sandbox
from colocate.arena.seeds import seed_of
from colocate.arena.tasks.catalogue import open_task
from colocate.arena.tasks.task import Task
from colocate.arena.verdict import NOTHING, CaseVerdict, Failure, Tally, Verdict
from colocate.errors import InputError, SandboxError, TaskError

MOST_TIMEOUTS = 3
"""After this many, the rest does not run: a program that hangs would hold up all others."""
RUNS_OF_THE_BEST = 3
"""Runs before a program may be called best."""


@dataclass(frozen=True)
class Referee:
    """Runs programs and judges their answers.

    Parameters
    ----------
    suite
        The task: a suite or another task by name, the folder of a task, or a task itself.
    hidden
        Whether to ask about hidden cases as well, which no program can have seen.
    hidden_seed
        Makes fresh hidden cases; by default they are those that the best known values are for.
    limits
        The resources of a program; by default those of the task.
    allow, enclosure
        See `Sandbox`.
    workers
        Cases at a time; the verdict is the same for any number.
    """

    suite: str | Path | Task = "adrs"
    hidden: bool = True
    hidden_seed: int | None = None
    limits: Limits | None = None
    allow: tuple[str, ...] = ()
    enclosure: Enclosure | None = None
    workers: int = 1

    def __post_init__(self) -> None:
        find_packages(self.allow)
        if self.workers < 1:
            raise InputError.of("workers", self.workers, "a whole number >= 1")

    @cached_property
    def task(self) -> Task:
        """What programs are judged on."""
        return self.suite if isinstance(self.suite, Task) else open_task(str(self.suite))

    @cached_property
    def contest(self) -> Contest:
        """The questions that every program gets."""
        whole = self.task.contest(self.hidden_seed)
        return whole if self.hidden else replace(whole, hidden=())

    def judge(self, path: str | Path, runs: int = 1) -> Verdict:
        """Judge the program in a file; the worst of several runs counts.

        If something around the program fails, such as the sandbox or the disk, the verdict has a
        `fault` and no score.

        Parameters
        ----------
        path
            The file, which is only ever read as text.
        runs
            How often to put all questions.

        Raises
        ------
        InputError
            If the file cannot be read as a program, or there is no such task.
        """
        program = read_program(Path(path))
        try:
            return self.judge_source(program, runs=runs)
        except (SandboxError, TaskError, OSError, MemoryError) as error:
            fault = str(error) or type(error).__name__
            return Verdict(self.contest.suite, NOTHING, NOTHING, (), runs, fault=fault)

    def judge_source(
        self,
        program: str,
        contest: Contest | None = None,
        runs: int = 1,
        on_case: Callable[[CaseVerdict], None] | None = None,
    ) -> Verdict:
        """Put all questions of a contest to a program; the worst of several runs counts.

        Parameters
        ----------
        program
            Its source.
        contest
            The questions, if not those of the referee's own task.
        runs
            How often to put all of them.
        on_case
            Called after every case, from any thread.

        Raises
        ------
        SandboxError
            If the program could not be run at all, through no fault of its own.
        TaskError
            If the scorer of the task failed.
        """
        asked = contest or self.contest
        verdicts = [self._run(program, asked, on_case) for _ in range(runs)]
        outcomes = {
            tuple(result.value for result in (*verdict.public.results, *verdict.hidden.results))
            for verdict in verdicts
        }
        worst = min(verdicts, key=lambda verdict: verdict.fitness)
        return replace(worst, runs=runs, steady=len(outcomes) == 1)

    def _run(
        self, program: str, contest: Contest, on_case: Callable[[CaseVerdict], None] | None
    ) -> Verdict:
        limits = self.limits or self.task.limits
        sandboxes = [
            Sandbox(program, limits, self.allow, self.enclosure) for _ in range(self.workers)
        ]
        asking = _Asking(sandboxes, contest, limits.seconds, on_case)
        try:
            with ThreadPoolExecutor(self.workers) as pool:
                list(pool.map(asking.ask, range(len(contest.questions))))
        finally:
            for sandbox in sandboxes:
                sandbox.close()
        results = asking.results_in_order()
        walls = next((sandbox.walls for sandbox in sandboxes if sandbox.walls), ())
        public, hidden = results[: len(contest.public)], results[len(contest.public) :]
        tallies = (Tally(public, contest.formula), Tally(hidden, contest.formula))
        return Verdict(contest.suite, *tallies, walls)


class _Asking:
    """One run of a program: the questions put, and the replies."""

    def __init__(
        self,
        sandboxes: Sequence[Sandbox],
        contest: Contest,
        limit: float,
        on_case: Callable[[CaseVerdict], None] | None,
    ) -> None:
        self._questions = contest.questions
        self._limit = limit
        self._on_case = on_case
        self._results: dict[int, CaseVerdict] = {}
        self._free: SimpleQueue[Sandbox] = SimpleQueue()
        for sandbox in sandboxes:
            self._free.put(sandbox)

    def ask(self, number: int) -> None:
        """Put one question, unless too many earlier ones have timed out."""
        if not self._hopeless(number):
            self._results[number] = self._verdict(self._questions[number])
        if self._on_case:
            self._on_case(self._result(number))

    def results_in_order(self) -> tuple[CaseVerdict, ...]:
        """Return a verdict for every question, whichever were running when the run ended."""
        return tuple(self._result(number) for number in range(len(self._questions)))

    def _verdict(self, question: Question) -> CaseVerdict:
        sandbox = self._free.get()
        try:
            reply = _asked(sandbox, question)
        finally:
            self._free.put(sandbox)
        verdict = question.judged(reply, self._limit)
        return replace(verdict, seconds=reply.seconds, cpu_seconds=reply.cpu_seconds)

    def _result(self, number: int) -> CaseVerdict:
        if number in self._results and not self._hopeless(number):
            return self._results[number]
        reason = f"not run, as {MOST_TIMEOUTS} cases before it took too long"
        return self._questions[number].failed(Failure.TIMEOUT, reason)

    def _hopeless(self, number: int) -> bool:
        before = sorted(earlier for earlier in self._results.copy() if earlier < number)
        late = sum(self._results[earlier].failure is Failure.TIMEOUT for earlier in before)
        return late >= MOST_TIMEOUTS


def _asked(sandbox: Sandbox, question: Question) -> Reply:
    """Put a question, and once more if the sandbox ended meanwhile: others may have killed it."""
    seed = seed_of(question.seed, 0)
    reply = sandbox.ask(question.as_data(), seed)
    broken = reply.code is None and not reply.late and len(reply.text) <= LONGEST_ANSWER
    return sandbox.ask(question.as_data(), seed) if broken else reply
