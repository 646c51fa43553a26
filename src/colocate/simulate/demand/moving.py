"""Demand whose rates change over time, for each model in its own way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from colocate.errors import InputError
from colocate.simulate.demand.arrivals import Asked, Clock
from colocate.simulate.demand.kinds import BurstDemand
from colocate.simulate.demand.rate_curve import RateCurve


@dataclass(frozen=True)
class MovingDemand(BurstDemand):
    """Requests whose rates change over time.

    Parameters
    ----------
    prompts, outputs, piece, variation
        As for `DayDemand`.
    curves
        How many times its rate each model is asked, by name; one without a curve has its rate.
    """

    variation: float = 1.0
    curves: Mapping[str, RateCurve] = field(default_factory=dict)

    def _clock(self, name: str) -> Clock | None:
        return self.curves.get(name)

    def _expected(self, asked: Sequence[Asked], seconds: float) -> float:
        unknown = sorted(self.curves.keys() - {each.name for each in asked})
        if unknown:
            raise InputError.of("curves", unknown[0], "the name of a model")
        return seconds * sum(
            each.rate * (curve.mean(0.0, seconds) if (curve := self.curves.get(each.name)) else 1.0)
            for each in asked
        )
