"""What a case writes: lines of fields, which are cut apart without a parser.

The first line says what follows:

``answer``
    What the function returned, in the form that the task asks for.
``error``
    Four lines: whether the function was called, the exception's type, a sentence, a traceback.
``exit``
    Two lines: whether the function was called, and the code that the program ended itself with.
``returned``
    The type of a value that is no answer.

Fields of a line are separated by tabs. Neither a tab nor the end of a line is ever in a field.
"""

from collections.abc import Iterable

ANSWER, ERROR, EXIT, RETURNED = b"answer", b"error", b"exit", b"returned"
PROGRAM_FILE = "main.py"
"""What every program is called where it runs; Python writes it into tracebacks."""
END, TAB = b"\n", b"\t"
NAME, SOMETHING_ELSE = "=", "!"
"""What stands before a text where something else could stand as well, and instead of one."""
ESCAPED = (("\\", "\\\\"), ("\n", "\\n"), ("\t", "\\t"))
"""What is written otherwise, in this order."""


def field(text: str) -> bytes:
    """Return a text as a field."""
    for plain, written in ESCAPED:
        text = text.replace(plain, written)
    return text.encode("utf-8", "backslashreplace")


def text_of(written: bytes) -> str:
    """Return the text of a field; what nobody can have written properly stays as it is."""
    text = written.decode("utf-8", "backslashreplace")
    if "\\" not in text:
        return text
    parts = text.split("\\\\")  # a backslash stood between them
    for plain, other in ESCAPED[1:]:
        parts = [part.replace(other, plain) for part in parts]
    return "\\".join(parts)


def lines(kind: bytes, *texts: str) -> bytes:
    """Return a reply of which every line is one text."""
    return END.join([kind, *map(field, texts)])


def table(rows: Iterable[Iterable[str]]) -> bytes:
    """Return an answer of which every line is a row of texts."""
    return END.join([ANSWER, *(TAB.join(map(field, row)) for row in rows)])


def rows_of(body: bytes) -> list[list[bytes]]:
    """Return the rows of fields that follow the first line of an answer."""
    return [line.split(TAB) for line in body.split(END) if line]
