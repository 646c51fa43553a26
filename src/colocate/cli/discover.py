"""`colocate discover`: the GPUs of a machine or cluster, for a fleet file."""

import json
from pathlib import Path
from typing import Annotated

import typer

from colocate.cli.output_files import check_outputs, say_wrote
from colocate.cli.shared_options import AsJson


def discover(
    source: Annotated[
        Path | None,
        typer.Argument(
            help="Output of nvidia-smi (table, -L or --query-gpu csv), rocm-smi or `kubectl get "
            "nodes -o json`, or - for standard input; by default the tools of this machine are "
            "run."
        ),
    ] = None,
    node: Annotated[
        str | None, typer.Option(help="Name of the machine, if the output does not say it.")
    ] = None,
    kubernetes: Annotated[
        bool, typer.Option("--kubernetes", help="Run `kubectl get nodes -o json`.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Write to this new file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write the GPUs of a machine or cluster as the `gpus` list of a fleet file."""
    from colocate.inputs.discovery.discover import (
        LARGEST_OUTPUT,
        discover_here,
        discover_in,
        discover_in_cluster,
    )
    from colocate.inputs.text_file import naming, read_text
    from colocate.outputs.gpu_list import gpus_as_data, gpus_as_yaml, notes_on
    from colocate.outputs.text.console import notes
    from colocate.outputs.text.sanitise import LONGEST_NOTE, one_line
    from colocate.outputs.text.whole_files import write_text

    if source is not None and kubernetes:
        raise typer.BadParameter("--kubernetes runs kubectl; it takes no file")
    if out is not None and out.exists():
        raise typer.BadParameter(f"{out} exists already; write to a new file")
    check_outputs(source or Path("-"), [out])
    if kubernetes:
        findings = discover_in_cluster()
    elif source is None:
        findings = discover_here(node or "")
    else:
        with naming(source):
            findings = discover_in(read_text(source, LARGEST_OUTPUT), node or "")
    for note in notes_on(findings):
        notes().print(f"note: {one_line(note, LONGEST_NOTE)}", markup=False)
    text = gpus_as_yaml(findings)
    if as_json:
        text = json.dumps(gpus_as_data(findings), indent=2) + "\n"
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_text(out, text)
        say_wrote(out)
