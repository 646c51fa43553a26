"""Changing fields of models in the text of a fleet file, with its comments and layout kept.

Only the values are replaced, or new fields put in. Afterwards the text is read again: it has to say
what it said before, but for the changes. Where that is not so, such as in entries that share an
anchor, nothing is changed.
"""

from collections.abc import Mapping
from typing import Any

import yaml

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.inputs.yaml_loader import Loader
from colocate.inputs.yaml_text import parse_yaml

Changes = Mapping[int, Mapping[str, float]]
"""New values of fields, by the number of a model and the name of the field."""


def with_fields(text: str, changes: Changes) -> str:
    """Return the text of a fleet file with other values in some fields of its models.

    Parameters
    ----------
    text
        YAML or JSON.
    changes
        The new values.

    Raises
    ------
    InputError
        If the text cannot be changed without changing something else.
    """
    wanted = _unshared(parse_yaml(text))
    for number, fields in changes.items():
        wanted["models"][number].update(fields)
    edited = text
    try:
        entries = _model_nodes(text)
        edits = [
            _edit(text, entries[number], field, value)
            for number, fields in changes.items()
            for field, value in fields.items()
        ]
        for start, end, new in sorted(edits, reverse=True):
            edited = edited[:start] + new + edited[end:]
        kept = parse_yaml(edited) == wanted
    except (yaml.YAMLError, InputError, LookupError, RecursionError):
        kept = False
    if not kept:
        found = "cannot be changed in place without changing more than the fields"
        advice = "write the values yourself; entries that share an anchor are one cause"
        raise InputError(Fault(found, advice=advice))
    return edited


def _unshared(data: Any) -> Any:
    """Return data in which no two places are the same object, as aliases make them."""
    if isinstance(data, dict):
        return {key: _unshared(value) for key, value in data.items()}
    return [_unshared(value) for value in data] if isinstance(data, list) else data


def _model_nodes(text: str) -> list[yaml.MappingNode]:
    root = yaml.compose(text, Loader=Loader)
    (models,) = [value for key, value in root.value if key.value == "models"]
    return list(models.value)


def _edit(text: str, entry: yaml.MappingNode, field: str, value: float) -> tuple[int, int, str]:
    """Return where a change begins and ends, and the new text there."""
    written = f"{value:.10g}"
    for key, old in entry.value:
        if key.value == field:
            return old.start_mark.index, old.end_mark.index, written
    first, last = entry.value[0][0], entry.value[-1][1]
    name = f'"{field}"' if first.style == '"' else field
    if entry.flow_style:
        end = last.end_mark.index
        return end, end, f", {name}: {written}"
    (title,) = [value for key, value in entry.value if key.value == "name"]
    stop = text.find("\n", title.end_mark.index)
    end = len(text) if stop < 0 else stop
    line_end = "\r\n" if text[:end].endswith("\r") else "\n"
    end -= len(line_end) - 1
    return end, end, f"{line_end}{' ' * first.start_mark.column}{name}: {written}"
