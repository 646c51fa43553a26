"""`colocate evaluator`: what another framework needs to let our referee judge its programs."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from colocate.cli.lab.options import HiddenSeed
from colocate.cli.output_files import say_wrote
from colocate.outputs.evaluators.settings import IN_A_CONTAINER, Framework
from colocate.version import __version__

HANGS = 60
"""Seconds beyond the longest verdict after which a framework may think that the referee hangs."""


def evaluator(
    framework: Annotated[Framework, typer.Option("--for", help="The framework.")],
    out: Annotated[Path, typer.Option(help="Write to this folder, which is made if needed.")],
    task: Annotated[
        str,
        typer.Option(
            "--task", "--suite", help="What programs are judged on: a task, or the folder of one."
        ),
    ] = "adrs",
    model: Annotated[
        str, typer.Option(help="The model that writes programs, as the framework calls it.")
    ] = "gpt-5-mini",
    api_base: Annotated[
        str | None,
        typer.Option(help="An OpenAI-compatible server, such as http://localhost:8000/v1."),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(min=0.1, max=3600, help="Seconds for a case (default: those of the task)."),
    ] = None,
    hidden_seed: HiddenSeed = None,
    seeds: Annotated[
        int, typer.Option(min=1, help="Seeds for a program that uses chance; the worst counts.")
    ] = 6,
    force: Annotated[
        bool, typer.Option("--force", help="Replace files that are there and differ.")
    ] = False,
) -> None:
    """Write an evaluator for another framework, with start program, config and a page."""
    from colocate.arena.tasks.catalogue import open_task
    from colocate.outputs.evaluators.catalogue import (
        evaluator_files,
        in_the_way,
        write_evaluator,
    )
    from colocate.outputs.evaluators.settings import EvaluatorSettings
    from colocate.outputs.text.wording import listed

    folder = Path(task).is_dir()
    if folder and framework in IN_A_CONTAINER:
        raise typer.BadParameter(
            f"--for {framework} judges in a container, which cannot see {task}; "
            "give the name of a task"
        )
    opened = open_task(task)
    limits = replace(opened.limits, seconds=time_limit) if time_limit else opened.limits
    contest = opened.contest()
    settings = EvaluatorSettings(
        str(Path(task).resolve()) if folder else opened.name,
        opened.entry_point,
        opened.facts,
        opened.goal,
        opened.start_program,
        HANGS + round(seeds * limits.seconds * len(contest.questions)),
        __version__,
        model,
        api_base,
        (limits.seconds, limits.memory_mb) if time_limit else None,
        seeds,
        hidden_seed,
        opened.name,
        contest.target,
        bool(contest.hidden),
    )
    files = evaluator_files(framework, settings)
    if (others := in_the_way(out, files)) and not force:
        names = listed([str(path) for path in others])
        raise typer.BadParameter(f"{names} would be replaced; give another --out, or --force")
    for path in write_evaluator(out, files):
        say_wrote(path)
