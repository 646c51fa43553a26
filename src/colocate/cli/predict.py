"""`colocate predict`: what users of a placement would feel."""

from typing import Annotated

import typer

from colocate.cli.shared_options import AsJson, Download, PlacedPlan, PlacementFile
from colocate.outputs.emit.settings import Sharing


def predict(
    plan: PlacedPlan,
    placement: PlacementFile = None,
    sharing: Annotated[
        Sharing | None,
        typer.Option(help="How engines share a GPU (default: as the fleet file says)."),
    ] = None,
    download: Download = False,
    as_json: AsJson = False,
) -> None:
    """Predict TPOT, TTFT, busy chances and cache in use, beside the neighbours and alone."""
    import json

    from colocate.advise.predict import predict as predict_placement
    from colocate.cli.compile_notice import say_when_compiling
    from colocate.cli.placed_fleet import read_placed, say_broken_rules
    from colocate.inputs.text_file import naming
    from colocate.outputs.latency.json_form import prediction_data
    from colocate.outputs.latency.table import latency_table
    from colocate.outputs.text.console import show, table_width

    fleet, places = read_placed(plan, placement, download)
    problem = fleet.problem
    say_when_compiling()
    with naming(placement or plan):
        found = predict_placement(problem, places, sharing)
    way = sharing or problem.sharing
    if as_json:
        typer.echo(json.dumps(prediction_data(found, problem, way), indent=2, allow_nan=False))
    else:
        show(latency_table(found, way, table_width()))
    say_broken_rules(fleet, places)
