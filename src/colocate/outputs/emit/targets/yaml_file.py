"""YAML from plain data; only comments are written by hand."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import yaml

from colocate.outputs.emit.targets.file_head import comment_lines

NO_TEXT_ELSEWHERE = re.compile(
    r"[yYnN]|[-+]?(0[bBoOxX][0-9a-fA-F]+|(\.[0-9]+|[0-9]+\.?[0-9]*)([eE][-+]?[0-9]+)?)"
)
"""Plain texts to PyYAML (YAML 1.1) but not to docker and Kubernetes: y, 1e3, 0o17."""


def yaml_text(comments: Iterable[str], *documents: Any) -> str:
    """Return documents under a comment."""
    separator = "---\n" if len(documents) > 1 else ""
    return comment_lines(comments) + separator + "---\n".join(map(_dumped, documents))


def dollars_doubled(texts: Sequence[str]) -> list[str]:
    """Return texts in which no dollar sign means anything, to compose and to Kubernetes alike.

    Both read two of them as one, and take one before a name in brackets for a variable.
    """
    return [text.replace("$", "$$") for text in texts]


def _dumped(document: Any) -> str:
    return yaml.dump(
        document,
        Dumper=_PlainDumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        width=1_000_000,
    )


class _PlainDumper(yaml.SafeDumper):
    """Writes everything in full: the same list in two places appears twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: _PlainDumper, text: str) -> yaml.Node:
    """Quote what others take for a number or a truth value: Go, and YAML since 1.2."""
    style = "'" if NO_TEXT_ELSEWHERE.fullmatch(text.replace("_", "")) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_PlainDumper.add_representer(str, _text)
