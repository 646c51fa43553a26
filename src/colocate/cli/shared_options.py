"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

PICTURES = (".svg", ".png")


def drawable(path: Path | None) -> Path | None:
    """Refuse, before any work is done, what no picture can be written to or drawn with."""
    if path is None:
        return None
    if path.suffix not in PICTURES:
        raise typer.BadParameter(f"{path} must end in {' or '.join(PICTURES)}")
    from colocate.outputs.page.figure import require_matplotlib

    require_matplotlib()
    return path


Workers = Annotated[int | None, typer.Option(min=1, help="Threads of the solver; by default two.")]
Seed = Annotated[int, typer.Option(min=0, help="Decides every random choice.")]
Compute = Annotated[
    bool, typer.Option("--compute/--no-compute", help="Keep GPUs from being too busy.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
