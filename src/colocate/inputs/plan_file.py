"""The plan file: what `colocate plan --json` printed, with the fleet that it is for."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.inputs.fleet import Fleet, fleet_of, looks_like_a_fleet
from colocate.inputs.placement_file import (
    looks_like_a_placement,
    placement_of,
    placement_of_plan,
)
from colocate.inputs.text_file import naming, read_text
from colocate.inputs.yaml_text import parse_yaml

FLEET, SERVICE, LATENCY = "fleet", "service", "latency"
"""The fields of a plan file that hold the fleet, what every replica can serve, and how fast."""
SIMULATION = "simulation"
"""The field with a replay, for people: nothing that reads a plan relies on it."""
A_PLAN = "a file that `colocate plan --save` writes"
MAKES_A_PLAN = "`colocate plan` makes one of it"
PREDICTS_A_PLACEMENT = "name its fleet file: `colocate predict FLEET --placement {}`"
TAKES_A_PLACEMENT = f"{MAKES_A_PLAN}, or give a placement of it with --placement"


class PlanFile(NamedTuple):
    """What a file says; whether it is true is for the checker to judge."""

    fleet: Fleet | None
    """None in a plan that was written without its fleet."""
    plan: dict[str, Any]
    """The plain data of the plan itself."""
    service: Any
    """What it says that replicas can serve, as plain data; None if it does not say."""
    latency: Any
    """The same for what their users feel."""


def read_plan(path: str | Path, of_fleet: str = MAKES_A_PLAN) -> PlanFile:
    """Read a plan file; a fleet file that is taken for one brings advice."""
    with naming(path):
        text = read_text(path)
        data = _parsed(text)
        if looks_like_a_fleet(data):
            raise InputError(Fault("is a fleet file", "a plan", of_fleet))
        if looks_like_a_placement(data) and "status" not in data:
            found = "is a placement without a fleet"
            raise InputError(Fault(found, "a plan", PREDICTS_A_PLACEMENT.format(path)))
        if not isinstance(data, dict) or not ("schema" in data or "placement" in data):
            raise InputError(Fault("is no plan", A_PLAN))
        data.pop(SIMULATION, None)
        fleet, *stated = (data.pop(name, None) for name in (FLEET, SERVICE, LATENCY))
        if fleet is None:
            return PlanFile(None, data, *stated)
        try:
            return PlanFile(fleet_of(fleet), data, *stated)
        except InputError as error:
            causes = (Fault(path=(FLEET,), cause=fault) for fault in error.faults)
            raise InputError(*causes) from None


def read_placed_fleet(
    path: str | Path, of_fleet: str = TAKES_A_PLACEMENT
) -> tuple[Fleet, dict[str, list[str]]]:
    """Read the fleet and the placement of a plan file, and leave the rest of it unread.

    Parameters
    ----------
    path
        The file.
    of_fleet
        The advice where it is a fleet file.
    """
    fleet, data, *_ = read_plan(path, of_fleet)
    with naming(path):
        if fleet is None:
            raise InputError(Fault("has no fleet", A_PLAN))
        return fleet, placement_of_plan(data)


def read_places(path: str | Path) -> dict[str, list[str]]:
    """Read where models are from a plan file or a placement file, for a fleet that is known."""
    with naming(path):
        data = _parsed(read_text(path))
        if looks_like_a_placement(data) and "status" not in data:
            return placement_of(data)
    return read_placed_fleet(path)[1]


def _parsed(text: str) -> Any:
    """Return the data of a plan, or of the fleet or placement that was taken for one."""
    if not text.strip():
        raise InputError(Fault("is empty", A_PLAN))
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        try:
            data = parse_yaml(text)
        except InputError:
            data = None
        if looks_like_a_fleet(data) or looks_like_a_placement(data):
            return data
        raise InputError(Fault(f"not valid JSON, {error}", A_PLAN)) from None
