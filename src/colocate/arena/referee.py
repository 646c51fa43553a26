"""The referee: puts the cases of a task to a program and keeps everything else to itself.

A program receives plain data, and answers with plain data. The referee keeps the cases, the
checker, the optimum and the clock.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from queue import SimpleQueue

from colocate.arena.contest import Contest
from colocate.arena.enclosure import Enclosure, find_packages
from colocate.arena.program_text import read_program
from colocate.arena.question import Question
from colocate.arena.repeats import SEEDS, Kept, Repeats, Run, repeated
from colocate.arena.sandbox import LONGEST_ANSWER, Limits, Reply, Sandbox
from colocate.arena.seeds import seed_of
from colocate.arena.set_order import may_see_order
from colocate.arena.tasks.catalogue import open_task
from colocate.arena.tasks.task import Task
from colocate.arena.verdict import NOTHING, CaseVerdict, Failure, Tally, Verdict
from colocate.errors import InputError, SandboxError, TaskError

MOST_TIMEOUTS = 3
"""After this many, the rest does not run: a program that hangs would hold up all others."""


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
    seeds, first_seed
        How many seeds a program is judged under if it uses chance, and the first one. The worst
        counts. Under the seed 0, a program draws as it is written.
    """

    suite: str | Path | Task = "adrs"
    hidden: bool = True
    hidden_seed: int | None = None
    limits: Limits | None = None
    allow: tuple[str, ...] = ()
    enclosure: Enclosure | None = None
    workers: int = 1
    seeds: int = SEEDS
    first_seed: int = 0

    def __post_init__(self) -> None:
        find_packages(self.allow)
        self.repeats()
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

    def repeats(self, runs: int = 1) -> Repeats:
        """Return how often programs are judged, if all cases are run so often."""
        return Repeats(runs, self.seeds, self.first_seed)

    def judge(self, path: str | Path, runs: int = 1) -> Verdict:
        """Judge the program in a file; if it uses chance, under several seeds: the worst counts.

        If something around the program fails, such as the sandbox or the disk, the verdict has a
        `fault` and no score.

        Parameters
        ----------
        path
            The file, which is only ever read as text.
        runs
            How often to put all questions, whether the program uses chance or not.

        Raises
        ------
        InputError
            If the file cannot be read as a program, or there is no such task.
        """
        program = read_program(Path(path))
        try:
            return self.judge_source(program, repeats=self.repeats(runs))
        except (SandboxError, TaskError, OSError, MemoryError) as error:
            fault = str(error) or type(error).__name__
            return Verdict(self.contest.suite, NOTHING, NOTHING, (), runs, fault=fault)

    def judge_source(
        self,
        program: str,
        contest: Contest | None = None,
        repeats: Repeats | None = None,
        on_case: Callable[[CaseVerdict], None] | None = None,
    ) -> Verdict:
        """Put all questions of a contest to a program, under several seeds if it uses chance.

        Parameters
        ----------
        program
            Its source.
        contest
            The questions, if not those of the referee's own task.
        repeats
            How often, and under which seeds.
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
        sees_order = bool(self.allow) or may_see_order(program)

        def run(seed: int, kept: Kept) -> Run:
            return self._run(program, asked, _Seed(seed, sees_order), kept, on_case)

        return repeated(run, repeats or self.repeats(), sees_order)

    def _run(
        self,
        program: str,
        contest: Contest,
        seed: "_Seed",
        kept: Kept,
        on_case: Callable[[CaseVerdict], None] | None,
    ) -> Run:
        limits = self.limits or self.task.limits
        sandboxes = [
            Sandbox(program, limits, self.allow, self.enclosure, seed.of_hashes)
            for _ in range(self.workers)
        ]
        asking = _Asking(sandboxes, contest, limits.seconds, seed.number, kept, on_case)
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
        return Run(seed.number, Verdict(contest.suite, *tallies, walls), asking.answers_in_order())


@dataclass(frozen=True)
class _Seed:
    """A seed by its number, and whether the order of sets follows from it as well."""

    number: int
    orders_sets: bool

    @property
    def of_hashes(self) -> int:
        return self.number if self.orders_sets else 0


class _Asking:
    """One run of a program: the questions put, and the replies."""

    def __init__(
        self,
        sandboxes: Sequence[Sandbox],
        contest: Contest,
        limit: float,
        seed: int,
        kept: Kept,
        on_case: Callable[[CaseVerdict], None] | None,
    ) -> None:
        self._seed = seed
        self._kept = kept
        self._answers: dict[int, bytes] = {}
        self._questions = contest.questions
        self._limit = limit
        self._on_case = on_case
        self._results: dict[int, CaseVerdict] = dict(kept)
        self._free: SimpleQueue[Sandbox] = SimpleQueue()
        for sandbox in sandboxes:
            self._free.put(sandbox)

    def ask(self, number: int) -> None:
        """Put one question, unless its result is kept or too many earlier ones have timed out."""
        if number in self._kept:
            return
        if not self._hopeless(number):
            self._results[number] = self._verdict(number)
        if self._on_case:
            self._on_case(self._result(number))

    def results_in_order(self) -> tuple[CaseVerdict, ...]:
        """Return a verdict for every question, whichever were running when the run ended."""
        return tuple(self._result(number) for number in range(len(self._questions)))

    def answers_in_order(self) -> tuple[bytes, ...]:
        """Return a digest of what came back to every question; empty where none was put."""
        return tuple(self._answers.get(number, b"") for number in range(len(self._questions)))

    def _verdict(self, number: int) -> CaseVerdict:
        question = self._questions[number]
        sandbox = self._free.get()
        try:
            reply = _asked(sandbox, question, seed_of(question.seed, self._seed))
        finally:
            self._free.put(sandbox)
        self._answers[number] = sha256(reply.text).digest()
        verdict = question.judged(reply, self._limit)
        seconds, cpu_seconds = reply.seconds, reply.cpu_seconds
        return replace(verdict, seconds=seconds, cpu_seconds=cpu_seconds, drew=reply.drew)

    def _result(self, number: int) -> CaseVerdict:
        if number in self._results and not self._hopeless(number):
            return self._results[number]
        reason = f"not run, as {MOST_TIMEOUTS} cases before it took too long"
        return self._questions[number].failed(Failure.TIMEOUT, reason)

    def _hopeless(self, number: int) -> bool:
        before = sorted(earlier for earlier in self._results.copy() if earlier < number)
        late = sum(self._results[earlier].failure is Failure.TIMEOUT for earlier in before)
        return late >= MOST_TIMEOUTS


def _asked(sandbox: Sandbox, question: Question, seed: bytes) -> Reply:
    """Put a question, and once more if the sandbox ended meanwhile: others may have killed it."""
    reply = sandbox.ask(question.as_data(), seed)
    broken = reply.code is None and not reply.late and len(reply.text) <= LONGEST_ANSWER
    return sandbox.ask(question.as_data(), seed) if broken else reply
