"""Reads a language model's answer to a request for a change as a patch."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from colocate.lab.patches.answer_lines import Line, LineRole, answer_lines
from colocate.lab.patches.patch import MOST_CHARACTERS, Block, Patch
from colocate.lab.patches.refusal import PatchRefused, RefusalCode
from colocate.lab.patches.syntax import quoted_code

UNNAMED = "unnamed"
LONGEST_NAME = 80
"""Letters, so that a name fits in a line of a terminal."""
WORDS_IN_NAME = 6
"""Words of a description that replace a missing name: about half a sentence."""
SEND_AGAIN = "the answer seems cut off, send it again as a whole"


def read_patch(answer: str) -> Patch:
    """Read the answer of a proposer.

    A change is one or more blocks of SEARCH and REPLACE, in `<DIFF>` elements or outside of any;
    or a rewrite in one `<CODE>` element; or one fenced Python block. Tags and markers count only if
    they are alone on a line. Everything else is loose text, and may mention them.

    The name is the last one before the change, since loose text may try out names; else the last
    one after it; else the first words of the description; else `unnamed`. It is put in snake_case.
    The description is found in the same order and may be missing.

    This function cannot see whether more should have followed a closed element: only the caller
    knows why the model stopped.

    Parameters
    ----------
    answer
        The text as it came.

    Raises
    ------
    PatchRefused
        If the answer is cut off, has no change, or has one that can be read in two ways.
    """
    if len(answer) > MOST_CHARACTERS:
        raise PatchRefused(
            RefusalCode.ANSWER_TOO_LONG,
            f"the answer has {len(answer)} characters, must be at most {MOST_CHARACTERS}",
            "send only the change",
        )
    items = list(_items(answer_lines(answer)))
    _refuse_open_diffs(items)
    items = items if any(item.is_change for item in items) else _with_fenced(items)
    first = next(item.line.number for item in items if item.is_change)
    loose = [item.line for item in items if not item.is_change]
    before = "\n".join(line.text for line in loose if line.number < first)
    after = "\n".join(line.text for line in loose if line.number > first)
    description = printable(_element("DESCRIPTION", before) or _element("DESCRIPTION", after))
    names = (_element("NAME", before), _element("NAME", after), _first_words(description), UNNAMED)
    name = next(filter(None, map(snake_case, names)))
    return Patch(name, description, *_change(items))


def snake_case(text: str) -> str:
    """Return the words of a text as one name; empty if there are none."""
    return "_".join(re.findall(r"\w+", text.lower()))[:LONGEST_NAME].strip("_")


def printable(text: str) -> str:
    """Return a text without invisible letters, so that no escape sequences end up in names."""
    return "".join(letter for letter in text if letter.isprintable() or letter in "\t\n").strip()


def _first_words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text)[:WORDS_IN_NAME])


def _element(tag: str, text: str) -> str:
    """Return the content of the last element that is not empty; a lone tag is a mention."""
    tags = re.finditer(f"</?{tag}>", text, re.IGNORECASE)
    contents = [
        text[one.end() : other.start()].strip()
        for one, other in pairwise(tags)
        if (one[0][1] == "/") < (other[0][1] == "/")
    ]
    return next(filter(None, reversed(contents)), "")


@dataclass(frozen=True)
class _Item:
    """A change in an answer, with the line where it begins, or a line around the changes."""

    line: Line
    change: Block | str | None = None

    @property
    def is_change(self) -> bool:
        return self.change is not None


def _items(lines: Sequence[Line]) -> Iterator[_Item]:
    at, number = 0, 0
    while at < len(lines):
        line, end = lines[at], at
        change: Block | str | None = None
        if line.role is LineRole.SEARCH:
            number += 1
            change, end = _read_block(lines, at, number)
        elif line.role is LineRole.CODE:
            change, end = _read_code(lines, at)
        elif line.role in (LineRole.REPLACE, LineRole.ALMOST):
            raise PatchRefused(
                RefusalCode.STRAY_MARKER,
                f"line {line.number} of the answer, {quoted_code(line.text)}, "
                "ends no block and begins none",
                "put '<<<<<<< SEARCH', '=======' and '>>>>>>> REPLACE' on lines of their own",
            )
        yield _Item(line, change)
        at = end + 1


def _read_block(lines: Sequence[Line], begin: int, number: int) -> tuple[Block, int]:
    """Read the block that begins at an index, and return it with the index of its last line."""
    where = f"block {number} (line {lines[begin].number} of the answer)"
    separators: list[int] = []
    for at in range(begin + 1, len(lines)):
        role = lines[at].role
        if role is LineRole.REPLACE and separators:
            middle = _separator(lines, begin, separators, where)
            sides = _unfenced(lines[begin + 1 : middle], lines[middle + 1 : at])
            search, replacement = (tuple(line.text for line in side) for side in sides)
            return Block(search, replacement, lines[begin].number), at
        if role is LineRole.SEPARATOR:
            separators.append(at)
        elif role not in (LineRole.TEXT, LineRole.CODE, LineRole.END_CODE):
            break
    else:
        at = len(lines)
    missing = "'>>>>>>> REPLACE'" if separators else "'======='"
    found = quoted_code(lines[at].text) if at < len(lines) else "the end of the answer"
    raise _cut_off(f"{where} has no {missing} line before {found}")


def _separator(lines: Sequence[Line], begin: int, separators: Sequence[int], where: str) -> int:
    """Return the separator line; of several, the one as long as the first marker.

    A row of `=` may also be text of the program, such as the underline of a title.
    """
    long = lines[begin].text.count("<")
    fitting = [at for at in separators if len(lines[at].text.strip()) == long]
    chosen = separators if len(separators) == 1 else fitting
    if len(chosen) != 1:
        found = ", ".join(str(lines[at].number) for at in separators[:4])
        raise PatchRefused(
            RefusalCode.SEVERAL_SEPARATORS,
            f"{where} has '=======' at the lines {found}, must have one",
            "make all three markers of the block longer than other such rows",
        )
    return chosen[0]


def _unfenced(*sides: Sequence[Line]) -> tuple[Sequence[Line], ...]:
    """Leave out the fences of code if both sides of a block have them."""
    fenced = all(
        len(side) > 1 and side[0].fence and side[-1].closes(side[0].fence) for side in sides
    )
    return tuple(side[1:-1] for side in sides) if fenced else sides


def _read_code(lines: Sequence[Line], begin: int) -> tuple[str, int]:
    """Read the rewrite that begins at an index, and return it with the index of its last line."""
    tag = f"the <CODE> at line {lines[begin].number} of the answer"
    first = _next_told(lines, begin + 1)
    fence = lines[first].fence if first < len(lines) else ""
    start = first + 1 if fence else begin + 1
    ends = (at for at in range(start, len(lines)) if lines[at].role is LineRole.END_CODE)
    for end in ends:
        last = _last_told(lines, end) if fence else end
        if not fence or (last > first and lines[last].closes(fence)):
            return "\n".join(line.text for line in lines[start:last]), end
    if fence:
        raise _cut_off(f"{tag} has a fence that is not closed right before </CODE>")
    raise _cut_off(f"{tag} is never closed with </CODE>")


def _next_told(lines: Sequence[Line], at: int) -> int:
    """Return the index of the first line from `at` on that is not blank, or the number of lines."""
    return next((n for n in range(at, len(lines)) if lines[n].text.strip()), len(lines))


def _last_told(lines: Sequence[Line], end: int) -> int:
    """Return the index of the last line before `end` that is not blank."""
    return next(n for n in range(end - 1, -1, -1) if lines[n].text.strip())


def _with_fenced(items: Sequence[_Item]) -> list[_Item]:
    """Return the items with the only fenced Python block as a change."""
    begins = [at for at, item in enumerate(items) if item.line.begins_python]
    if len(begins) != 1:
        found = f"{len(begins)} fenced Python blocks" if begins else "no block, <CODE> or ```python"
        raise PatchRefused(
            RefusalCode.NO_CHANGE,
            f"the answer has no change that can be told: found {found}",
            "put SEARCH/REPLACE blocks in <DIFF>, or the whole program in one <CODE>, with each "
            "tag on a line of its own",
        )
    begin = begins[0]
    opening = items[begin].line
    for end in range(begin + 1, len(items)):
        if items[end].line.closes(opening.fence):
            code = "\n".join(item.line.text for item in items[begin + 1 : end])
            return [*items[:begin], _Item(opening, code), *items[end + 1 :]]
    raise _cut_off(f"the fence at line {opening.number} of the answer is not closed")


def _change(items: Sequence[_Item]) -> tuple[tuple[Block, ...], str | None]:
    """Return the blocks or the code; refuse an answer with both, or with several codes."""
    blocks = tuple(item.change for item in items if isinstance(item.change, Block))
    codes = [item for item in items if isinstance(item.change, str)]
    if len(codes) + bool(blocks) > 1:
        numbers = ", ".join(str(item.line.number) for item in codes[:4])
        beside = " beside SEARCH/REPLACE blocks" if blocks else ""
        raise PatchRefused(
            RefusalCode.SEVERAL_CHANGES,
            f"the answer has <CODE> at line {numbers}{beside}, which can be read in several ways",
            "send either one <CODE> or only SEARCH/REPLACE blocks",
        )
    return blocks, None if blocks else str(codes[0].change)


def _refuse_open_diffs(items: Sequence[_Item]) -> None:
    """Refuse a `<DIFF>` without an end or without a block, since a part of it may be lost.

    Only a `<DIFF>` with no block before the next one is a mention in loose text.
    """
    opened, filled = None, False
    for item in items:
        if isinstance(item.change, Block):
            filled = True
        elif item.line.role is LineRole.DIFF:
            if opened and filled:
                break
            opened, filled = item.line, False
        elif item.line.role is LineRole.END_DIFF and opened:
            if not filled:
                raise PatchRefused(
                    RefusalCode.EMPTY_DIFF,
                    f"the <DIFF> at line {opened.number} of the answer holds no "
                    "'<<<<<<< SEARCH' line",
                    "write its change as SEARCH/REPLACE blocks",
                )
            opened = None
    if opened:
        raise _cut_off(
            f"the <DIFF> at line {opened.number} of the answer is never closed with </DIFF>"
        )


def _cut_off(fault: str) -> PatchRefused:
    return PatchRefused(RefusalCode.ANSWER_CUT_OFF, fault, SEND_AGAIN)
