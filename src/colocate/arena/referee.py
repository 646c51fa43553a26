"""The referee: puts the cases of a suite to a program and keeps everything else to itself.

A program is told the number of GPUs and the models, as in the public benchmark, and its answer is
nothing but names. The cases, the checker, the optimum and the clock are the referee's own.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from itertools import islice, takewhile
from queue import SimpleQueue

from numpy.random import default_rng

from colocate.arena.best_known import read_best_known
from colocate.arena.enclosure import Enclosure, find_packages
from colocate.arena.question import Question
from colocate.arena.sandbox import Limits, Sandbox
from colocate.arena.suites import Case, Suite, load_suite, unseen_problems
from colocate.arena.verdict import CaseVerdict, Failure, ProgramVerdict, Tally
from colocate.errors import InputError
from colocate.fault import Fault
from colocate.problem.problem import Problem

RULES = 1
"""The number of these rules: verdicts by other ones cannot be compared."""
HIDDEN = "-hidden"
"""What is added to the name of a suite for its hidden cases."""
HIDDEN_SEED = 20_260
"""Any seed that no suite has."""
HIDDEN_CASES = 25
"""Half as many as a suite has: enough to see what was learned by heart."""
MOST_HIDDEN_MODELS = 100
"""Hidden cases end before the first that is larger: programs take long on them."""
MOST_TIMEOUTS = 3
"""After so many, the rest is not run: a program that hangs would hold up all others."""
RUNS_OF_THE_BEST = 3
"""Runs before a program may be called best."""
GPU_MEMORY_GB = 80
"""What the public benchmark lets programs assume."""


@dataclass(frozen=True)
class Contest:
    """The questions that every program gets.

    Parameters
    ----------
    suite
        Whose cases they are.
    public
        The cases of the suite, as published.
    hidden
        Cases like them that no program can have seen.
    """

    suite: str
    public: tuple[Question, ...]
    hidden: tuple[Question, ...]

    @property
    def questions(self) -> tuple[Question, ...]:
        """All of them, in the order in which they are put."""
        return self.public + self.hidden

    @property
    def goal(self) -> str:
        """What it is to reach the optimum on every public case."""
        proven = all(question.proven for question in self.public)
        return "proven optimum" if proven else "best value known"

    @property
    def digest(self) -> str:
        """A short hash over rules, questions and optimum: verdicts with the same one compare."""
        parts = [f"{question.problem.digest}{question.optimum!r}" for question in self.questions]
        return sha256("".join([str(RULES), *parts]).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Referee:
    """How programs are run.

    Parameters
    ----------
    limits, allow, enclosure
        See `Sandbox`.
    workers
        How many cases run at a time; the verdict is the same for any number.
    """

    limits: Limits = field(default_factory=Limits)
    allow: tuple[str, ...] = ()
    enclosure: Enclosure | None = None
    workers: int = 1

    def __post_init__(self) -> None:
        find_packages(self.allow)
        if self.workers < 1:
            raise InputError.of("workers", self.workers, "a whole number >= 1")

    def judge(
        self,
        program: str,
        contest: Contest,
        runs: int = 1,
        on_case: Callable[[CaseVerdict], None] | None = None,
    ) -> ProgramVerdict:
        """Put all questions of a contest to a program; of several runs, the worst one counts.

        Parameters
        ----------
        program
            Its source.
        contest
            The questions.
        runs
            How often all of them are put.
        on_case
            Called after every case, from any thread.
        """
        verdicts = [self._run(program, contest, on_case) for _ in range(runs)]
        outcomes = {
            tuple(result.pressure for result in (*verdict.public.results, *verdict.hidden.results))
            for verdict in verdicts
        }
        worst = min(verdicts, key=lambda verdict: verdict.fitness)
        return replace(worst, runs=runs, steady=len(outcomes) == 1)

    def _run(
        self, program: str, contest: Contest, on_case: Callable[[CaseVerdict], None] | None
    ) -> ProgramVerdict:
        sandboxes = [
            Sandbox(program, self.limits, self.allow, self.enclosure) for _ in range(self.workers)
        ]
        asking = _Asking(sandboxes, contest, self.limits.seconds, on_case)
        try:
            with ThreadPoolExecutor(self.workers) as pool:
                list(pool.map(asking.ask, range(len(contest.questions))))
        finally:
            for sandbox in sandboxes:
                sandbox.close()
        results = asking.results_in_order()
        walls = next((sandbox.walls for sandbox in sandboxes if sandbox.walls), ())
        public, hidden = results[: len(contest.public)], results[len(contest.public) :]
        return ProgramVerdict(contest.suite, Tally(public), Tally(hidden), walls)


class _Asking:
    """One run of a program: which questions were put, and what came back."""

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
        """Put one question, unless too many before it have timed out."""
        if not self._hopeless(number):
            self._results[number] = self._verdict(self._questions[number])
        if self._on_case:
            self._on_case(self._result(number))

    def results_in_order(self) -> tuple[CaseVerdict, ...]:
        """Return a verdict for every question, whichever were in flight when it was over."""
        return tuple(self._result(number) for number in range(len(self._questions)))

    def _verdict(self, question: Question) -> CaseVerdict:
        sandbox = self._free.get()
        try:
            reply = sandbox.ask(question.as_data())
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


@cache
def open_contest(suite: str) -> Contest:
    """Return the contest on a suite.

    Public cases are as published: order matters to programs that break ties by it. Hidden ones
    come from another seed, in random order and with shuffled names.
    """
    loaded = load_suite(suite)
    if any(gpu.memory_gb != GPU_MEMORY_GB for case in loaded.cases for gpu in case.problem.gpus):
        found = f"has GPUs that do not have {GPU_MEMORY_GB} GB, which programs are not told"
        raise InputError(Fault(found, advice="take another one", value=suite, path=("suite",)))
    return Contest(suite, tuple(_public_questions(loaded)), tuple(_hidden_questions(suite)))


def _public_questions(suite: Suite) -> Iterator[Question]:
    known = read_best_known(suite)
    for number, case in enumerate(suite.cases):
        names = [f"model_{place}" for place in range(len(case.problem.models))]
        record = known[case.name]
        renamed = _renamed(case.problem, names)
        yield Question(case.name, renamed, record.value, record.bound, number)


def hidden_suite(suite: str) -> Suite:
    """Return problems like those of a suite, from another seed, in random order, names shuffled."""
    rng = default_rng(HIDDEN_SEED)
    problems = takewhile(
        lambda problem: len(problem.models) <= MOST_HIDDEN_MODELS,
        unseen_problems(suite, HIDDEN_SEED),
    )
    cases = []
    for number, problem in enumerate(islice(problems, HIDDEN_CASES)):
        count = len(problem.models)
        order = rng.permutation(count).tolist()
        shuffled = Problem(problem.gpus, tuple(problem.models[place] for place in order))
        names = [f"model_{place}" for place in rng.permutation(count).tolist()]
        cases.append(Case(f"hidden-{number:02d}", _renamed(shuffled, names)))
    return Suite(f"{suite}{HIDDEN}", f"never seen, like {suite}", tuple(cases))


def _hidden_questions(suite: str) -> Iterator[Question]:
    hidden = hidden_suite(suite)
    known = read_best_known(hidden)
    for number, case in enumerate(hidden.cases):
        record = known[case.name]
        yield Question(case.name, case.problem, record.value, record.bound, number)


def _renamed(problem: Problem, names: Sequence[str]) -> Problem:
    pairs = zip(problem.models, names, strict=True)
    return Problem(problem.gpus, tuple(replace(model, name=name) for model, name in pairs))
