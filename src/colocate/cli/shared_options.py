"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

PICTURES = (".svg", ".png")


def vector(path: Path | None) -> Path | None:
    """Refuse a file whose name does not say that it holds an SVG picture."""
    if path is not None and path.suffix != ".svg":
        raise typer.BadParameter(f"{path} must end in .svg")
    return path


def drawable(path: Path | None) -> Path | None:
    """Refuse a file that no picture can be written to, before any work is done."""
    if path is None:
        return None
    if path.suffix not in PICTURES:
        raise typer.BadParameter(f"{path} must end in {' or '.join(PICTURES)}")
    from colocate.outputs.page.figure import require_matplotlib

    require_matplotlib()
    return path


PlacedPlan = Annotated[
    Path,
    typer.Argument(
        help="Plan file, written by `colocate plan --save`; with --placement a fleet file."
    ),
]
PlacementFile = Annotated[
    Path | None,
    typer.Option(
        help="File (YAML or JSON) that says which GPUs each model is on: a mapping from its "
        "name to a name or a list of names, or a plan."
    ),
]
Workers = Annotated[int | None, typer.Option(min=1, help="Threads of the solver (default: 2).")]
Seed = Annotated[int, typer.Option(min=0, help="Seed for random choices.")]
Download = Annotated[
    bool,
    typer.Option("--download", help="Ask the Hugging Face hub for configs that are not here."),
]
PageFile = Annotated[
    Path | None, typer.Option(help="Also write all of it to this file, as an HTML page.")
]
LoadSpeed = Annotated[
    float, typer.Option(min=0.001, help="GB of weights a second that one machine loads.")
]
TotalSpeed = Annotated[
    float | None,
    typer.Option(min=0.001, help="GB a second that all machines load together, if limited."),
]
LoadsAtOnce = Annotated[
    int, typer.Option(min=1, max=64, help="Engines that one machine loads side by side.")
]
ReadySeconds = Annotated[
    float, typer.Option(min=0.0, help="From the last weight to the first answer of an engine.")
]
DrainSeconds = Annotated[
    float, typer.Option(min=0.0, help="For requests in work to finish, when an engine leaves.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
