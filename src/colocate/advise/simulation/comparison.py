"""The same requests on several placements: which is better, and whether that may be chance."""

from dataclasses import dataclass
from enum import Enum

from colocate.advise.simulation.intervals import Interval, interval_of
from colocate.advise.simulation.means import Simulations, attainment_of, goodput_of
from colocate.advise.simulation.verdicts import ModelReplay, TargetOutcome


class Difference(Enum):
    """What a comparison comes to."""

    SAME = "the same"
    BETTER = "better"
    WORSE = "worse"
    CHANCE = "may be chance"
    UNSURE = "one seed"
    """There is a difference; one seed does not tell whether it is chance."""


@dataclass(frozen=True)
class SimulatedWay:
    """A placement and what its users felt.

    Parameters
    ----------
    name
        What to call it.
    found
        What the replays gave.
    models
        What the users of every model felt.
    """

    name: str
    found: Simulations
    models: tuple[ModelReplay, ...]

    @property
    def worst(self) -> ModelReplay:
        """The model with the smallest share of requests in time, of those with one to judge."""
        judged = [each for each in self.models if each.found.judged.mean]
        return min(judged or self.models, key=lambda each: each.found.attainment.mean)

    @property
    def judged_requests(self) -> float:
        """How many requests kept or missed their targets, on average over seeds."""
        return sum(each.found.judged.mean for each in self.models)

    def count(self, outcome: TargetOutcome) -> int:
        """How many models have this outcome."""
        return sum(each.outcome is outcome for each in self.models)

    @property
    def kept(self) -> int:
        """How many models kept targets that they state."""
        return self.count(TargetOutcome.KEPT)

    @property
    def judged(self) -> int:
        """How many models kept or missed targets; nothing is known of the others."""
        return self.kept + self.count(TargetOutcome.MISSED)


@dataclass(frozen=True)
class WayDifference:
    """Another way less the first one, seed by seed on the same requests."""

    goodput: Interval
    attainment: Interval

    @property
    def verdict(self) -> Difference:
        """Whether the other way is better: by goodput, then by the share of requests in time."""
        told = self.goodput if self.goodput.mean or self.goodput.half else self.attainment
        if told.mean == 0.0 and not told.half:
            return Difference.SAME
        if told.half is None:
            return Difference.UNSURE
        if not told.beyond_chance:
            return Difference.CHANCE
        return Difference.BETTER if told.mean > 0.0 else Difference.WORSE


def difference(first: Simulations, other: Simulations) -> WayDifference:
    """Compare two placements on the same seeds."""
    pairs = list(zip(first.runs, other.runs, strict=True))
    return WayDifference(
        interval_of([goodput_of(b) - goodput_of(a) for a, b in pairs]),
        interval_of([attainment_of(b) - attainment_of(a) for a, b in pairs]),
    )
