"""`colocate predict`: what users of a placement would feel."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colocate.cli.shared_options import AsJson, Download
from colocate.outputs.emit.settings import Sharing

if TYPE_CHECKING:
    from colocate.inputs.fleet import Fleet

MOST_FAULTS = 3
"""Rules that a placement breaks, in notes, which should stay few."""


def predict(
    plan: Annotated[
        Path,
        typer.Argument(
            help="Plan file, written by `colocate plan --save`; with --placement a fleet file."
        ),
    ],
    placement: Annotated[
        Path | None,
        typer.Option(
            help="File (YAML or JSON) that says which GPUs each model is on: a mapping from its "
            "name to a name or a list of names."
        ),
    ] = None,
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
    from colocate.inputs.text_file import naming
    from colocate.outputs.latency.json_form import prediction_data
    from colocate.outputs.latency.table import latency_table
    from colocate.outputs.text.console import results, show

    fleet, places = _placed(plan, placement, download)
    problem = fleet.problem
    say_when_compiling()
    with naming(placement or plan):
        found = predict_placement(problem, places, sharing)
    way = sharing or problem.sharing
    if as_json:
        typer.echo(json.dumps(prediction_data(found, problem, way), indent=2, allow_nan=False))
    else:
        show(latency_table(found, way, results().width))
    _say_broken_rules(fleet, places)


def _placed(
    path: Path, placement: Path | None, download: bool
) -> "tuple[Fleet, Mapping[str, Sequence[str]]]":
    """Return a fleet whose latencies can be predicted, and where its models are."""
    from colocate.inputs.fleet import read_fleet
    from colocate.inputs.known_requests import check_all_known
    from colocate.inputs.placement_file import read_placement
    from colocate.inputs.plan_file import read_placed_fleet
    from colocate.inputs.text_file import naming

    if placement is None:
        fleet, places = read_placed_fleet(path)
    else:
        fleet, places = read_fleet(path, download), read_placement(placement)
    with naming(path):
        check_all_known(fleet.spec)
    return fleet, places


def _say_broken_rules(fleet: "Fleet", places: Mapping[str, Sequence[str]]) -> None:
    """Print on stderr what a placement does that a plan may not."""
    from colocate.outputs.text.console import notes
    from colocate.problem.verify import verify

    placed = {model: gpus for model, gpus in places.items() if gpus}
    awake = fleet.problem.awake(set(fleet.models) - placed.keys())
    faults = verify(awake, placed).faults if awake else ()
    for fault in faults[:MOST_FAULTS]:
        notes().print(f"note: no plan would do this: {fault}", markup=False)
    if len(faults) > MOST_FAULTS:
        notes().print(f"note: and {len(faults) - MOST_FAULTS} more of the kind", markup=False)
