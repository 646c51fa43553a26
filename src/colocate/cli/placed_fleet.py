"""A fleet with a placement, as `predict` and `simulate` take it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from colocate.inputs.fleet import Fleet, read_fleet
from colocate.inputs.known_requests import check_all_known
from colocate.inputs.placement_file import read_placement
from colocate.inputs.plan_file import read_placed_fleet
from colocate.inputs.text_file import naming
from colocate.outputs.text.console import notes
from colocate.problem.verify import verify

MOST_FAULTS = 3
"""Rules that a placement breaks, in notes, which should stay few."""


def read_placed(
    path: Path, placement: Path | None, download: bool
) -> tuple[Fleet, Mapping[str, Sequence[str]]]:
    """Return a fleet whose latencies can be predicted, and where its models are.

    Parameters
    ----------
    path
        A plan file; with a placement, a fleet file.
    placement
        A file that says where the models are, if the first one does not.
    download
        Whether configs may come from the Hugging Face hub.
    """
    if placement is None:
        fleet, places = read_placed_fleet(path)
    else:
        fleet, places = read_fleet(path, download), read_placement(placement)
    with naming(path):
        check_all_known(fleet.spec)
    return fleet, places


def say_broken_rules(fleet: Fleet, places: Mapping[str, Sequence[str]]) -> None:
    """Print on stderr what a placement does that a plan may not."""
    placed = {model: gpus for model, gpus in places.items() if gpus}
    awake = fleet.problem.awake(set(fleet.models) - placed.keys())
    faults = verify(awake, placed).faults if awake else ()
    for fault in faults[:MOST_FAULTS]:
        notes().print(f"note: no plan would do this: {fault}", markup=False)
    if len(faults) > MOST_FAULTS:
        notes().print(f"note: and {len(faults) - MOST_FAULTS} more of the kind", markup=False)
