"""The best programs over the generations, and the scale of their plot."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, isnan, log10
from typing import Self

from colocate.lab.program import Program, best_first

FEWEST_NINES, MOST_NINES = 2, 6
"""Steps of the scale: up to 0.99 at least; beyond 0.999999 differences are rounding."""


@dataclass(frozen=True)
class Rung:
    """A program that was better than all before it."""

    generation: int
    number: int
    name: str
    score: float
    """The score on the public cases."""
    ratio: float
    """Mean ratio to the optimum over the public cases."""
    hidden: float
    """The same over the hidden cases; not a number if there are none."""

    @property
    def fitness(self) -> float:
        """The figure that ranks programs."""
        return self.ratio if isnan(self.hidden) else min(self.ratio, self.hidden)


def ladder(programs: Iterable[Program]) -> list[Rung]:
    """Return every new best program, in order."""
    rungs: list[Rung] = []
    best: Program | None = None
    for program in sorted(programs, key=lambda program: (program.generation, program.number)):
        if best is None or best_first([best, program])[0] is program:
            best = program
            rungs.append(_rung(program))
    return rungs


def _rung(program: Program) -> Rung:
    verdict = program.verdict
    place = program.generation, program.number, program.name
    return Rung(*place, verdict.score, verdict.ratio, verdict.hidden.ratio)


def fails(program: Program) -> bool:
    """Whether a program fails on any case."""
    return bool(program.verdict.public.failures or program.verdict.hidden.failures)


@dataclass(frozen=True)
class LadderScale:
    """Heights from 0, where all cases fail, to 1, the optimum.

    Each step up is ten times closer to the optimum. A run goes from 0.8 to 0.9 and then from 0.9991
    to 0.9993; on a linear scale, its second half would be a flat line. Programs that fail are at
    the bottom, and do not affect the scale.
    """

    nines: int
    """Steps below the last one, which leads to the optimum itself."""

    @classmethod
    def over(cls, programs: Iterable[Program]) -> Self:
        """Return the scale that separates the best programs."""
        gaps = [1 - program.verdict.fitness for program in programs]
        closest = min((gap for gap in gaps if gap > 0), default=1.0)
        return cls(min(max(ceil(-log10(closest)), FEWEST_NINES), MOST_NINES))

    @property
    def steps(self) -> int:
        """The number of steps between the ticks."""
        return self.nines + 1

    def height(self, fitness: float) -> float:
        """Return the height of a fitness."""
        gap = 1 - fitness
        return min(-log10(gap), self.nines) / self.steps if gap > 0 else 1.0

    def ticks(self) -> list[tuple[float, str]]:
        """Return heights to mark, with the share of the optimum that they stand for."""
        shares = [(nine / self.steps, f"{1 - 0.1**nine:.{nine}f}") for nine in range(self.steps)]
        return [*shares, (1.0, "1")]


def round_steps(last: int, most: int) -> list[int]:
    """Return at most about `most` whole numbers from 0 to `last`, evenly apart and easy to read."""
    least = max(last / most, 1)
    power = 10 ** floor(log10(least))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least)
    return list(range(0, last + 1, step))
