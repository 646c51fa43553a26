"""`colocate lab show`: a program of a lab, its last review, or all of it as a page."""

from pathlib import Path
from typing import Annotated

import typer

from colocate.cli.lab.options import FOLDER, Folder


def show(
    number: Annotated[
        int | None, typer.Argument(min=0, help="The number of a program (default: the best).")
    ] = None,
    lab: Folder = FOLDER,
    html: Annotated[
        Path | None, typer.Option(help="Write the whole lab to this file, as one HTML page.")
    ] = None,
    source: Annotated[bool, typer.Option("--source", help="Print only the program.")] = False,
    review: Annotated[bool, typer.Option("--review", help="Print the last review.")] = False,
    wording: Annotated[
        Path | None,
        typer.Option(help="With --review: print this wording of it, if all its figures are right."),
    ] = None,
) -> None:
    """Print a program's verdict, its changes to its parent, and its lineage."""
    from colocate.inputs.text_file import read_text
    from colocate.lab.archive import Archive
    from colocate.lab.lab_folder import archive_path
    from colocate.lab.program import best_first
    from colocate.lab.watch import html_page, last_review, lineage_tree, program_page
    from colocate.outputs.text import console
    from colocate.outputs.text.whole_files import write_text

    with Archive.open(archive_path(lab)) as archive:
        programs = {program.number: program for program in archive.programs()}
        chosen = best_first(list(programs.values()))[0].number if number is None else number
        if html:
            write_text(html, html_page(archive))
            typer.echo(f"wrote {html}")
        elif review:
            typer.echo(last_review(archive, read_text(wording) if wording else None))
        elif source and chosen in programs:
            typer.echo(programs[chosen].source, nl=False)
        else:
            tree = lineage_tree(list(programs.values()), chosen)
            console.show(*program_page(archive, chosen), tree)
