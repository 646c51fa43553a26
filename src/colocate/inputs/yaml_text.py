"""YAML and JSON as people write them, and the lines of their fields."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import yaml

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.inputs.plain_yaml import UnusualYaml, plain_data
from colocate.inputs.yaml_loader import Loader

MOST_DEPTH = 200
"""Levels of lists and mappings; a fleet has about five, and Python's own stack ends at some 300."""


def parse_yaml(text: str) -> Any:
    """Return the data in a YAML or JSON text."""
    if text.lstrip().startswith(("{", "[")):
        try:
            return json.loads(text, object_pairs_hook=_without_repeats)
        except (ValueError, RecursionError):
            pass  # YAML has mappings and lists in braces too
    try:
        return plain_data(text)
    except UnusualYaml:
        return _loaded(text)


def _loaded(text: str) -> Any:
    """Return the data in a text of any form, or say what is wrong with it."""
    try:
        _check_depth(text)
        return yaml.load(text, Loader=Loader)
    except yaml.composer.ComposerError as error:
        raise InputError(_undefined_alias(text, error)) from None
    except yaml.YAMLError as error:
        what = getattr(error, "problem", None) or str(error).splitlines()[0]
        found = f"not valid YAML or JSON, {what}"
        raise InputError(Fault(found, line=_line(error))) from None
    except InputError:
        raise
    except (AttributeError, LookupError):
        raise InputError("not valid YAML or JSON, a value does not suit its tag") from None
    except (RecursionError, TypeError, ValueError) as error:
        raise InputError(f"not valid YAML or JSON, {error}") from None


def _check_depth(text: str) -> None:
    """Refuse a text whose nesting would exhaust the stack of the loader, which is written in C."""
    depth = 0
    for event in yaml.parse(text, Loader=Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MOST_DEPTH:
                found = f"is nested more than {MOST_DEPTH} levels deep"
                mark = event.start_mark
                raise InputError(Fault(found, line=mark.line + 1 if mark else None))
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _undefined_alias(text: str, error: yaml.composer.ComposerError) -> Fault:
    """Return the fault of an alias without its anchor, or another of the kind."""
    line, mark = _line(error), error.problem_mark
    here = text.splitlines()[mark.line][mark.column :] if mark else ""
    if not here.startswith("*"):
        return Fault(f"not valid YAML or JSON, {error.problem}", line=line)
    alias = here.rstrip().replace(",", " ").split()[0].rstrip("]}")
    expected = f"one whose anchor &{alias[1:]} stands before it"
    return Fault(f"alias {alias} is not defined", expected, line=line)


def _line(error: yaml.YAMLError) -> int | None:
    mark = getattr(error, "problem_mark", None)
    return mark.line + 1 if mark else None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise InputError(Fault(f"key {twice!r} stands twice", "unique"))
    return mapping


def line_finder(text: str) -> Callable[[Sequence[int | str]], int | None]:
    """Return what finds the line of a field by its path, as near as the text tells."""
    try:
        root = yaml.compose(text, Loader=Loader)
    except (yaml.YAMLError, RecursionError):
        return lambda path: None

    def line_of(path: Sequence[int | str]) -> int | None:
        node, line = root, None
        for step in path:
            found = _child(node, step)
            if found is None:
                break
            node, line = found
        return line

    return line_of


def _child(node: yaml.Node | None, step: int | str) -> tuple[yaml.Node, int] | None:
    """Return what is at a step of a path, and the line that it begins on."""
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
        if step < len(node.value):
            return node.value[step], node.value[step].start_mark.line + 1
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(step):
                return value, key.start_mark.line + 1
    return None
