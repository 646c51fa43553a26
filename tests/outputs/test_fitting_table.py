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


def drawn(width, columns=COLUMNS, rows=ROWS):
    written = StringIO()
    console = Console(file=written, width=width, color_system=None)
    console.print(fitting_table(columns, rows, width))
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


LONG = (
    Column("GPU", words=True),
    Column("target"),
    Column("free", dispensable=1),
    Column("models", words=True, enough=10),
)
HELD = [("h100-0", "TPOT 50 ms, TTFT 1 s", "3 GB", "assistant, complete, titles, chat-mobile")]


def words_of(text):
    return [word for line in text.splitlines() for word in line.split()]


def test_a_column_that_has_enough_is_broken_between_words_and_drops_no_other():
    text = drawn(54, LONG, HELD)
    assert "wider" not in text
    assert {"assistant,", "complete,", "titles,", "chat-mobile"} <= set(words_of(text))


@pytest.mark.parametrize("width", range(41, 120))
def test_no_word_is_broken_where_another_column_can_give_way(width):
    text = drawn(width, LONG, HELD)
    assert {"h100-0", "assistant,", "complete,", "titles,", "chat-mobile"} <= set(words_of(text))
    assert max(map(len, text.splitlines())) <= width


def test_figures_are_broken_after_commas():
    lines = [line.split() for line in drawn(41, LONG, HELD).splitlines() if line.strip()]
    assert lines[2][:4] == ["h100-0", "TPOT", "50", "ms,"]
    assert lines[3][:3] == ["TTFT", "1", "s"]


@pytest.mark.parametrize("width", range(20, 40))
def test_no_letter_is_lost_where_words_must_be_broken(width):
    rows = [("gpu" * 9, "", "", "model" * 7)]
    table = drawn(width, LONG, rows).split("on a wider")[0]
    assert (table.count("u"), table.count("d")) == (9, 1 + 7)
    assert max(map(len, table.splitlines())) <= width
