"""YAML as people write it: safe, without silently repeated keys, and with 1e9 as a number."""

import re
from collections.abc import Hashable
from typing import Any

import yaml

from colocate.errors import InputError


class _Loader(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        repeated = next((key for place, key in enumerate(keys) if key in keys[:place]), None)
        if repeated is not None and repeated != "<<":
            line = node.start_mark.line + 1
            raise InputError(f"line {line}: key {repeated!r} stands twice, must be unique")
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"),
    list("-+0123456789"),
)


def parse_yaml(text: str) -> Any:
    """Return the data in a YAML or JSON text."""
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        what = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise InputError(f"{where}not valid YAML, {what}") from None
    except (RecursionError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"not valid YAML, {error}") from None
