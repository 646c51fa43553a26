"""From the errors of pydantic to faults of a fleet file, and from their paths to lines."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from colocate.errors import InputError, closest
from colocate.fault import SECTIONS, Fault, Owner, Path
from colocate.inputs.expectation import expected_of
from colocate.inputs.spec import FleetSpec, GpuSpec, ModelSpec, Steps
from colocate.inputs.yaml_text import line_finder

SECTION_TYPES: dict[str, type[BaseModel]] = {"gpus": GpuSpec, "models": ModelSpec}
KINDS = {"gpus": "gpu", "models": "model"}
UNKNOWN = ("extra_forbidden", "invalid_key")
"""What pydantic calls a field that is not one of its section."""
NO_NUMBER = ("float_type", "int_type")
"""What it calls another type where it wants a number."""
KEY = "[key]"
"""Its last step to a key that is wrong."""
NO_SECTION = ("model_type", "model_attributes_type")
"""What it calls another type where it wants a section."""
IN_PYTHON = {
    "sleep_cost": "give may_sleep: true, and importance: 0 if its sleep costs nothing",
    "most_replicas": "give replicas: auto",
}
"""What a fleet file says in place of some fields of a model in Python."""
A_SECTION = "a section with base_ms and others"
DECIMAL_COMMA = re.compile(r"[-+]?[0-9]+,[0-9]+")
SPLIT_NUMBER = "write decimals with a point (1.5), a comma in braces begins a new field"
"""On a number that stands alone in a mapping."""


@contextmanager
def located(text: str) -> Iterator[None]:
    """Let faults say on which line of a text they are, where that can be told."""
    try:
        yield
    except InputError as error:
        if all(fault.line is not None or not fault.path for fault in error.faults):
            raise
        line_of = line_finder(text)

        def with_lines(fault: Fault) -> Fault:
            if fault.line is not None or not fault.path:
                return fault
            twin = fault.twin and fault.twin._replace(line=line_of(fault.twin.path))
            return replace(fault, line=line_of(fault.path), twin=twin)

        raise InputError(*map(with_lines, error.faults)) from None


def faults_of(data: Mapping[Any, Any], error: ValidationError) -> Iterator[Fault]:
    """Yield what pydantic found in a file, once for each field."""
    seen: set[Path] = set()
    for found in error.errors(include_url=False, include_context=False):
        path = _path_of(found["loc"])
        if path not in seen:
            seen.add(path)
            yield _fault(data, found, path)


def _path_of(steps: Path) -> Path:
    """Return the path of the field to blame, without the names that pydantic has for types."""
    if len(steps) < 2 or steps[0] not in SECTIONS:
        return steps[:1]
    deeper = steps[2:3] == ("steps",) and KEY not in steps
    return (*steps[:3], *steps[4:6]) if deeper else steps[:3]


def _fault(data: Mapping[Any, Any], error: ErrorDetails, path: Path) -> Fault:
    section: type[BaseModel] = FleetSpec
    owner = None
    if len(path) > 1:
        section, owner = SECTION_TYPES[str(path[0])], _owner(data, path)
        if len(path) == 2:
            return Fault("", "a mapping", value=error["input"], path=path, owner=owner)
        if len(path) > 3:
            section = Steps
    field = str(path[-1])
    if error["type"] in UNKNOWN:
        return _unknown(section, path, owner, SPLIT_NUMBER if _is_split(data, path) else "")
    section_itself = error["type"] in NO_SECTION
    expected = A_SECTION if section_itself else expected_of(section, field)
    if error["type"] == "missing":
        return Fault("is missing", expected, path=path, owner=owner)
    value = _value_at(data, path)
    advice = _point_for_comma(value) if error["type"] in NO_NUMBER else ""
    if section_itself and len(path) > 3:
        advice = closest(field, _fields(Steps))
    return Fault("", expected, advice, value=value, path=path, owner=owner)


def _is_split(data: Mapping[Any, Any], path: Path) -> bool:
    """Say whether a field is the second half of a number: digits, without a value."""
    *steps, field = path
    fields = _value_at(data, steps).items()
    return str(field).isdigit() and any(
        str(key) == str(field) and value is None for key, value in fields
    )


def _point_for_comma(value: object) -> str:
    """Say how to write a number with a decimal comma, which YAML takes for a text."""
    if isinstance(value, str) and DECIMAL_COMMA.fullmatch(value):
        return f"write {value.replace(',', '.')}"
    return ""


def _unknown(section: type[BaseModel], path: Path, owner: Owner | None, advice: str) -> Fault:
    field, known = str(path[-1]), _fields(section)
    if any(field in _fields(other) for other in (FleetSpec, GpuSpec, ModelSpec)):
        expected = f"one of: {', '.join(known)}"
        return Fault("does not belong here", expected, path=path, owner=owner)
    advice = advice or (IN_PYTHON.get(field, "") if section is ModelSpec else "")
    advice = advice or closest(field, known)
    expected = "" if advice else f"one of: {', '.join(known)}"
    return Fault("is not known", expected, advice, path=path, owner=owner)


def _fields(section: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in section.model_fields.items()]


def _owner(data: Mapping[Any, Any], path: Path) -> Owner:
    entry = _value_at(data, path[:2])
    name = entry.get("name") if isinstance(entry, dict) else None
    return Owner(KINDS[str(path[0])], name)


def _value_at(data: Any, path: Sequence[int | str]) -> Any:
    for step in path:
        data = data[step]
    return data
