from io import StringIO

import pytest
from rich.console import Console

from colocate.outputs.text.fitting_table import Column, fitting_table

COLUMNS = (
    Column("name", words=True),
    Column("score"),
    Column("worst case", dispensable=2),
    Column("time", dispensable=1),
)
ROWS = [("[bold]greedy", "21.8916", "adrs-01", "3 s"), ("solve", "26.2560", "adrs-02", "10 s")]
WHOLE = 2 + 3 * 3 + len("[bold]greedy") + len("21.8916") + len("worst case") + len("10 s")


def drawn(width, columns=COLUMNS):
    written = StringIO()
    console = Console(file=written, width=width, color_system=None)
    console.print(fitting_table(columns, ROWS, width))
    return written.getvalue()


def test_all_columns_are_drawn_where_they_just_fit():
    text = drawn(WHOLE)
    assert text.splitlines()[1].split() == ["name", "score", "worst", "case", "time"]
    assert "…" not in text
    assert "wider" not in text


@pytest.mark.parametrize(
    ("width", "left_out"),
    [
        (WHOLE - 1, "worst case"),
        (WHOLE - 3 - len("worst case"), "worst case"),
        (WHOLE - 4 - len("worst case"), "worst case, time"),
    ],
)
def test_the_most_dispensable_columns_go_first_and_are_named_below(width, left_out):
    text = drawn(width)
    heading = text.splitlines()[1]
    assert not any(name in heading for name in left_out.split(", "))
    assert " ".join(text.split()).endswith(f"on a wider screen also: {left_out}")
    assert all(row[1] in text for row in ROWS)
    assert "…" not in text


def test_what_is_needed_stays_even_where_it_does_not_fit():
    needed = tuple(Column(column.heading, column.words) for column in COLUMNS)
    assert "wider" not in drawn(10, needed)


def test_cells_are_text_and_no_markup():
    assert "[bold]greedy" in drawn(WHOLE)
