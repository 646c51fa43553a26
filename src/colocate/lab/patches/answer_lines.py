"""The role of each line of an answer: a tag, a marker, a fence or text."""

import re
from dataclasses import dataclass
from enum import Enum, auto

SHORTEST_MARKER = 7
"""The length of the markers of a merge conflict, which models know."""
SHORTEST_ALMOST = 5
"""A shorter row is Python: three begin a doctest, two shift bits."""

PYTHON = ("python", "python3", "py")


class LineRole(Enum):
    """The role of a line in an answer."""

    TEXT = auto()
    SEARCH = auto()
    SEPARATOR = auto()
    REPLACE = auto()
    ALMOST = auto()
    """Probably meant as a marker, but too short, indented or with another word."""
    DIFF = auto()
    END_DIFF = auto()
    CODE = auto()
    END_CODE = auto()


TAGS = {
    "<DIFF>": LineRole.DIFF,
    "</DIFF>": LineRole.END_DIFF,
    "<CODE>": LineRole.CODE,
    "</CODE>": LineRole.END_CODE,
}

MARKERS = {"<SEARCH": LineRole.SEARCH, "=": LineRole.SEPARATOR, ">REPLACE": LineRole.REPLACE}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an answer.

    Parameters
    ----------
    number
        Its number in the answer, from 1.
    text
        Its text; a tag that is glued to a marker or a fence becomes its own line.
    role
        Its role in the answer.
    """

    number: int
    text: str
    role: LineRole = LineRole.TEXT

    @property
    def fence(self) -> str:
        """The backticks of a line that begins or ends fenced text, else empty."""
        marks, label = self._marks_and_label
        return marks if len(label.split()) <= 1 and "`" not in label else ""

    @property
    def begins_python(self) -> bool:
        """Whether the line begins fenced Python."""
        marks, label = self._marks_and_label
        return bool(marks) and label.lower() in PYTHON

    def closes(self, fence: str) -> bool:
        """Whether the line ends what `fence` began: as many backticks or more, nothing else."""
        marks, label = self._marks_and_label
        return len(marks) >= len(fence) and not label

    @property
    def _marks_and_label(self) -> tuple[str, str]:
        # Deeper than three spaces it is a part of the code, as in Markdown.
        row = re.match(" {0,3}(`{3,})", self.text)
        return (row[1], self.text[row.end() :].strip()) if row else ("", "")


def answer_lines(answer: str) -> list[Line]:
    """Return the lines of an answer, whatever their line ends."""
    lines: list[Line] = []
    for number, text in enumerate(answer.replace("\r\n", "\n").split("\n"), 1):
        parts = _unglued(text) if "<" in text else (text,)
        lines += [Line(number, part, _role(part)) for part in parts]
    return lines


def _unglued(text: str) -> tuple[str, ...]:
    """Split lines such as `<DIFF><<<<<<< SEARCH`; a tag within a sentence is a mention."""
    told = text.strip()
    for tag in ("<DIFF>", "<CODE>"):
        rest = told.removeprefix(tag).strip()
        if rest != told and (_role(rest) is LineRole.SEARCH or Line(0, rest).fence):
            return tag, rest
    for tag in ("</DIFF>", "</CODE>"):
        rest = told.removesuffix(tag).strip()
        if rest != told and (_role(rest) is LineRole.REPLACE or Line(0, rest).fence):
            return rest, tag
    return (text,)


def _role(text: str) -> LineRole:
    told = text.strip()
    if told[:1] not in ("<", "=", ">"):
        return LineRole.TEXT
    if told.upper() in TAGS:
        return TAGS[told.upper()]
    word = told.lstrip(told[0])
    row = len(told) - len(word)
    role = MARKERS.get(told[0] + word.strip())
    if role and row >= SHORTEST_MARKER and text[0] == told[0]:
        return role
    is_almost = told[0] != "=" and row >= SHORTEST_ALMOST and len(word.split()) <= 1
    return LineRole.ALMOST if is_almost else LineRole.TEXT
