"""Names that a mapping renames, but that a source does not have: slips, most likely."""

from collections.abc import Collection, Mapping

from colocate.errors import MOST_NAMES, InputError, closest
from colocate.fault import Fault
from colocate.inputs.observation.observation import Remark, SourceNote


def refuse_unmatched(mapping: Mapping[str, str], known: Collection[str]) -> None:
    """Refuse a mapping of models that a source, which was read whole, does not have.

    Parameters
    ----------
    mapping
        The model of the fleet that stands for each of the source.
    known
        All models of the source, by its own names.

    Raises
    ------
    InputError
        If it names others.
    """
    faults = [
        Fault(f"no model {name!r} in the source; {closest(name, known) or _those_there(known)}")
        for name in mapping
        if name not in known
    ]
    if faults:
        raise InputError(*faults)


def unmatched_notes(mapping: Mapping[str, str], known: Collection[str]) -> list[SourceNote]:
    """Return a note about a mapping of models that a source does not have, or has not lately.

    Parameters
    ----------
    mapping
        The model of the fleet that stands for each of the source.
    known
        The models of the source that were seen, by its own names.
    """
    unmatched = tuple(name for name in mapping if name not in known)
    return [SourceNote(Remark.UNMATCHED, unmatched, text=_those_there(known))] if unmatched else []


def _those_there(known: Collection[str]) -> str:
    names = sorted(known)
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"it has {', '.join(map(repr, names[:MOST_NAMES]))}{more}"
