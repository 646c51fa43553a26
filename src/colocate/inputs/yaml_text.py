"""YAML and JSON as people write them: safe, and without silently repeated keys."""

import json
import re
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import yaml

from colocate.errors import InputError

OWN_RULES = ("int", "float", "timestamp")
"""Left to themselves, 1:30 would be ninety, 010 eight, and a date no text."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The safe loader, strict about repeated keys, with numbers as everyone else writes them.

    It is the one of libyaml where that is there, which is seven times as fast.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                line = key.start_mark.line + 1
                raise InputError(f"line {line}: key {key.value!r} stands twice, must be unique")
            seen.add(key.value)
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep)
        return mapping


_Loader.yaml_implicit_resolvers = {
    first: [rule for rule in rules if rule[0].rpartition(":")[2] not in OWN_RULES]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
for _tag, _pattern in (
    ("int", r"[-+]?(0|[1-9][0-9]*)$"),
    ("float", r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$|[-+]?\.inf$|\.nan$"),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list("-+.0123456789")
    )


def parse_yaml(text: str) -> Any:
    """Return the data in a YAML or JSON text."""
    if text.lstrip().startswith(("{", "[")):
        try:
            return json.loads(text, object_pairs_hook=_without_repeats)
        except (ValueError, RecursionError):
            pass  # YAML has mappings and lists in braces too
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        what = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise InputError(f"{where}not valid YAML or JSON, {what}") from None
    except InputError:
        raise
    except (RecursionError, TypeError, ValueError) as error:
        raise InputError(f"not valid YAML or JSON, {error}") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise InputError(f"key {key!r} stands twice, must be unique")
        mapping[key] = value
    return mapping


def line_finder(text: str) -> Callable[[Sequence[int | str]], int | None]:
    """Return what finds the line of a field by its path, as near as the text tells."""
    try:
        root = yaml.compose(text, Loader=_Loader)
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
