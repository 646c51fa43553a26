"""A placement as a person states it: a file that says which GPUs each model is on."""

from pathlib import Path
from typing import Any

from colocate.errors import InputError, within
from colocate.fault import Fault, Owner
from colocate.inputs.text_file import naming, read_text
from colocate.inputs.yaml_text import parse_yaml

PLACEMENT = "placement"
"""The field of a plan file that says where models are."""
A_PLACEMENT = "a mapping from models to GPUs"
PLACES = "the name of a GPU, or a list of names"


def read_placement(path: str | Path) -> dict[str, list[str]]:
    """Read a placement file (YAML or JSON), or the placement of a plan file.

    Whether its names exist is for others to check.
    """
    with naming(path):
        data = parse_yaml(read_text(path))
        if data is None:
            raise InputError(Fault("is empty", A_PLACEMENT))
        return placement_of_plan(data) if _looks_like_a_plan(data) else placement_of(data)


def _looks_like_a_plan(data: Any) -> bool:
    return isinstance(data, dict) and "status" in data and not looks_like_a_placement(data)


def placement_of_plan(data: dict[str, Any]) -> dict[str, list[str]]:
    """Return the placement in the plain data of a plan."""
    if not (stated := data.get(PLACEMENT)):
        raise InputError(Fault("has no placement", "a plan with one"))
    with within((PLACEMENT,)):
        return placement_of(stated)


def placement_of(data: Any) -> dict[str, list[str]]:
    """Return the placement that plain data states."""
    if not isinstance(data, dict):
        raise InputError(Fault(value=data, expected=A_PLACEMENT))
    return {str(model): _names(model, places) for model, places in data.items()}


def looks_like_a_placement(data: Any) -> bool:
    """Return whether plain data says of every name on which GPUs it is, and nothing else."""
    return (
        isinstance(data, dict)
        and bool(data)
        and all(places and isinstance(places, str | list) for places in data.values())
        and all(isinstance(gpu, str) for places in data.values() for gpu in places)
    )


def _names(model: Any, places: Any) -> list[str]:
    names = [places] if isinstance(places, str) else places
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(Fault(value=places, expected=PLACES, owner=Owner("model", model)))
    return names
