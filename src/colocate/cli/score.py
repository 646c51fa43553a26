"""`colocate score`: the referee's verdict on programs from outside."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colocate.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress

    from colocate.arena.contest import Contest
    from colocate.arena.referee import Referee


def score(
    program: Annotated[
        Path,
        typer.Argument(help="A program, or a folder with the programs of a run (gen_*/main.py)."),
    ],
    task: Annotated[
        str,
        typer.Option("--task", "--suite", help="adrs, idle, tight, longtail or scale."),
    ] = "adrs",
    time_limit: Annotated[
        float, typer.Option(min=0.1, max=3600, help="Seconds for a case.")
    ] = 10.0,
    memory: Annotated[int, typer.Option(min=64, max=1_048_576, help="MB for a case.")] = 2048,
    allow: Annotated[
        list[str] | None,
        typer.Option(help="Let it import this package, beside numpy; repeat for several."),
    ] = None,
    runs: Annotated[
        int, typer.Option(min=1, help="Runs of every program; the worst run counts.")
    ] = 1,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Cases or programs at a time (default: one per core).")
    ] = None,
    cases: Annotated[
        bool, typer.Option("--cases", help="For one program: also print every case.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every case.")] = False,
) -> None:
    """Judge a program that defines compute_model_placement(gpu_num, models), in a sandbox."""
    from colocate.arena.program_text import read_program
    from colocate.arena.referee import Referee
    from colocate.arena.sandbox import Limits
    from colocate.outputs.text.console import show

    folder = program.is_dir()
    programs = _read_folder(program) if folder else [(str(program), read_program(program))]
    processes = workers or os.cpu_count() or 1
    limits = Limits(seconds=time_limit, memory_mb=memory)
    cases_at_once = 1 if folder else processes
    referee = Referee(task, limits=limits, allow=tuple(allow or ()), workers=cases_at_once)
    contest = referee.contest
    if folder:
        document, page = _judge_folder(programs, contest, referee, processes, runs)
    else:
        document, page = _judge_file(programs[0][1], contest, referee, runs, cases)
    if as_json:
        head = {"program": str(program), "suite": contest.suite, "digest": contest.digest}
        typer.echo(json.dumps(head | document, indent=2, allow_nan=False))
    else:
        show(*page)


def _read_folder(folder: Path) -> list[tuple[str, str]]:
    from colocate.arena.program_text import read_program
    from colocate.arena.programs import find_programs
    from colocate.outputs.text.console import notes

    programs = []
    for path in find_programs(folder):
        try:
            programs.append((path.parent.name, read_program(path)))
        except InputError as error:
            notes().print(f"not judged: {error}", markup=False)
    return programs


def _judge_file(
    source: str, contest: "Contest", referee: "Referee", runs: int, cases: bool
) -> tuple[dict[str, Any], list["RenderableType"]]:
    from colocate.arena.leaderboard import verdict_page
    from colocate.outputs.text.console import results

    with _progress() as progress:
        bar = progress.add_task(contest.suite, total=runs * len(contest.questions))
        verdict = referee.judge_source(source, contest, runs, lambda _: progress.advance(bar))
    return verdict.as_dict(), verdict_page(verdict, results().width, cases)


def _judge_folder(
    programs: list[tuple[str, str]],
    contest: "Contest",
    referee: "Referee",
    workers: int,
    runs: int,
) -> tuple[dict[str, Any], list["RenderableType"]]:
    from colocate.arena.leaderboard import program_table
    from colocate.arena.programs import judge_all
    from colocate.outputs.text.console import results

    with _progress() as progress:
        bar = progress.add_task("programs", total=len(programs))
        entries = judge_all(
            programs, contest, referee, workers, lambda _: progress.advance(bar), runs
        )
    rows = [{"program": entry.name, **entry.verdict.as_dict()} for entry in entries]
    return {"programs": rows}, [program_table(entries, results().width)]


def _progress() -> "Progress":
    """Return a bar on a screen; into a pipe or file, it draws nothing."""
    from rich.progress import Progress

    from colocate.outputs.text.console import notes

    console = notes()
    return Progress(console=console, transient=True, disable=not console.is_terminal)
