"""`colocate lab init`: a new lab with its first program."""

import os
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from colocate.cli.fresh_cases import saying_what_is_solved
from colocate.cli.lab.options import FOLDER, TASK_HELP, CaseMemory, CaseSeconds, Folder, HiddenSeed


def init(
    lab: Folder = FOLDER,
    start: Annotated[
        Path | None,
        typer.Option(help="The first program (default: the start program of the task)."),
    ] = None,
    task: Annotated[str, typer.Option("--task", "--suite", help=TASK_HELP)] = "adrs",
    seed: Annotated[int, typer.Option(min=0, help="The seed of every random choice.")] = 0,
    islands: Annotated[
        int, typer.Option(min=1, help="Populations; they mix only by migration.")
    ] = 2,
    proposals: Annotated[int, typer.Option(min=1, help="Proposals in a generation.")] = 4,
    migration: Annotated[int, typer.Option(min=1, help="Generations between migrations.")] = 5,
    attempts: Annotated[
        int, typer.Option(min=1, help="Answers to ask for until one can be used.")
    ] = 3,
    review: Annotated[int, typer.Option(min=1, help="Programs between reviews.")] = 20,
    ahead: Annotated[
        bool,
        typer.Option(
            "--ahead", help="Ask for a generation while the one before it is judged, for models."
        ),
    ] = False,
    time_limit: CaseSeconds = None,
    memory: CaseMemory = None,
    hidden_seed: HiddenSeed = None,
    allow: Annotated[
        list[str] | None, typer.Option(help="Let programs import this package, beside numpy.")
    ] = None,
) -> None:
    """Make a lab: a folder with an archive that holds the first program and its verdict."""
    from colocate.arena.source.program_text import read_program
    from colocate.arena.tasks.catalogue import open_task
    from colocate.cli.compile_notice import say_when_compiling
    from colocate.inputs.text_file import naming
    from colocate.lab.lab_folder import local_evaluation, make_lab, referee_of
    from colocate.lab.settings import Settings
    from colocate.outputs.text.console import notes

    opened = open_task(task)
    settings = Settings(
        task=opened.place,
        seed=seed,
        islands=islands,
        proposals=proposals,
        migration=migration,
        attempts=attempts,
        review=review,
        seconds=time_limit or opened.limits.seconds,
        memory_mb=memory or opened.limits.memory_mb,
        allow=tuple(allow or ()),
        hidden_seed=hidden_seed,
        ahead=int(ahead),
    )
    source = read_program(start) if start else opened.start_program
    say_when_compiling()
    referee = referee_of(settings)
    with saying_what_is_solved():
        assert referee.contest  # what cannot be judged on is no fault of the program
    if referee.hidden_refused:
        notes().print(f"no hidden cases will be asked: {referee.hidden_refused}", markup=False)
    evaluation = local_evaluation(settings, os.cpu_count() or 1)
    with naming(start) if start else nullcontext():
        archive = make_lab(lab, settings, source, evaluation)
    with archive as made:
        verdict = made.programs()[0].verdict
    typer.echo(f"{lab}: the first program has score {verdict.score:.4f} on {opened.name}")
