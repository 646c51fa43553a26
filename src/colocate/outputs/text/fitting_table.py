"""Tables that fit the screen: a narrow one loses the columns that matter least, but no letter.

Cells are broken between words where they must be, and within a word only where nothing else helps.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Group, JustifyMethod, RenderableType
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
    enough
        Letters that suffice if no word is longer: other columns are not left out for more. None if
        only its longest cell suffices.
    """

    heading: str
    words: bool = False
    dispensable: int = 0
    enough: int | None = None


@dataclass(frozen=True)
class _Room:
    """The letters that a column needs.

    Parameters
    ----------
    whole
        With no cell broken into lines.
    least
        With words unbroken, and figures broken after commas only.
    word
        With words and figures broken between words only.
    wanted
        Before others are left out for it.
    """

    whole: int
    least: int
    word: int
    wanted: int


def fitting_table(
    columns: Sequence[Column], rows: Iterable[Sequence[str | Text]], width: int, title: str = ""
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
    cells = [[cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows]
    rooms = [
        _room(column, [row[place].plain for row in cells]) for place, column in enumerate(columns)
    ]
    kept = _kept(columns, rooms, width)
    widths = _widths([rooms[place] for place in kept], width - _frame(len(kept)))
    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for place, letters in zip(kept, widths, strict=True):
        side: JustifyMethod = "left" if columns[place].words else "right"
        table.add_column(columns[place].heading, justify=side, overflow="fold", width=letters)
    for row in cells:
        placed = zip(kept, widths, strict=True)
        table.add_row(*(_broken(row[place], columns[place], letters) for place, letters in placed))
    left_out = [column.heading for place, column in enumerate(columns) if place not in kept]
    if not left_out:
        return table
    return Group(table, Text(f"on a wider screen also: {', '.join(left_out)}"))


def _room(column: Column, cells: Sequence[str]) -> _Room:
    """Return the letters that a column needs."""
    whole = max(map(cell_len, (column.heading, *cells)))
    word = max(
        (cell_len(word) for text in (column.heading, *cells) for word in text.split()), default=0
    )
    figure = max((cell_len(part) for text in cells for part in _parts(text)), default=0)
    least = word if column.words else max(word, figure)
    wanted = whole if column.enough is None else min(whole, max(column.enough, least))
    return _Room(whole, least, word, wanted)


def _parts(figure: str) -> list[str]:
    """Return the parts of a figure that stay on a line: it is broken after commas."""
    return figure.replace(", ", ",\n").split("\n")


def _broken(cell: Text, column: Column, letters: int) -> Text:
    """Return a cell; a figure that is longer than its column, in lines."""
    if column.words or cell_len(cell.plain) <= letters:
        return cell
    return Text("\n").join(Text(part, style=cell.style) for part in _parts(cell.plain))


def _kept(columns: Sequence[Column], rooms: Sequence[_Room], width: int) -> list[int]:
    """Return the places of the columns that fit, or that are never left out."""
    kept = list(range(len(columns)))
    while sum(rooms[place].wanted for place in kept) + _frame(len(kept)) > width:
        least = max(kept, key=lambda place: (columns[place].dispensable, place))
        if columns[least].dispensable == 0:
            break
        kept.remove(least)
    return kept


def _widths(rooms: Sequence[_Room], width: int) -> list[int]:
    """Return the letters of each column: the widest give way first, and words break last."""
    widths = [room.whole for room in rooms]
    least, word = [room.least for room in rooms], [room.word for room in rooms]
    for floors in (least, word, [1] * len(rooms)):
        while sum(widths) > width:
            wide = [place for place, floor in enumerate(floors) if widths[place] > floor]
            if not wide:
                break
            widths[max(wide, key=widths.__getitem__)] -= 1
    return widths


def _frame(columns: int) -> int:
    """Return the letters that a table needs besides its cells."""
    return EDGES + BETWEEN * (columns - 1)
