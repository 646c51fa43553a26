"""Rates of models over time as strips, before it is decided how they are drawn."""

from typing import NamedTuple

import numpy as np

from colocate.inputs.observation.bins import coarse_rates
from colocate.inputs.observation.estimate import Floats
from colocate.inputs.observation.observation import Observation
from colocate.outputs.observation.words import shown_estimate

MOST_STRIPS = 40
"""Models that are drawn: of more, those with the highest rates."""


class DemandStrip(NamedTuple):
    """The rate of one model over time."""

    model: str
    begins: Floats
    """When each bin begins, in seconds from the first on."""
    rates: Floats
    """Requests a second in each; NaN where that is not known."""
    told: str
    """Its mean rate, in figures."""

    @property
    def peak(self) -> float:
        """The highest rate, 0 if none is known."""
        return float(np.nanmax(self.rates)) if np.isfinite(self.rates).any() else 0.0


def demand_strips(observation: Observation) -> list[DemandStrip]:
    """Return a strip for each model, in coarse bins, the highest rate first."""
    models = observation.models[:MOST_STRIPS]
    rates = coarse_rates(np.array([model.rates for model in models], dtype=np.float64))
    begins = np.arange(rates.shape[1], dtype=np.float64) * observation.coarse_seconds
    return [
        DemandStrip(model.name, begins, row, f"{shown_estimate(model.rate)} /s")
        for model, row in zip(models, rates, strict=True)
    ]


def runs_of(strip: DemandStrip) -> list[tuple[int, int]]:
    """Return the first and the last bin of each stretch of time that is known."""
    known = np.concatenate(([False], np.isfinite(strip.rates), [False]))
    edges = np.flatnonzero(known[1:] != known[:-1])
    return [(int(first), int(last) - 1) for first, last in edges.reshape(-1, 2)]
