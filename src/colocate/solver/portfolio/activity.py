"""What a search can do with its time, a few milliseconds at a time."""

from typing import Protocol

from colocate.solver.progress import ItemProgress

LONGEST_STEP = 2.0
"""Seconds that a step may take before it looks whether others have finished."""


class Activity(Protocol):
    """Something that moves the value down or the bound up."""

    share: float
    """How much of the time it should get, against the others."""
    handicap: float
    """Seconds of its share that the others have before it begins."""
    exhausted: bool
    """Whether there is nothing left for it to do."""

    def step(self, progress: ItemProgress) -> None:
        """Go on for a little while."""
