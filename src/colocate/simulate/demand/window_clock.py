"""How demand follows the time windows of a fleet: a replay goes through all of them in turn."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from colocate.problem.problem import Problem
from colocate.simulate.demand.requests import Floats


@dataclass(frozen=True)
class WindowClock:
    """The time of one model in a replay that goes through all windows once.

    Parameters
    ----------
    factors
        The rate in every window, as a share of the highest.
    seconds
        How long each window lasts in the replay.
    """

    factors: tuple[float, ...]
    seconds: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean of the factors over the replay."""
        return float(self._knots[0][-1]) / sum(self.seconds)

    def times(self, steady: Floats) -> Floats:
        """Return the moments at which a steady demand would have had as many requests.

        Parameters
        ----------
        steady
            Times of a demand at its highest rate, never falling. What is left over at the end of
            the replay comes after it.
        """
        knots, moments = self._knots
        within = np.interp(steady, knots, moments)
        after = moments[-1] + (steady - knots[-1])
        times: Floats = np.where(steady < knots[-1], within, after)
        return times

    @cached_property
    def _knots(self) -> tuple[Floats, Floats]:
        """The steady time that has passed at the begin of each window, and its moment."""
        lasts = np.array(self.seconds)
        passed = np.concatenate(([0.0], np.cumsum(lasts * np.array(self.factors))))
        return passed, np.concatenate(([0.0], np.cumsum(lasts)))


def window_seconds(problem: Problem, seconds: float) -> tuple[float, ...]:
    """Return how long each window lasts in a replay: a share of it by the weight of the window."""
    weights = np.array([window.weight for window in problem.named_windows])
    return tuple((weights / weights.sum() * seconds).tolist())


def mean_rate(problem: Problem, rates: tuple[float, ...]) -> float:
    """Return the mean of a model's rates over all windows, by their weights."""
    weights = [window.weight for window in problem.named_windows]
    return sum(r * w for r, w in zip(rates, weights, strict=True)) / sum(weights)
