"""`colocate lab export`: programs as files."""

from pathlib import Path
from typing import Annotated

import typer

from colocate.cli.lab.options import FOLDER, Folder


def export(
    to: Annotated[Path, typer.Argument(help="A folder that does not exist yet, or is empty.")],
    lab: Folder = FOLDER,
) -> None:
    """Write every program as gen_N/main.py, for `colocate score`, and the best as best.py."""
    from colocate.lab.archive import Archive
    from colocate.lab.lab_folder import archive_path, export_programs
    from colocate.outputs.text.wording import amount

    with Archive.open(archive_path(lab)) as archive:
        programs = archive.programs()
    best = export_programs(programs, to)
    typer.echo(f"wrote {amount(len(programs), 'program')} to {to}, and the best also to {best}")
