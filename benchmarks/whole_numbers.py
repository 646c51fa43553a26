"""A placement problem in exact numbers, as the peers are given it.

Numbers are read as they were written (12.3 GB is 123/10, a load is rate over SLO), multiplied by
their least common denominator. One window and no further resources, which is what all suites have.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, lcm

from colocate import Model, Placement, Problem, verify

BELOW = 1 - Fraction(1, 10**9)
"""What is better by less than this is not asked for where numbers must be rounded."""


@dataclass(frozen=True)
class WholeNumbers:
    """Loads, sizes and capacities as integers, and what one unit of pressure is worth."""

    loads: tuple[int, ...]
    sizes: tuple[int, ...]
    capacities: tuple[int, ...]
    unit: Fraction
    """Pressure of one unit of load on one unit of free memory."""

    @property
    def volume_bound(self) -> Fraction:
        """The pressure of a single GPU as large as all of them together."""
        free = sum(self.capacities) - sum(self.sizes)
        return Fraction(sum(self.loads), free) if free > 0 else Fraction(0)

    @property
    def ceiling(self) -> Fraction:
        """A pressure above every finite one: all the load on the least free memory."""
        return Fraction(sum(self.loads) + 1)

    def peak(self, gpu_of: Sequence[int]) -> Fraction | None:
        """Return the highest pressure of a placement; None if it does not fit."""
        loads, free = [0] * len(self.capacities), list(self.capacities)
        for load, size, gpu in zip(self.loads, self.sizes, gpu_of, strict=True):
            loads[gpu] += load
            free[gpu] -= size
        if any(f < 0 or (f == 0 and load) for load, f in zip(loads, free, strict=True)):
            return None
        pairs = zip(loads, free, strict=True)
        return max(Fraction(load, f) if load else Fraction(0) for load, f in pairs)


def whole_numbers(problem: Problem) -> WholeNumbers:
    loads = [_load(model) for model in problem.models]
    sizes = [_read(model.size_gb) for model in problem.models]
    capacities = [_read(gpu.memory_gb) for gpu in problem.gpus]
    load_unit = Fraction(1, lcm(*(load.denominator for load in loads)))
    size_unit = Fraction(1, lcm(*(number.denominator for number in sizes + capacities)))
    return WholeNumbers(
        tuple(int(load / load_unit) for load in loads),
        tuple(int(size / size_unit) for size in sizes),
        tuple(int(capacity / size_unit) for capacity in capacities),
        load_unit / size_unit,
    )


def judged(problem: Problem, gpu_of: Sequence[int] | None) -> float:
    """Return the peak pressure by the independent checker; infinite if there is no placement."""
    if gpu_of is None:
        return inf
    return verify(problem, Placement.from_indices(problem, gpu_of)).pressure


def _load(model: Model) -> Fraction:
    if len(model.load) > 1 or model.uses:
        raise ValueError(f"model {model.name!r}: more than one window or resource")
    if model.rate is None or model.slo is None:
        return _read(model.load[0])
    return _read(model.rate) / _read(model.slo)


def _read(number: float) -> Fraction:
    return Fraction(repr(float(number)))
