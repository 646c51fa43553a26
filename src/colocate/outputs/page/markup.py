"""HTML from text of unknown origin: everything that is not markup is escaped."""

from collections.abc import Iterable
from html import escape

from colocate.outputs.text.sanitise import visible

EMPTY_ELEMENTS = frozenset({"meta", "wbr"})


class Markup(str):
    """HTML that is whole and safe."""

    __slots__ = ()


def tag(name: str, /, *children: str, **attributes: object) -> Markup:
    """Return an element.

    Parameters
    ----------
    name
        Of the element.
    children
        What it holds: markup as it is, any other text escaped.
    attributes
        By name; an underscore at the end is left out, and within a name it is a hyphen.
    """
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(visible(str(value)))}"'
        for key, value in attributes.items()
    )
    end = "" if name in EMPTY_ELEMENTS else f"</{name}>"
    return Markup(f"<{name}{told}>{join(children)}{end}")


def join(parts: Iterable[str]) -> Markup:
    """Return parts one after the other; everything that is not markup is escaped."""
    return Markup("".join(part if isinstance(part, Markup) else _safe(part) for part in parts))


def breakable(name: str) -> Markup:
    """Return a name that may break into lines after each underscore."""
    return Markup(_safe(name).replace("_", "_<wbr>"))


def _safe(text: str) -> str:
    return escape(visible(text))
