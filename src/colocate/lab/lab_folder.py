"""A lab in a folder: made once, opened by every command."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from pathlib import Path

from colocate.arena.referee import Referee
from colocate.arena.repeats import FIRST_LOOK
from colocate.arena.tasks.catalogue import open_task
from colocate.arena.tasks.task import Task
from colocate.errors import InputError
from colocate.fault import Fault
from colocate.lab.archive import Archive
from colocate.lab.judging.evaluation import Evaluation, LocalEvaluation
from colocate.lab.loop import Lab
from colocate.lab.patches.evolve_block import sections
from colocate.lab.patches.refusal import PatchRefused
from colocate.lab.patches.syntax import defines_entry, syntax_tree
from colocate.lab.program import Program, best_first
from colocate.lab.proposers.replay import Replay
from colocate.lab.settings import Budget, Settings

ARCHIVE = "lab.db"


def archive_path(folder: Path) -> Path:
    """Return the path of a lab's archive."""
    return folder / ARCHIVE


def settings_of(archive: Archive) -> Settings:
    """Return the settings that a lab was made with."""
    known = {field.name: archive.setting(field.name) for field in fields(Settings)}
    return Settings(**(known | {"task": archive.task, "allow": tuple(known["allow"])}))


def local_evaluation(settings: Settings, workers: int) -> Evaluation:
    """Return the sandboxes of this machine, with the limits of a lab."""
    return LocalEvaluation(referee_of(settings), workers)


def referee_of(settings: Settings) -> Referee:
    """Return the referee of a lab."""
    task = open_task(settings.task)
    limits = replace(task.limits, seconds=settings.seconds, memory_mb=settings.memory_mb)
    seed = settings.hidden_seed
    return Referee(task, hidden_seed=seed, limits=limits, allow=settings.allow)


@contextmanager
def evaluation_of(settings: Settings, workers: int, ray: str | None) -> Iterator[Evaluation]:
    """Open the evaluation of programs, on this machine or on a Ray cluster.

    Parameters
    ----------
    settings
        The lab's limits and packages.
    workers
        Programs at a time on this machine.
    ray
        The address of a cluster; None for this machine.
    """
    if ray is None:
        yield local_evaluation(settings, workers)
        return
    from colocate.lab.judging.ray_cluster import connected  # noqa: PLC0415, an extra

    with connected(ray, referee_of(settings)) as evaluation:
        yield evaluation


def make_lab(folder: Path, settings: Settings, start: str, evaluation: Evaluation) -> Archive:
    """Make a lab with its first program, judged, and open it for writing.

    Parameters
    ----------
    folder
        The folder of the new lab.
    settings
        How it searches.
    start
        The source of the first program.
    evaluation
        Where that program is judged.
    """
    _check_start(start, open_task(settings.task))
    contest = referee_of(settings).contest
    ((_, verdict),) = evaluation.judge([start], contest, FIRST_LOOK)
    if verdict.public.valid_cases == 0:
        raise InputError(f"the start program fails on every case: {verdict.public.worst.reason}")
    first = Program(0, "start", "where it begins", start, verdict)
    return Archive.create(archive_path(folder), asdict(settings), first, contest.digest)


def _check_start(start: str, task: Task) -> None:
    whose = "the start program"
    try:
        syntax_tree(start, whose)
        sections(start.split("\n"), whose)
    except PatchRefused as error:  # its advice is for proposers
        raise InputError(error.refusal.fault) from error
    if not defines_entry(start, task.entry_point):
        raise InputError(f"{whose} defines no function {task.entry_point}, which the task calls")


def export_programs(programs: Sequence[Program], folder: Path) -> Path:
    """Write every program as `gen_N/main.py`, like public runs, and the best one beside them."""
    if folder.exists() and (folder.is_file() or any(folder.iterdir())):
        raise InputError(Fault("is not empty", "a new folder", file=str(folder)))
    for program in programs:
        home = folder / f"gen_{program.number}"
        home.mkdir(parents=True)
        (home / "main.py").write_text(program.source, encoding="utf-8")
    best = folder / "best.py"
    best.write_text(best_first(programs)[0].source, encoding="utf-8")
    return best


def replayed(old: Archive, folder: Path, workers: int) -> Archive:
    """Make a lab like another one and give it the same answers; return its archive, open.

    Parameters
    ----------
    old
        The lab to repeat.
    folder
        The folder of the new lab.
    workers
        Programs judged at a time.
    """
    settings = settings_of(old)
    evaluation = local_evaluation(settings, workers)
    start = old.programs()[0].source
    new = make_lab(folder, settings, start, evaluation)
    attempts = old.attempts()
    last = max((attempt.generation for attempt in attempts), default=0)
    proposer = Replay(attempts)
    contest = referee_of(settings).contest
    search = Lab(new, settings, contest, evaluation, proposer)
    search.run(Budget(generations=last), lambda generation, best: None)
    return new


def differences(old: Sequence[Program], new: Sequence[Program]) -> list[str]:
    """Return the differences between two records as sentences; times may differ.

    A program of the last generation that was not recorded may have been unfinished.
    """
    last = max(program.generation for program in old)
    mine = {program.number: program for program in old}
    theirs = {p.number: p for p in new if p.number in mine or p.generation < last}
    sentences = []
    for number in sorted(mine.keys() | theirs.keys()):
        if number not in mine or number not in theirs:
            sentences.append(
                f"program {number} was recorded, but not made again"
                if number in mine
                else f"program {number} was made, but not recorded"
            )
        elif mine[number].source != theirs[number].source:
            sentences.append(f"program {number} is another one")
        elif _values(mine[number]) != _values(theirs[number]):
            sentences.append(f"program {number} has another verdict")
    return sentences


def _values(program: Program) -> list[float]:
    verdict = program.verdict
    return [result.value for result in (*verdict.public.results, *verdict.hidden.results)]
