"""`colocate score`: the referee's verdict on programs from outside."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colocate.cli.exit_codes import FAULT, INTERRUPTED
from colocate.cli.fresh_cases import saying_what_is_solved
from colocate.cli.lab.options import (
    TASK_HELP,
    CaseMemory,
    CaseSeconds,
    HiddenSeed,
    TotalSeconds,
)
from colocate.cli.output_files import check_outputs, say_wrote

if TYPE_CHECKING:
    from rich.console import RenderableType

    from colocate.arena.case_verdict import CaseVerdict
    from colocate.arena.contest import Contest
    from colocate.arena.programs import Entry
    from colocate.arena.referee import Referee
    from colocate.arena.run_folder import FoundProgram

MOST_NOTES = 10
"""Files that cannot be read and are named: as many as a screen shows beside the table."""


def score(
    program: Annotated[
        Path,
        typer.Argument(
            help="A program, or the folder of a run of ShinkaEvolve, OpenEvolve, SkyDiscover, GEPA "
            "or CodeEvolve."
        ),
    ],
    task: Annotated[
        str,
        typer.Option("--task", "--suite", help=TASK_HELP),
    ] = "adrs",
    time_limit: CaseSeconds = None,
    total_time: TotalSeconds = None,
    memory: CaseMemory = None,
    hidden_seed: HiddenSeed = None,
    public: Annotated[
        bool, typer.Option("--public", help="Ask public cases alone, no hidden ones.")
    ] = False,
    allow: Annotated[
        list[str] | None,
        typer.Option(help="Let it import this package, beside numpy; repeat for several."),
    ] = None,
    runs: Annotated[
        int, typer.Option(min=1, help="Runs of all cases, with or without chance.")
    ] = 1,
    seeds: Annotated[
        int, typer.Option(min=1, help="Seeds for a program that uses chance; the worst counts.")
    ] = 6,
    first_seed: Annotated[
        int, typer.Option(min=0, help="The first of them; under 0, a program draws as written.")
    ] = 0,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Cases or programs at a time (default: one per core).")
    ] = None,
    cases: Annotated[
        bool, typer.Option("--cases", help="For one program: also print every case.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every case.")] = False,
    save: Annotated[
        Path | None, typer.Option(help="Also write the JSON to this file, beside the table.")
    ] = None,
) -> None:
    """Judge a program in a sandbox: by default one that places models on GPUs."""
    from colocate.arena.walls.starter import best_enclosure

    Thread(target=best_enclosure).start()  # what starts sandboxes loads while this loads
    from colocate.arena.referee import Referee
    from colocate.arena.source.program_text import read_program
    from colocate.arena.tasks.catalogue import open_task
    from colocate.outputs.text.console import show
    from colocate.outputs.text.whole_files import write_text

    if public and hidden_seed is not None:
        raise typer.BadParameter("--hidden-seed makes hidden cases, and --public asks none")
    check_outputs(program, (save,))
    folder = program.is_dir()
    processes = workers or os.cpu_count() or 1
    opened = open_task(task)
    usual = opened.limits
    limits = replace(
        usual,
        seconds=time_limit or usual.seconds,
        memory_mb=memory or usual.memory_mb,
        total_seconds=total_time or usual.total_seconds,
    )
    cases_at_once = 1 if folder else processes
    referee = Referee(
        opened,
        hidden=not public,
        hidden_seed=hidden_seed,
        limits=limits,
        allow=tuple(allow or ()),
        workers=cases_at_once,
        seeds=seeds,
        first_seed=first_seed,
    )
    found = _read_folder(program, referee.task.entry_point) if folder else []
    source = "" if folder else read_program(program)
    contest = _opened(referee)
    if folder:
        document, page = _judge_folder(found, contest, referee, processes, runs)
    else:
        document, page = _judge_file(program.name, source, contest, referee, runs, cases)
    head = {"program": str(program), "suite": contest.suite, "digest": contest.digest}
    text = json.dumps(head | document, indent=2, allow_nan=False)
    if save:
        write_text(save, f"{text}\n")
        say_wrote(save)
    if as_json:
        typer.echo(text)
    else:
        show(*page)
    _end_unless_whole(document, referee)


def _opened(referee: "Referee") -> "Contest":
    """Return the questions; fresh ones are solved first."""
    from colocate.outputs.text.console import notes

    try:
        with saying_what_is_solved():
            return referee.contest
    except KeyboardInterrupt:
        notes().print("interrupted: no case was judged", markup=False)
        raise typer.Exit(INTERRUPTED) from None


def _end_unless_whole(document: dict[str, Any], referee: "Referee") -> None:
    """End with a code of its own if not all that was asked for was judged."""
    from colocate.outputs.text.console import notes

    if document.get("interrupted"):
        raise typer.Exit(INTERRUPTED)
    if referee.hidden_refused:
        notes().print(f"no hidden cases were asked: {referee.hidden_refused}", markup=False)
        raise typer.Exit(FAULT)


def _read_folder(folder: Path, entry_point: str) -> list["FoundProgram"]:
    from colocate.arena.run_folder import read_run
    from colocate.arena.tasks.catalogue import tasks_by_entry_point
    from colocate.outputs.text.console import notes
    from colocate.outputs.text.sanitise import LONGEST_NOTE, one_line

    programs, faults = read_run(folder, entry_point, tasks_by_entry_point())
    for fault in faults[:MOST_NOTES]:
        notes().print(f"not judged: {one_line(str(fault), LONGEST_NOTE)}", markup=False)
    if len(faults) > MOST_NOTES:
        notes().print(f"not judged: {len(faults) - MOST_NOTES} more files", markup=False)
    return programs


def _judge_file(
    name: str, source: str, contest: "Contest", referee: "Referee", runs: int, cases: bool
) -> tuple[dict[str, Any], list["RenderableType"]]:
    from colocate.arena.leaderboard import verdict_page
    from colocate.arena.own_name import under_own_name
    from colocate.outputs.text.console import notes, table_width
    from colocate.outputs.text.wording import amount, were

    judged: list[CaseVerdict] = []
    try:
        with _counting(contest.suite, None) as one_more:

            def count(result: "CaseVerdict") -> None:
                judged.append(result)
                one_more()

            judgement = referee.judge_source(source, contest, referee.repeats(runs), count)
    except KeyboardInterrupt:
        told = f"{amount(len(judged), 'case')} {were(len(judged))} judged{_so_far(judged)}"
        notes().print(f"interrupted: {told}; that is no verdict", markup=False)
        raise typer.Exit(INTERRUPTED) from None
    verdict = under_own_name(judgement, name)
    return verdict.as_dict(), verdict_page(verdict, table_width(), cases)


def _so_far(judged: list["CaseVerdict"]) -> str:
    """Return what the cases were worth, if any was worth something."""
    ratios = [result.ratio for result in judged if result.valid]
    mean = sum(ratios) / max(len(ratios), 1)
    return f", {len(ratios)} of them valid with a mean ratio of {mean:.4f}" if ratios else ""


def _judge_folder(
    programs: list["FoundProgram"],
    contest: "Contest",
    referee: "Referee",
    workers: int,
    runs: int,
) -> tuple[dict[str, Any], list["RenderableType"]]:
    from colocate.arena.leaderboard import program_table
    from colocate.arena.own_name import under_own_name
    from colocate.arena.programs import best_first, judge_all
    from colocate.outputs.text.console import notes, table_width
    from colocate.outputs.text.wording import were

    interrupted = False
    judged: list[Entry] = []
    with _counting("programs", len(programs)) as one_more:

        def count(entry: "Entry") -> None:
            judged.append(entry)
            one_more()

        named = [(program.name, program.source) for program in programs]
        repeats = referee.repeats(runs)
        try:
            entries = judge_all(named, contest, referee, workers, count, repeats)
        except KeyboardInterrupt:
            interrupted = True
            entries = best_first(judged)
    if interrupted:
        told = f"{len(entries)} of {len(programs)} programs {were(len(entries))} judged"
        notes().print(f"interrupted: {told}, and the leader has not had all its runs", markup=False)
    found = {program.source: program for program in programs}
    entries = [
        replace(entry, verdict=under_own_name(entry.verdict, found[entry.source].own_name))
        for entry in entries
    ]
    rows = [_row(entry, found[entry.source]) for entry in entries]
    document = {"programs": rows, "interrupted": interrupted}
    return document, [program_table(entries, table_width(), found)] if entries else []


def _row(entry: "Entry", found: "FoundProgram") -> dict[str, Any]:
    """Return what JSON says of a program: where it is, what the run claims, and the verdict."""
    places = {"file": found.file, "also": list(found.also), "best_of_the_run": found.best}
    return {"program": entry.name, **places, "claimed": found.claimed, **entry.verdict.as_dict()}


@contextmanager
def _counting(what: str, total: int | None) -> Iterator[Callable[[], None]]:
    """Give what counts one more on a bar on a screen; into a pipe or file, nothing is drawn."""
    from colocate.outputs.text.console import notes

    console = notes()
    if not console.is_terminal:
        yield lambda: None  # the library that draws takes a while to load
        return
    from rich.progress import Progress

    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task(what, total=total)
        yield lambda: progress.advance(bar)
