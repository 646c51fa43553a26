"""Writes measured fields into a fleet file: all or nothing, with its comments and layout kept."""

import os
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from pathlib import Path

import typer

from colocate.cli.output_files import say_wrote


def update_fleet_text(
    fleet: Path,
    changes: Mapping[int, Mapping[str, float | list[float]]],
    windows: Sequence[str],
    download: bool,
    show_diff: bool,
) -> None:
    """Change fields of a fleet file, check what comes out, and show what changed.

    Parameters
    ----------
    fleet
        The file.
    changes
        New values of fields, by the number of a model and the name of the field.
    windows
        New names of time windows; none leaves them as they are.
    download
        Whether configs may come from the Hugging Face hub.
    show_diff
        Whether to print the lines that changed.
    """
    from colocate.inputs.fleet import parse_fleet
    from colocate.inputs.fleet_edit import with_fields
    from colocate.inputs.huggingface import ConfigLookup
    from colocate.inputs.text_file import naming, read_text
    from colocate.outputs.text.whole_files import write_text

    before = read_text(fleet)
    with naming(fleet):
        after = with_fields(before, changes, windows)
        parse_fleet(after, ConfigLookup.from_environment(fleet.parent, os.environ, download))
    write_text(fleet, after)
    if show_diff:
        name = str(fleet)
        lines = unified_diff(before.splitlines(), after.splitlines(), name, name, lineterm="", n=1)
        typer.echo("\n".join(lines))
    say_wrote(fleet)
