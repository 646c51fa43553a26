"""The referee: puts the cases of a suite to a program and keeps everything else to itself.

A program receives the number of GPUs and the models, as in the public benchmark, and answers with
names only. The referee keeps the cases, the checker, the optimum and the clock.
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
"""The version of these rules: verdicts by other versions cannot be compared."""
HIDDEN = "-hidden"
"""Suffix of a suite's name for its hidden cases."""
HIDDEN_SEED = 20_260
"""A seed that no suite uses."""
HIDDEN_CASES = 25
"""Half as many as in a suite: enough to see what a program learned by heart."""
MOST_HIDDEN_MODELS = 100
"""Hidden cases end before the first one with more models: programs take long on those."""
MOST_TIMEOUTS = 3
"""After this many, the rest does not run: a program that hangs would hold up all others."""
RUNS_OF_THE_BEST = 3
"""Runs before a program may be called best."""
GPU_MEMORY_GB = 80
"""The memory that programs may assume in the public benchmark."""


@dataclass(frozen=True)
class Contest:
    """The questions that every program gets.

    Parameters
    ----------
    suite
        The suite that the cases come from.
    public
        The cases of the suite, as published.
    hidden
        Similar cases that no program can have seen.
    """

    suite: str
    public: tuple[Question, ...]
    hidden: tuple[Question, ...]

    @property
    def questions(self) -> tuple[Question, ...]:
        """All questions, in the order in which the referee asks them."""
        return self.public + self.hidden

    @property
    def goal(self) -> str:
        """The name of the optimum: proven on every public case, or only the best known."""
        proven = all(question.proven for question in self.public)
        return "proven optimum" if proven else "best value known"

    @property
    def digest(self) -> str:
        """A short hash of rules, questions and optima; verdicts compare if it is the same."""
        parts = [f"{question.problem.digest}{question.optimum!r}" for question in self.questions]
        return sha256("".join([str(RULES), *parts]).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Referee:
    """Runs programs and judges their answers.

    Parameters
    ----------
    limits, allow, enclosure
        See `Sandbox`.
    workers
        Cases at a time; the verdict is the same for any number.
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
        """Put all questions of a contest to a program; the worst of several runs counts.

        Parameters
        ----------
        program
            Its source.
        contest
            The questions.
        runs
            How often to put all of them.
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

    Public cases keep the published order, since programs may break ties by it. Hidden cases come
    from another seed, in random order and with shuffled names.
    """
    loaded = load_suite(suite)
    if any(gpu.memory_gb != GPU_MEMORY_GB for case in loaded.cases for gpu in case.problem.gpus):
        found = f"has GPUs that do not have {GPU_MEMORY_GB} GB, but programs cannot know that"
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
    """Return problems like a suite's, from another seed, with shuffled order and names."""
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
