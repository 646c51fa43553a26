"""Why cases failed: those with the same reason told together, with the first of them."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from colocate.outputs.text.sanitise import visible
from colocate.outputs.text.wording import amount, listed

PARTICULAR = r"(?:'[^']*'|\"[^\"]*\"|\d+(?:\.\d+)?)"
PARTICULARS = re.compile(rf"{PARTICULAR}(?:(?:, | and ){PARTICULAR})*(?: more)?")
"""What tells sentences with the same cause apart: quotes and numbers, and lists of them."""
MOST_NAMED = 3
MOST_LINES = 12
"""Of a traceback: its end, where the fault is."""


class FailedCase(NamedTuple):
    """A case that failed."""

    case: str
    reason: str
    traceback: str = ""


def reason_lines(failures: Iterable[FailedCase]) -> Iterator[str]:
    """Yield lines on why cases failed, the most frequent reason first, each with a traceback."""
    groups: dict[str, list[FailedCase]] = {}
    for failed in failures:
        groups.setdefault(PARTICULARS.sub("…", failed.reason), []).append(failed)
    for group in sorted(groups.values(), key=len, reverse=True):
        first = next((failed for failed in group if failed.traceback), group[0])
        yield f"{amount(len(group), 'case')}: {visible(first.reason)}"
        yield f"  {listed([failed.case for failed in group], MOST_NAMED)}"
        yield from (f"    {line}" for line in _end(first.traceback))


def _end(traceback: str) -> list[str]:
    lines = visible(traceback).rstrip().splitlines()
    return lines if len(lines) <= MOST_LINES else ["...", *lines[-MOST_LINES:]]
