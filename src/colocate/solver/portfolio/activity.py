"""An activity of a search, which runs a few milliseconds at a time."""

from typing import Protocol

from colocate.solver.progress import ItemProgress

LONGEST_STEP = 2.0
"""Seconds that a step may take before it checks whether the search has finished."""


class Activity(Protocol):
    """Something that moves the value down or the bound up."""

    share: float
    """Its share of the time, relative to the others."""
    handicap: float
    """Seconds that count as spent when it begins, so that the others go first."""
    exhausted: bool
    """Whether it has nothing left to do."""

    def step(self, progress: ItemProgress) -> None:
        """Continue for a short time."""
