"""How the demand for one model changes over time, piece by piece."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf

import numpy as np

from colocate.errors import InputError
from colocate.problem.quantity import checked_number
from colocate.simulate.demand.requests import Floats


@dataclass(frozen=True)
class RateCurve:
    """Factors by which requests to a model are more or fewer than its rate says.

    Parameters
    ----------
    starts
        The moments at which factors begin, in seconds, rising from 0. The last one holds for good.
    factors
        One for each of them; at 1 a model has its own rate, at 0 nobody asks it.
    """

    starts: tuple[float, ...]
    factors: tuple[float, ...]

    def __post_init__(self) -> None:
        starts, factors = (
            tuple(checked_number(value, (field, n)) for n, value in enumerate(values))
            for field, values in (("starts", self.starts), ("factors", self.factors))
        )
        if not starts or len(starts) != len(factors):
            raise InputError.of("factors", len(factors), f"as many as starts: {len(starts)}, not 0")
        if starts[0] != 0.0:
            raise InputError.of(("starts", 0), starts[0], "0, where time begins")
        for number, (early, late) in enumerate(pairwise(starts), 1):
            if not late > early:
                raise InputError.of(("starts", number), late, f"more than {early:g}")
        object.__setattr__(self, "starts", starts)
        object.__setattr__(self, "factors", factors)

    def mean(self, begin: float, end: float) -> float:
        """Return the mean of the factors between two moments."""
        edges = np.clip([*self.starts, inf], begin, end)
        return float(np.diff(edges) @ np.array(self.factors)) / (end - begin)

    def times(self, steady: Floats) -> Floats:
        """Return when requests come, given when they would if the factor was always 1."""
        knots, last = self._knots, self.factors[-1]
        times = np.interp(steady, knots, self.starts)
        beyond = steady > knots[-1]
        after = (steady[beyond] - knots[-1]) / last if last > 0.0 else inf
        times[beyond] = self.starts[-1] + after
        return np.maximum.accumulate(times)

    @cached_property
    def _knots(self) -> Floats:
        """The steady time that has passed at the begin of each factor."""
        passed = np.diff(self.starts) * np.array(self.factors[:-1])
        return np.concatenate(([0.0], np.cumsum(passed)))
