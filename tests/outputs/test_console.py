import sys
from io import StringIO

import pytest
from rich.text import Text

from colocate.outputs.text.console import UNWRAPPED, show, table_width


class Screen(StringIO):
    def isatty(self):
        return True


def test_tables_in_a_pipe_have_a_width_of_their_own(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys, "stdout", StringIO())
    assert (table_width(97), table_width()) == (97, UNWRAPPED)


@pytest.mark.parametrize(
    ("columns", "width"), [("200", 200), ("80", 80), ("", 97), ("0", 97), ("-5", 97), ("wide", 97)]
)
def test_a_width_can_be_set_for_a_pipe(monkeypatch, columns, width):
    monkeypatch.setenv("COLOCATE_COLUMNS", columns)
    monkeypatch.setattr(sys, "stdout", StringIO())
    assert table_width(97) == width


def test_tables_are_as_wide_as_the_screen(monkeypatch):
    monkeypatch.setenv("COLUMNS", "72")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stdout", Screen())
    assert table_width(97) == 72


def test_sentences_in_a_pipe_are_never_wrapped(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    show(Text("word " * 30))
    assert capsys.readouterr().out == "word " * 29 + "word\n"
