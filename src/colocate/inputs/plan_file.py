"""The plan file: what `colocate plan --json` printed, with the fleet that it is for."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from colocate.errors import InputError
from colocate.inputs.fleet import Fleet, fleet_of
from colocate.inputs.text_file import naming, read_text

FLEET = "fleet"
"""The field of a plan file that holds the fleet."""


class PlanFile(NamedTuple):
    """What a file says; whether it is true is for the checker to judge."""

    fleet: Fleet | None
    """None in a plan that was written without its fleet."""
    plan: dict[str, Any]
    """The plain data of the plan itself."""


def read_plan(path: str | Path) -> PlanFile:
    """Read a plan file."""
    with naming(path):
        text = read_text(path)
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"not valid JSON, {error}") from None
        if not isinstance(data, dict):
            raise InputError("found no plan, must be what `colocate plan --json` prints")
        fleet = data.pop(FLEET, None)
        if fleet is None:
            return PlanFile(None, data)
        with naming(FLEET):
            return PlanFile(fleet_of(fleet), data)
