"""Checks of the names in a placement, and sentences about them: the words may be a program's."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from colocate.arena.case_verdict import Failure
from colocate.outputs.text.wording import listed, quoted

MOST_NAMES = 3
"""Names that a sentence lists before it counts the rest."""


def fault_of_names(names: Sequence[str], count: Counter[str]) -> tuple[Failure, str] | None:
    """Return what is wrong with the models of a placement, if anything is.

    Parameters
    ----------
    names
        The models of the case.
    count
        How often the placement has each name.
    """
    known = set(names)
    unknown = [name for name in count if name not in known]
    missing = [name for name in names if name not in count]
    repeated = [name for name in names if count[name] > 1]
    if unknown:
        return Failure.UNKNOWN_MODEL, f"there is no model {listed_few(unknown)}"
    if missing:
        return Failure.MISSING_MODEL, f"{listed_few(missing)} of {len(names)} on no GPU"
    if repeated:
        return Failure.REPEATED_MODEL, f"{listed_few(repeated)} placed more than once"
    return None


def listed_few(things: Sequence[Any], shown: Callable[[Any], str] = quoted) -> str:
    """List the first of many things; only these are sanitised for display."""
    first = [shown(thing) for thing in things[:MOST_NAMES]]
    return listed([*first, *things[MOST_NAMES:]], MOST_NAMES)
