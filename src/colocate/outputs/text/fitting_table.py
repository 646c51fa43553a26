"""Tables that fit the screen: a narrow one loses the columns that matter least."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

EDGES, BETWEEN = 2, 3
"""Letters that a table needs besides its cells: at both ends, and between two columns."""


@dataclass(frozen=True)
class Column:
    """One column.

    Parameters
    ----------
    heading
        What stands above it.
    words
        Whether it holds words, which begin on the left and may be broken into lines, or figures.
    dispensable
        The higher, the sooner it is left out; 0 is never.
    """

    heading: str
    words: bool = False
    dispensable: int = 0


def fitting_table(
    columns: Sequence[Column], rows: Iterable[Sequence[str]], width: int, title: str = ""
) -> RenderableType:
    """Draw a table for a screen, and say below it which columns are left out.

    Parameters
    ----------
    columns
        The columns, from left to right.
    rows
        The cells of each row.
    width
        Of the screen, in letters.
    title
        Stands above the table.
    """
    cells = [tuple(row) for row in rows]
    kept = list(range(len(columns)))
    while _needed(columns, cells, kept) > width:
        least = max(kept, key=lambda place: (columns[place].dispensable, place))
        if columns[least].dispensable == 0:
            break
        kept.remove(least)
    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for place in kept:
        column = columns[place]
        if column.words:
            table.add_column(column.heading, overflow="fold")
        else:
            table.add_column(column.heading, justify="right", no_wrap=True)
    for row in cells:
        table.add_row(*(Text(row[place]) for place in kept))
    left_out = [column.heading for place, column in enumerate(columns) if place not in kept]
    if not left_out:
        return table
    return Group(table, Text(f"on a wider screen also: {', '.join(left_out)}"))


def _needed(columns: Sequence[Column], rows: list[tuple[str, ...]], kept: list[int]) -> int:
    """Return how wide a table with some of the columns is, with no cell broken into lines."""
    widths = (
        max(cell_len(text) for text in (columns[place].heading, *(row[place] for row in rows)))
        for place in kept
    )
    return sum(widths) + EDGES + BETWEEN * (len(kept) - 1)
