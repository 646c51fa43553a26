"""Changing fields of models in the text of a fleet file, with its comments and layout kept.

Only the values are replaced, or new fields put in. Afterwards the text is read again: it has to say
what it said before, but for the changes. Where that is not so, such as in entries that share an
anchor, nothing is changed.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.inputs.yaml_loader import Loader
from colocate.inputs.yaml_text import parse_yaml

FieldValue = float | Sequence[float]
"""One number, or one for each window."""
Changes = Mapping[int, Mapping[str, FieldValue]]
"""New values of fields, by the number of a model and the name of the field."""
Span = tuple[int, int, str]
"""Where a change begins and ends, and the new text there."""


def with_fields(text: str, changes: Changes, windows: Sequence[str] = ()) -> str:
    """Return the text of a fleet file with other values in some fields of its models.

    Parameters
    ----------
    text
        YAML or JSON.
    changes
        The new values.
    windows
        The names of the time windows of the whole file; none leaves them as they are.

    Raises
    ------
    InputError
        If the text cannot be changed without changing something else.
    """
    wanted = _unshared(parse_yaml(text))
    for number, fields in changes.items():
        wanted["models"][number].update(fields)
    if windows:
        wanted["windows"] = list(windows)
    edited = text
    try:
        root = yaml.compose(text, Loader=Loader)
        entries = _model_nodes(root)
        edits = [_edit_windows(text, root, windows)] if windows else []
        edits += [
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


def _model_nodes(root: yaml.MappingNode) -> list[yaml.MappingNode]:
    (models,) = [value for key, value in root.value if key.value == "models"]
    return list(models.value)


def _edit(text: str, entry: yaml.MappingNode, field: str, value: FieldValue) -> Span:
    """Return the change of a field of a model."""
    written = _written(value)
    for key, old in entry.value:
        if key.value == field:
            return _replaced(text, key, old, written)
    first, last = entry.value[0][0], entry.value[-1][1]
    name = _key(field, first)
    if entry.flow_style:
        end = last.end_mark.index
        return end, end, f", {name}: {written}"
    (title,) = [value for key, value in entry.value if key.value == "name"]
    stop = text.find("\n", title.end_mark.index)
    end = len(text) if stop < 0 else stop
    line_end = "\r\n" if text[:end].endswith("\r") else "\n"
    end -= len(line_end) - 1
    return end, end, f"{line_end}{' ' * first.start_mark.column}{name}: {written}"


def _edit_windows(text: str, root: yaml.MappingNode, windows: Sequence[str]) -> Span:
    """Return the change of the names of time windows, which stand before the models."""
    written = f"[{', '.join(json.dumps(name) for name in windows)}]"
    for key, old in root.value:
        if key.value == "windows":
            return _replaced(text, key, old, written)
    (models,) = [key for key, _ in root.value if key.value == "models"]
    begin = models.start_mark.index
    after = ", " if root.flow_style else "\n"
    return begin, begin, f"{_key('windows', models)}: {written}{after}"


def _key(field: str, like: yaml.ScalarNode) -> str:
    return f'"{field}"' if like.style == '"' else field


def _replaced(text: str, key: yaml.ScalarNode, old: yaml.Node, written: str) -> Span:
    """Return the change of a value; one that stands below its key comes beside it."""
    if not isinstance(old, yaml.CollectionNode) or old.flow_style:
        return old.start_mark.index, old.end_mark.index, written
    begin = text.index(":", key.end_mark.index) + 1
    return begin, _last(old).end_mark.index, f" {written}"


def _last(node: yaml.Node) -> yaml.Node:
    """Return the last part of a list or mapping: what comes after it may be a comment."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        node = node.value[-1][1] if isinstance(node, yaml.MappingNode) else node.value[-1]
    return node


def _written(value: FieldValue) -> str:
    if isinstance(value, Sequence):
        return f"[{', '.join(f'{each:.10g}' for each in value)}]"
    return f"{value:.10g}"
