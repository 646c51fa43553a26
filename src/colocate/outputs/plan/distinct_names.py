"""Names cut to their room, so that no two different ones look alike."""

from collections.abc import Callable, Sequence
from itertools import takewhile

Fitting = Callable[[str, float], str]
"""Cuts a text to a room; nothing is left of it if that is almost none."""
BETWEEN_WORDS = "-_./: "


def distinct_names(names: Sequence[tuple[str, float]], fitting: Fitting) -> list[str]:
    """Return names cut to their room; of two that would look alike, from the word on that differs.

    Where even those look alike, a number stands in front, or nothing at all if there is no room.

    Parameters
    ----------
    names
        Each with its room; one name may come several times.
    fitting
        Cuts a text to a room.
    """
    shown = [fitting(name, room) for name, room in names]
    for cut in (_differing, _numbered):
        for places in _alike(names, shown):
            group = list(dict.fromkeys(names[place][0] for place in places))
            for place in places:
                name, room = names[place]
                shown[place] = fitting(cut(name, group), room)
    for places in _alike(names, shown):
        for place in places:
            shown[place] = ""
    return shown


def _alike(names: Sequence[tuple[str, float]], shown: Sequence[str]) -> list[list[int]]:
    """Return the places of different names that look alike."""
    by_text: dict[str, list[int]] = {}
    for place, text in enumerate(shown):
        if text:
            by_text.setdefault(text, []).append(place)
    return [places for places in by_text.values() if len({names[place][0] for place in places}) > 1]


def _differing(name: str, group: Sequence[str]) -> str:
    """Return a name from the word on in which the names of a group differ first."""
    letters = takewhile(lambda each: len(set(each)) == 1, zip(*group, strict=False))
    same = "".join(each[0] for each in letters)
    begin = max(same.rfind(mark) for mark in BETWEEN_WORDS) + 1
    return f"…{name[begin:]}" if begin else name


def _numbered(name: str, group: Sequence[str]) -> str:
    return f"{group.index(name) + 1}: {name}"
