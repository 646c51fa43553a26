"""Tables of HTML."""

from collections.abc import Iterable, Sequence

from colocate.outputs.page.markup import Markup, tag


def html_table(
    title: str,
    columns: Sequence[tuple[str, str]],
    rows: Iterable[Sequence[str]],
    anchors: Sequence[str] = (),
    stacked: bool = False,
) -> Markup:
    """Draw a table.

    Parameters
    ----------
    title
        What it shows.
    columns
        The heading of each, and what it holds: words, which are broken into lines, or figures.
    rows
        The cells of each row: markup as it is, any other text escaped.
    anchors
        The names by which rows can be linked to, one for each row, or none.
    stacked
        Whether the cells of a row stand one below the other where there is little width.
    """
    head = tag("tr", *(tag("th", name, scope="col", class_=kind) for name, kind in columns))
    body = []
    for number, row in enumerate(rows):
        cells = zip(row, columns, strict=True)
        drawn = (
            tag("td", cell, class_=kind, **({"data_label": name} if stacked and name else {}))
            for cell, (name, kind) in cells
        )
        body.append(tag("tr", *drawn, **({"id": anchors[number]} if anchors else {})))
    table = tag("table", tag("caption", title), tag("thead", head), tag("tbody", *body))
    kind = "scroll stacked" if stacked else "scroll"
    return tag("div", table, class_=kind, role="region", aria_label=title, tabindex=0)
