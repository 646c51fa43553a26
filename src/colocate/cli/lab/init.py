"""`colocate lab init`: a new lab with its first program."""

import os
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from colocate.cli.lab.options import FOLDER, Folder


def init(
    lab: Folder = FOLDER,
    start: Annotated[
        Path | None,
        typer.Option(help="The first program (default: the greedy program of the benchmark)."),
    ] = None,
    suite: Annotated[str, typer.Option(help="adrs, idle, tight, longtail or scale.")] = "adrs",
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
    time_limit: Annotated[
        float, typer.Option(min=0.1, max=3600, help="Seconds for a case.")
    ] = 10.0,
    memory: Annotated[int, typer.Option(min=64, max=1_048_576, help="MB for a case.")] = 2048,
    allow: Annotated[
        list[str] | None, typer.Option(help="Let programs import this package, beside numpy.")
    ] = None,
) -> None:
    """Make a lab: a folder with an archive that holds the first program and its verdict."""
    from colocate.arena.program_text import read_program
    from colocate.arena.tasks.catalogue import open_task
    from colocate.arena.tasks.start import start_program
    from colocate.cli.compile_notice import say_when_compiling
    from colocate.inputs.text_file import naming
    from colocate.lab.lab_folder import local_evaluation, make_lab
    from colocate.lab.settings import Settings

    settings = Settings(
        suite=suite,
        seed=seed,
        islands=islands,
        proposals=proposals,
        migration=migration,
        attempts=attempts,
        review=review,
        seconds=time_limit,
        memory_mb=memory,
        allow=tuple(allow or ()),
    )
    source = read_program(start) if start else start_program()
    say_when_compiling()
    open_task(suite).contest()  # what cannot be judged on is no fault of the program
    evaluation = local_evaluation(settings, os.cpu_count() or 1)
    with naming(start) if start else nullcontext():
        archive = make_lab(lab, settings, source, evaluation)
    with archive as made:
        verdict = made.programs()[0].verdict
    typer.echo(f"{lab}: the first program has score {verdict.score:.4f} on {suite}")
