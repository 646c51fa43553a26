"""One run of a program: all questions of a part, under one seed."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from itertools import chain
from queue import SimpleQueue
from threading import Lock
from typing import Protocol

from colocate.arena.case_verdict import CaseVerdict, Failure
from colocate.arena.contest import Contest
from colocate.arena.question import Question
from colocate.arena.repeats import CasePart, Run, RunRequest
from colocate.arena.seeds import seed_of
from colocate.arena.walls.sandbox import LONGEST_ANSWER, Limits, Reply, Sandbox

MOST_TIMEOUTS = 3
"""After this many, the rest does not run: a program that hangs would hold up all others."""
LOADS = 3
"""Cases in which a program must fail before it is called until the rest does not run.

It has not been told the case by then, so it fails in all of them.
"""

OnCase = Callable[[CaseVerdict], None]


class RunProcess(Protocol):
    """What works for a run, in a process of its own."""

    def halt(self) -> None:
        """End what it is at; whoever waits for that gets an error."""


class Halt:
    """Ends runs from another thread, as when somebody interrupts them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._runs: list[Sequence[RunProcess]] = []
        self._over = False

    def watch(self, processes: Sequence[RunProcess]) -> None:
        """End these processes of a run too when it comes to that."""
        with self._lock:
            self._runs.append(processes)
        if self._over:
            self.end()

    def forget(self, processes: Sequence[RunProcess]) -> None:
        """Let go of the processes of a run that is over; another run may use some of them."""
        with self._lock:
            self._runs = [kept for kept in self._runs if kept is not processes]

    def end(self) -> None:
        """End all runs: their cases raise SandboxError, or TaskError if they wait for a scorer."""
        self._over = True
        with self._lock:
            for process in chain.from_iterable(self._runs):
                process.halt()


class Asking:
    """One run of a program.

    Parameters
    ----------
    contest
        The questions.
    limits
        The resources of the program.
    sandbox
        Makes a sandbox of the program.
    workers
        Questions put at a time.
    wanted
        Which questions to put, under which seed, and what is known already.
    on_case
        Called after every case, from any thread.
    """

    def __init__(
        self,
        contest: Contest,
        limits: Limits,
        sandbox: Callable[[], Sandbox],
        workers: int,
        wanted: RunRequest,
        on_case: OnCase | None,
    ) -> None:
        self._contest = contest
        self._questions = contest.questions
        self._limits = limits
        self._sandbox = sandbox
        self._workers = workers
        self._on_case = on_case
        self._seed = wanted.seed
        public = len(contest.public)
        hidden = wanted.part is CasePart.HIDDEN
        self._numbers = range(public, len(self._questions)) if hidden else range(public)
        kept = {self._numbers[place]: result for place, result in wanted.kept.items()}
        self._answers: dict[int, bytes] = {}
        ran = {number: told for number, told in enumerate(wanted.before) if told.ran}
        self._results: dict[int, CaseVerdict] = ran | kept
        self._free: SimpleQueue[Sandbox] = SimpleQueue()
        self._walls: tuple[str, ...] = ()

    def run(self, halt: Halt) -> Run:
        """Put the questions, and return the verdicts.

        They go to new sandboxes, so no process, folder or number that has to do with a hidden case
        is ever seen by a public one.
        """
        if numbers := [number for number in self._numbers if number not in self._results]:
            self._put(numbers, halt)
        results = tuple(self._result(number) for number in self._numbers)
        answers = tuple(self._answers.get(number, b"") for number in self._numbers)
        return Run(results, answers, self._walls)

    def _put(self, numbers: Sequence[int], halt: Halt) -> None:
        workers = min(self._workers, len(numbers))
        sandboxes = [self._sandbox() for _ in range(workers)]
        self._free = SimpleQueue()
        for sandbox in sandboxes:
            self._free.put(sandbox)
        watched: list[RunProcess] = [*sandboxes, *(self._questions[number] for number in numbers)]
        halt.watch(watched)
        pool = ThreadPoolExecutor(workers)
        try:
            list(pool.map(self._ask, numbers))
        except BaseException as error:  # raised again, once nothing runs any more
            for each in sandboxes if isinstance(error, Exception) else watched:
                each.halt()  # what checks answers does so for others as well, which go on
            raise
        finally:
            pool.shutdown(cancel_futures=True)
            halt.forget(watched)
            for sandbox in sandboxes:
                sandbox.close()
                self._walls = self._walls or sandbox.walls

    def _ask(self, number: int) -> None:
        """Put one question, unless it is known by now how that ends."""
        if not self._skipped(number):
            self._results[number] = self._verdict(number)
        if self._on_case:
            self._on_case(self._result(number))

    def _verdict(self, number: int) -> CaseVerdict:
        question = self._questions[number]
        sandbox = self._free.get()
        try:
            reply = _asked(sandbox, question, seed_of(question.seed, self._seed))
        finally:
            self._free.put(sandbox)
        self._answers[number] = sha256(reply.text).digest()
        verdict = question.judged(reply, self._limits.seconds)
        seconds, cpu_seconds = reply.seconds, reply.cpu_seconds
        return replace(verdict, seconds=seconds, cpu_seconds=cpu_seconds, drew=reply.drew)

    def _result(self, number: int) -> CaseVerdict:
        """Return the verdict on a case, whichever others were running when the run ended."""
        skipped = self._skipped(number)
        if skipped:
            return self._questions[number].not_run(*skipped)
        return self._results[number]

    def _skipped(self, number: int) -> tuple[Failure, str] | None:
        """Return why a case does not count as run, given the cases before it; None if it does."""
        before = [self._results[n] for n in sorted(self._results.copy()) if n < number]
        if sum(result.failure is Failure.TIMEOUT for result in before) >= MOST_TIMEOUTS:
            return Failure.TIMEOUT, f"{MOST_TIMEOUTS} cases before it took too long"
        if sum(result.seconds for result in before) >= self._limits.total_seconds:
            allowed = f"{self._limits.total_seconds:g} s"
            return Failure.TIMEOUT, f"the cases before it took the {allowed} that all may take"
        return self._known_by_now(number)

    def _known_by_now(self, number: int) -> tuple[Failure, str] | None:
        """Return how a case ends that need not run; None if nobody can know."""
        public = len(self._contest.public)
        first = [self._results.get(n) for n in range(min(LOADS, number))]
        told = [result for result in first if result and not result.called]
        if len(told) == LOADS and len({result.cause for result in told}) == 1:
            reason = f"{LOADS} cases failed before the function was called"
            return told[0].failure or Failure.CRASH, reason
        seen = [self._results[n] for n in range(public) if n in self._results]
        if number >= public and seen and not any(result.valid for result in seen):
            return seen[0].failure or Failure.CRASH, "every public case failed"
        return None


def _asked(sandbox: Sandbox, question: Question, seed: bytes) -> Reply:
    """Put a question, and once more if the sandbox ended meanwhile: others may have killed it."""
    reply = sandbox.ask(question.as_data(), seed)
    broken = reply.code is None and not reply.late and len(reply.text) <= LONGEST_ANSWER
    return sandbox.ask(question.as_data(), seed) if broken else reply
