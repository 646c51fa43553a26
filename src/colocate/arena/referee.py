"""The referee: puts the cases of a task to a program and keeps everything else to itself.

A program receives plain data, and answers with plain data. The referee keeps the cases, the
checker, the optimum and the clock.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from colocate.arena.asking import Asking, Halt, OnCase
from colocate.arena.contest import Contest
from colocate.arena.repeats import SEEDS, Repeats, Run, RunRequest, repeated
from colocate.arena.seeds import checked_hidden_seed
from colocate.arena.source.program_text import checked_source, read_program
from colocate.arena.source.set_order import may_see_order
from colocate.arena.tally import NOTHING
from colocate.arena.tasks.catalogue import open_task
from colocate.arena.tasks.task import Task
from colocate.arena.verdict import Verdict
from colocate.arena.walls.enclosure import Enclosure, checked_enclosure, find_packages
from colocate.arena.walls.sandbox import Limits, Sandbox
from colocate.arena.walls.starter import USUAL_ORDER, best_enclosure, leak_of
from colocate.errors import SandboxError, TaskError
from colocate.problem.quantity import checked_count


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

    Raises
    ------
    InputError
        If there is no such task, or an option is out of its range.
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
        if not isinstance(self.suite, Task):
            open_task(str(self.suite))  # one that is not there is told before programs are written
        find_packages(self.allow)
        self.repeats()
        checked_count(self.workers, "workers", 1)
        if self.hidden_seed is not None:
            checked_hidden_seed(self.hidden_seed)
        if self.enclosure is not None:
            object.__setattr__(self, "enclosure", checked_enclosure(self.enclosure))

    @cached_property
    def task(self) -> Task:
        """What programs are judged on."""
        return self.suite if isinstance(self.suite, Task) else open_task(str(self.suite))

    @cached_property
    def contest(self) -> Contest:
        """The questions that every program gets."""
        if self.hidden and not self.hidden_refused:
            return self.task.contest(self.hidden_seed)
        return replace(self.task.contest(), hidden=())  # fresh ones would be solved for nothing

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
            If the file cannot be read as a program.
        """
        program = read_program(Path(path))
        try:
            return self.judge_source(program, repeats=self.repeats(runs))
        except (SandboxError, TaskError, OSError, MemoryError) as error:
            fault = str(error) or type(error).__name__
            return Verdict(self.task.name, NOTHING, NOTHING, (), runs, fault=fault)

    def judge_source(
        self,
        program: str,
        contest: Contest | None = None,
        repeats: Repeats | None = None,
        on_case: OnCase | None = None,
        halt: Halt | None = None,
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
        halt
            Lets another thread end the run.

        Raises
        ------
        SandboxError
            If the program could not be run at all, through no fault of its own.
        TaskError
            If the scorer of the task failed.
        InputError
            If the source is too long, or no text.
        """
        checked_source(program, "the program")
        whole = contest or self.contest
        asked = replace(whole, hidden=()) if self.hidden_refused else whole
        sees_order = bool(self.allow) or may_see_order(program)
        limits = self.limits or self.task.limits
        end = halt or Halt()
        often = repeats or self.repeats()

        def run(wanted: RunRequest) -> Run:
            def sandbox() -> Sandbox:
                order = wanted.seed if sees_order else USUAL_ORDER
                layout = often.layout_of(wanted.seed)
                return Sandbox(program, limits, self.allow, self.enclosure, order, layout)

            return Asking(asked, limits, sandbox, self.workers, wanted, on_case).run(end)

        trials = repeated(run, often, sees_order)
        refused = self.hidden_refused if whole.hidden or whole is self.contest else ""
        return trials.verdict(asked.suite, asked.formula, refused)

    @cached_property
    def hidden_refused(self) -> str:
        """Why hidden cases cannot be asked on this machine; empty if they can."""
        return leak_of(self.enclosure or best_enclosure()) if self.hidden else ""
