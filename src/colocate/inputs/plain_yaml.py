"""YAML in its common form, straight from the parser's events: four times as fast as the loader.

The common form has mappings, lists and scalars, and no anchors, aliases, merges or tags. Keys are
texts, each once. Everything else is left to the loader, whose rules hold here as well.
"""

from collections.abc import Callable
from typing import Any

import yaml

from colocate.inputs.yaml_loader import Loader

TEXT = "tag:yaml.org,2002:str"
PLAIN_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float")}


class UnusualYaml(Exception):  # noqa: N818, no error: the loader reads it
    """A text that is not in the common form."""


def plain_data(text: str) -> Any:
    """Return the data in a text.

    Raises
    ------
    UnusualYaml
        If it is not in the common form.
    """
    try:
        return _Reader(Loader(text)).document()
    except (yaml.YAMLError, RecursionError, ValueError):
        raise UnusualYaml from None


class _Reader:
    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._next: Callable[[], Any] = loader.get_event
        self._known: dict[str, Any] = {}
        """Values of the scalars that were met: most fields and many numbers come again."""

    def document(self) -> Any:
        """Return the data of the only document."""
        self._next()  # the start of the stream
        if type(self._next()) is yaml.StreamEndEvent:
            return None
        data = self._value(self._next())
        self._next()  # the end of the document
        if type(self._next()) is not yaml.StreamEndEvent:
            raise UnusualYaml
        return data

    def _value(self, event: Any) -> Any:
        kind = type(event)
        if kind is yaml.AliasEvent or event.anchor is not None or event.tag is not None:
            raise UnusualYaml
        if kind is yaml.ScalarEvent:
            return self._scalar(event)
        return self._mapping() if kind is yaml.MappingStartEvent else self._sequence()

    def _mapping(self) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        event = self._next()
        while type(event) is not yaml.MappingEndEvent:
            key = self._value(event)
            if type(key) is not str or key in mapping:
                raise UnusualYaml
            mapping[key] = self._value(self._next())
            event = self._next()
        return mapping

    def _sequence(self) -> list[Any]:
        sequence = []
        event = self._next()
        while type(event) is not yaml.SequenceEndEvent:
            sequence.append(self._value(event))
            event = self._next()
        return sequence

    def _scalar(self, event: Any) -> Any:
        text = event.value
        plain, _ = event.implicit
        if not plain:
            return text
        if text not in self._known:
            self._known[text] = self._resolved(text)
        return self._known[text]

    def _resolved(self, text: str) -> Any:
        tag = self._loader.resolve(yaml.ScalarNode, text, (True, False))
        if tag == TEXT:
            return text
        if tag not in PLAIN_TAGS:
            raise UnusualYaml
        constructor = self._loader.yaml_constructors[tag]
        return constructor(self._loader, yaml.ScalarNode(tag, text))
