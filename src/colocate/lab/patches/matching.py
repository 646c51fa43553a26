"""Finds given lines in a program, or the lines most like them."""

from collections.abc import Sequence
from difflib import SequenceMatcher, get_close_matches

from colocate.lab.patches.evolve_block import bare
from colocate.lab.patches.refusal import PatchRefused, RefusalCode
from colocate.lab.patches.syntax import quoted_code

MOST_MATCHES = 10
"""Places to name; a text of equal lines has a match at each."""

MOST_COMPARED = 100
"""Lines of a search, and letters of a line, that are enough to find similar lines."""

MOST_SEARCHED = 5000
"""Lines of a program to examine for similar lines."""


def find_lines(lines: Sequence[str], wanted: Sequence[str], most: int) -> list[int]:
    """Return at most `most` indices where `wanted` stands as consecutive whole lines.

    Parameters
    ----------
    lines
        The lines of a program.
    wanted
        Lines to find.
    most
        How many indices are enough.
    """
    text = "\n".join(["", *lines, ""])
    pattern = "\n".join(["", *wanted, ""])
    found: list[int] = []
    line, seen, at = 0, 0, text.find(pattern)
    while at >= 0 and len(found) < most:
        line += text.count("\n", seen, at)
        found.append(line)
        seen, at = at, text.find(pattern, at + 1)
    return found


def place_of(
    wanted: Sequence[str], lines: Sequence[str], frame: tuple[int, int], where: str
) -> int:
    """Return the one place of `wanted` that touches the lines of `frame`.

    Exact matches come first. If there are none, whitespace at the ends of lines does not count.
    Lines wholly outside of `frame` cannot change, so they are no match.

    Parameters
    ----------
    wanted
        Lines to find.
    lines
        All lines of the program.
    frame
        The first and the last line that a change may touch.
    where
        The name of the change in messages.

    Raises
    ------
    PatchRefused
        If there is no such place, or more than one.
    """
    first = max(0, frame[0] - len(wanted) + 1)
    near = lines[first : frame[1] + len(wanted)]
    found = find_lines(near, wanted, MOST_MATCHES + 1)
    found = found or find_lines(bare(near), bare(wanted), MOST_MATCHES + 1)
    if len(found) == 1:
        return first + found[0]
    if found:
        places = _all_places([first + at + 1 for at in found])
        raise PatchRefused(
            RefusalCode.SEARCH_AMBIGUOUS,
            f"{where}: its SEARCH matches at lines {places}, must match at one",
            "add lines before or after it until it is unique",
        )
    outside = find_lines(bare(lines), bare(wanted), 1)
    if outside:
        raise PatchRefused(
            RefusalCode.SEARCH_OUTSIDE,
            f"{where}: its SEARCH stands at line {outside[0] + 1}, outside of the evolve block",
            f"change only lines {frame[0] + 2} to {frame[1]}",
        )
    raise PatchRefused(
        RefusalCode.SEARCH_NOT_FOUND,
        f"{where}: its SEARCH is nowhere in the program: {_nearest(wanted, lines)}",
        "copy the lines from the program as they are",
    )


def _all_places(numbers: Sequence[int]) -> str:
    named = ", ".join(str(number) for number in numbers[:MOST_MATCHES])
    return f"{named} and more" if len(numbers) > MOST_MATCHES else named


def _nearest(wanted: Sequence[str], lines: Sequence[str]) -> str:
    """Describe where the program departs from `wanted`, along the longest run of equal lines.

    Blank lines do not count in the run: too many places have them.
    """
    own, theirs = bare(lines), bare(wanted)
    own_at = [at for at, line in enumerate(own[:MOST_SEARCHED]) if line]
    their_at = [at for at, line in enumerate(theirs) if line][:MOST_COMPARED]
    told = [own[at] for at in own_at], [theirs[at] for at in their_at]
    run = SequenceMatcher(None, *told, autojunk=False).find_longest_match()
    if not run.size:
        return _most_alike(told[1][0], own)
    first, line_of_first = their_at[run.b], own_at[run.a]
    shift = line_of_first - first
    there = dict(enumerate(own, -shift))
    at = next(at for at, line in enumerate(theirs) if there.get(at) != line)
    if at in there:
        return _difference(f"line {at + 1} of it", theirs[at], shift + at + 1, there[at])
    edge = "before the first" if shift + at < 0 else "after the last"
    return (
        f"line {first + 1} of it is at line {line_of_first + 1}, but its line {at + 1}, "
        f"{quoted_code(theirs[at])}, would be {edge} line of the program"
    )


def _most_alike(line: str, own: Sequence[str]) -> str:
    numbers = {text[:MOST_COMPARED]: n for n, text in enumerate(own[:MOST_SEARCHED], 1) if text}
    near = get_close_matches(line[:MOST_COMPARED], numbers, n=1, cutoff=0.5)
    if not near:
        return f"nothing is like its first line, {quoted_code(line)}"
    number = numbers[near[0]]
    return _difference("its first line", line, number, own[number - 1])


def _difference(which: str, theirs: str, number: int, own: str) -> str:
    hint = ", so only the indentation differs" if theirs.strip() == own.strip() else ""
    return f"{which} is {quoted_code(theirs)}, nearest is line {number}, {quoted_code(own)}{hint}"
