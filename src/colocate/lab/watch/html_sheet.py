"""Figures as tables and lists of HTML, with links between programs."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from colocate.lab.watch.sheet import Cell, Fact, Mention, Sheet
from colocate.outputs.page.frame import fact_list
from colocate.outputs.page.html_table import html_table
from colocate.outputs.page.markup import Markup, breakable, join, tag
from colocate.outputs.text.sanitise import one_line


@dataclass(frozen=True)
class Links:
    """Links to programs on the page."""

    articles: frozenset[int]
    """Programs with an article."""
    rows: frozenset[int]
    """Programs with a row in the table of programs."""

    def to(self, program: Mention) -> Markup:
        """Name a program, as a link if it is on the page."""
        text = breakable(program.text)
        if program.number in self.articles:
            return tag("a", text, href=f"#program-{program.number}")
        if program.number in self.rows:
            return tag("a", text, href=f"#row-{program.number}")
        return text

    def cell(self, cell: Cell) -> Markup:
        """Return a cell of a table or a list."""
        if isinstance(cell, str):
            return join([one_line(cell)])
        named = [self.to(program) for program in cell]
        return join([part for link in named for part in (" and ", link)][1:])


def html_sheet(sheet: Sheet, links: Links, of_all: bool = False) -> Markup:
    """Draw a table; links to programs without an article lead to the table of all programs.

    Parameters
    ----------
    sheet
        What to draw.
    links
        Where programs are found on the page.
    of_all
        Whether it is the table of all programs.
    """
    columns = [(heading, _kind(sheet, heading)) for heading in sheet.headings]
    named = replace(links, rows=frozenset()) if of_all else links
    rows = [
        [
            (named if kind == "program" else links).cell(cell)
            for cell, (_, kind) in zip(row, columns, strict=True)
        ]
        for row in sheet.rows
    ]
    anchors = [_anchor(row) for row in sheet.rows] if of_all else []
    return html_table(sheet.title, columns, rows, anchors)


def html_facts(facts: Iterable[Fact], links: Links, kind: str) -> Markup:
    """Draw a list of facts.

    Parameters
    ----------
    facts
        What to draw.
    links
        Where programs are found on the page.
    kind
        The class of the list, for its style.
    """
    return fact_list(((name, links.cell(told)) for name, told in facts), kind)


def _kind(sheet: Sheet, heading: str) -> str:
    if heading == "program":
        return heading
    return "words" if heading in sheet.words else "figure"


def _anchor(row: tuple[Cell, ...]) -> str:
    named = next(cell for cell in row if not isinstance(cell, str))
    return f"row-{named[0].number}"
