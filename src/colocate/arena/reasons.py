"""Why cases failed: groups with the same cause, each with its first case."""

from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

from colocate.outputs.text.sanitise import visible
from colocate.outputs.text.wording import amount, listed

MOST_NAMED = 3
"""Cases to name in each group; a group may be the whole suite."""
MOST_LINES = 12
"""Lines from the end of a traceback, where the fault is."""


class FailedCase(NamedTuple):
    """A case that failed."""

    case: str
    cause: Hashable
    """The cause that the cases of a group share; compared, never shown."""
    reason: str
    """A sentence with the details of this case."""
    traceback: str = ""
    ran: bool = True
    """Whether the case was put to the program; groups of those that were not come last."""


def reason_lines(failures: Iterable[FailedCase]) -> Iterator[str]:
    """Yield lines on why cases failed, the most frequent cause first, each with a traceback.

    Cases that were not run say nothing of their own, so they are last.
    """
    groups: dict[Hashable, list[FailedCase]] = {}
    for failed in failures:
        groups.setdefault(failed.cause, []).append(failed)
    for group in sorted(groups.values(), key=lambda group: (not group[0].ran, -len(group))):
        first = next((failed for failed in group if failed.traceback), group[0])
        yield f"{amount(len(group), 'case')}: {visible(first.reason)}"
        yield f"  {listed([failed.case for failed in group], MOST_NAMED)}"
        yield from (f"    {line}" for line in _end(first.traceback))


def _end(traceback: str) -> list[str]:
    lines = visible(traceback).rstrip().splitlines()
    return lines if len(lines) <= MOST_LINES else ["...", *lines[-MOST_LINES:]]
