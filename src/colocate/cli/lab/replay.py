"""`colocate lab replay`: the same answers once more."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from colocate.cli.exit_codes import FAULT
from colocate.cli.lab.options import FOLDER, Folder, Workers


def replay(
    lab: Folder = FOLDER,
    into: Annotated[
        Path | None, typer.Option(help="Keep the new lab in this folder (default: keep none).")
    ] = None,
    workers: Workers = None,
) -> None:
    """Run a lab again from its recorded answers, and compare every program and verdict."""
    from colocate.cli.compile_notice import say_when_compiling
    from colocate.lab.archive import Archive
    from colocate.lab.lab_folder import archive_path, differences, replayed
    from colocate.outputs.text.console import notes

    say_when_compiling()
    with TemporaryDirectory() as scratch, Archive.open(archive_path(lab)) as old:
        old.hold()
        with replayed(old, into or Path(scratch) / "lab", workers or os.cpu_count() or 1) as new:
            found = differences(old.programs(), new.programs())
        count = len(old.programs())
    for sentence in found:
        notes().print(sentence, markup=False)
    if found:
        raise typer.Exit(FAULT)
    typer.echo(f"repeats itself exactly: {count} programs with their verdicts")
