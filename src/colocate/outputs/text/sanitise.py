"""Names, sources and messages of unknown origin, made safe to show."""

LONGEST_NAME, LONGEST_SENTENCE, LONGEST_NOTE, LONGEST_DESCRIPTION = 80, 300, 1_000, 2_000
"""Letters of a text, beyond which it is cut: a screen shows a name whole and a sentence in a few
lines; notes of several sentences and descriptions still fit a page."""


def visible(text: str) -> str:
    r"""Return a text in which every invisible letter is an escape, such as `\x1b`.

    Unescaped, such letters move the cursor, colour a terminal or reverse a line.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in "\t\n" else _escape(letter) for letter in text
    )


def one_line(text: str, most: int = LONGEST_SENTENCE) -> str:
    """Return a text on one line, cut where it is longer than `most` letters."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")
