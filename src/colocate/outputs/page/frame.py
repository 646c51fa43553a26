"""One page of HTML that needs nothing else: no network, no script, no font."""

from collections.abc import Iterable, Sequence
from importlib import resources

from colocate.outputs.page.markup import Markup, tag

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""A second wall behind the escapes: the browser runs no script and loads nothing."""
STYLE = "page.css"


def whole_page(title: str, packages: str | Sequence[str], *parts: Markup) -> str:
    """Return a page.

    Parameters
    ----------
    title
        What it is about.
    packages
        Where its own style sheets are, which come after the one of all pages.
    parts
        What it shows, from top to bottom.
    """
    own = (packages,) if isinstance(packages, str) else packages
    sheets = (
        (resources.files(origin) / STYLE).read_text(encoding="utf-8")
        for origin in ("colocate.outputs.page", *own)
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Markup("\n".join(sheets))),
    )
    body = tag("body", tag("main", *parts))
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def section(title: str, *parts: Markup) -> Markup:
    """Return a part of a page under a heading."""
    return tag("section", tag("h2", title), *parts)


def note(text: str) -> Markup:
    """Return an explanation in small letters."""
    return tag("p", text, class_="note")


def legend(keys: Iterable[tuple[str, str]]) -> Markup:
    """Return the legend of a figure: the style of each mark, and its meaning."""
    items = (tag("li", tag("span", class_=f"key {kind}"), text) for kind, text in keys)
    return tag("ul", *items, class_="legend")


def fact_list(facts: Iterable[tuple[str, str]], kind: str) -> Markup:
    """Return a list of facts, each after its name."""
    pairs = (tag("div", tag("dt", name), tag("dd", told)) for name, told in facts)
    return tag("dl", *pairs, class_=kind)
