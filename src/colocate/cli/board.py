"""`colocate board`: a Grafana board of the plan beside reality, and the rules that it draws."""

from pathlib import Path
from typing import Annotated

import typer

from colocate.cli.output_files import say_wrote


def board(
    out: Annotated[Path, typer.Option(help="Write to this folder, which is made if needed.")],
    names: Annotated[
        Path | None, typer.Option(help="File that says which metrics say what (see `observe`).")
    ] = None,
) -> None:
    """Write a board for Grafana, and recording rules for Prometheus."""
    from colocate.inputs.observation.metrics.metric_names import (
        known_metric_names,
        read_metric_names,
    )
    from colocate.outputs.board.board import board as board_json
    from colocate.outputs.board.rules import recording_rules
    from colocate.outputs.emit.emission import EmittedFile, write_files

    known = known_metric_names() if names is None else read_metric_names(names)
    files = [
        EmittedFile("colocate-board.json", board_json()),
        EmittedFile("colocate-rules.yml", recording_rules(known)),
    ]
    for path in write_files(out, files):
        say_wrote(path)
