"""Checks that every figure in a text is one of the facts."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from unicodedata import normalize

from colocate.problem.tolerance import LONG_SUM

FIGURE = re.compile(
    r"(?P<sign>(?<![\w.)\]])[+-])?"
    r"(?P<number>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)"
    r"(?P<exponent>e[+-]?\d{1,3}(?!\d))?"
    r"\s?(?P<unit>%|per\s?cent|ms\b|milliseconds?\b)?",
    re.IGNORECASE,
)

ENUMERATION = re.compile(r"^[ \t]*(?:[#*>-]+[ \t]*)*\d[.)](?=[ \t])", re.MULTILINE)
"""The number of an item in a list, which states nothing."""

WORDS = {
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "hundred": 100,
}
"""Figures as words. `One` is left out: it mostly counts nothing."""

WORD = re.compile(rf"\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)
SMALLEST_IN_WHOLE_NUMBERS = 10.0
"""Figures below this that are not counts have digits after the point."""


@dataclass(frozen=True)
class Figure:
    """A number in a text.

    Parameters
    ----------
    text
        Its text.
    value
        Its value, with percentages as shares and milliseconds as seconds.
    step
        One unit in its last digit.
    signed
        Whether it has a sign; without one it may state a loss as well as a gain.
    """

    text: str
    value: float
    step: float = 1.0
    signed: bool = False

    def tells(self, fact: float) -> bool:
        """Whether this is the fact, rounded to the digits of this figure.

        A small whole number is a count, and does not match a ratio or a time nearby.
        """
        if self.step == 1.0 and abs(fact) < SMALLEST_IN_WHOLE_NUMBERS and fact != int(fact):
            return False
        distance = abs((fact if self.signed else abs(fact)) - self.value)
        return distance <= self.step / 2 * (1 + LONG_SUM)


def figures(text: str) -> Iterator[Figure]:
    """Yield the figures in a text, the numbers before the words."""
    plain = ENUMERATION.sub("", _plain(text))
    yield from map(_figure, FIGURE.finditer(plain))
    for found in WORD.finditer(plain):
        yield Figure(found[0], WORDS[found[0].lower()])


def unfounded(text: str, facts: Iterable[float], names: Iterable[str]) -> list[str]:
    """Return the figures in a text that are not facts, each once and as written.

    Parameters
    ----------
    text
        The text to check.
    facts
        All figures that the text may state, in full precision.
    names
        Phrases that may be quoted literally, whatever figures they hold.
    """
    known = list(facts)
    told = figures(_without(names, _plain(text)))
    strange = [each.text for each in told if not any(map(each.tells, known))]
    return list(dict.fromkeys(strange))


def _figure(found: re.Match[str]) -> Figure:
    written = Decimal(found["number"].replace(",", "") + (found["exponent"] or ""))
    digits = min(0, int(written.as_tuple().exponent))
    unit = (found["unit"] or "").lower()
    scale = 1.0 if not unit else 1e-3 if unit.startswith("m") else 1e-2
    value = float(written) * scale * (-1 if found["sign"] == "-" else 1)
    return Figure(found[0].strip(), value, 10.0**digits * scale, bool(found["sign"]))


def _plain(text: str) -> str:
    """Return a text with ordinary digits and minus signs."""
    return normalize("NFKC", text).replace("\N{MINUS SIGN}", "-")


def _without(names: Iterable[str], text: str) -> str:
    """Return a text without names, but keep names of digits alone, which might hide a figure."""
    spelt = {_plain(name) for name in names}
    telling = sorted((name for name in spelt if re.search(r"[^\W\d]", name)), key=len, reverse=True)
    if not telling:
        return text
    return re.sub(rf"(?<![\w.])(?:{'|'.join(map(re.escape, telling))})(?!\w|\.\d)", " ", text)
