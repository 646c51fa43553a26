"""A program of the archive, with the referee's verdict on it."""

from collections.abc import Sequence
from dataclasses import dataclass

from colocate.arena.verdict import Verdict


@dataclass(frozen=True)
class Program:
    """A program of the archive.

    Parameters
    ----------
    number
        Its place in the archive; 0 is the start.
    name, description
        Its name and description by its proposer.
    source
        Its text.
    verdict
        The referee's verdict on it.
    parents
        Numbers of the programs that it was made of; the start has none.
    generation, island
        When and where it was made.
    """

    number: int
    name: str
    description: str
    source: str
    verdict: Verdict
    parents: tuple[int, ...] = ()
    generation: int = 0
    island: int = 0


def best_first(programs: Sequence[Program]) -> list[Program]:
    """Return programs by fitness; among equals, the older one first."""
    return sorted(programs, key=lambda p: (-p.verdict.fitness, p.number))
