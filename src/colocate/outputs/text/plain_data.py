"""Facts as plain data for JSON."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from math import isinf
from typing import Any

from colocate.problem.problem import Problem


def plain(value: Any) -> Any:
    """Return facts as plain data: fields by name, problems left out, infinite is `Infinity`."""
    if is_dataclass(value):
        found = {field.name: getattr(value, field.name) for field in fields(value)}
        return {k: plain(v) for k, v in found.items() if not isinstance(v, Problem)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float) and isinf(value):
        return "Infinity"
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
