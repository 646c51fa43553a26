"""YAML and JSON as people write them: safe, and without silently repeated keys."""

import json
import re
from collections.abc import Hashable
from typing import Any

import yaml

from colocate.errors import InputError

MERGE = "tag:yaml.org,2002:merge"


class _Loader(yaml.SafeLoader):
    """The safe loader, strict about repeated keys, with 1e9 as a number."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag == MERGE or not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                line = key.start_mark.line + 1
                raise InputError(f"line {line}: key {key.value!r} stands twice, must be unique")
            seen.add(key.value)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"),
    list("-+0123456789"),
)


def parse_yaml(text: str) -> Any:
    """Return the data in a YAML or JSON text."""
    if text.lstrip().startswith(("{", "[")):
        try:
            return json.loads(text, object_pairs_hook=_without_repeats)
        except (json.JSONDecodeError, RecursionError):
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
