"""YAML from plain data; only comments are written by hand."""

from collections.abc import Iterable, Sequence
from typing import Any

import yaml

from colocate.outputs.emit.emission import comment_lines


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
    """Writes everything out: the same list in two places is written twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True
