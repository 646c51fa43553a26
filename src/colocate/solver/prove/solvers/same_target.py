"""Replace a target by an equivalent one, far from every pressure that a GPU can have.

Where sizes are multiples of one unit and loads of another, the pressures of GPUs are fractions with
small denominators. All targets between two neighbouring fractions mean the same. In the middle,
rounding does not matter, so programs need no fine numbers to tell what is within the target.
"""

from collections.abc import Iterable
from fractions import Fraction
from math import inf, lcm

from colocate.problem.problem import Problem
from colocate.problem.tolerance import NEAREST_FLOAT, UNIT_MARGIN
from colocate.solver.prove.solvers.choices import Choice

FINEST = 10_000
"""The smallest unit of a single number, as a fraction of one."""
MOST_UNITS = 40_000
"""The most units of size in a GPU for which floats are close enough to what they stand for."""


def robust_target(problem: Problem, choices: Iterable[Iterable[Choice]], target: float) -> float:
    """Return the middle between the pressures next to a target, or the target if that is no help.

    No GPU can have a pressure between the two.

    Parameters
    ----------
    problem, choices, target
        What is to be placed, the replicas every model may have, and the highest pressure allowed.
    """
    if not 0.0 < target < inf:
        return target
    parts = [choice.part for options in choices for choice in options]
    memories = [gpu.memory_gb for gpu in problem.gpus]
    sizes = _denominator([*memories, *(part.size_gb for part in parts)])
    loads = _denominator(load for part in parts for load in part.load)
    if not sizes or not loads or max(memories) * sizes > MOST_UNITS:
        return target
    unit = Fraction(sizes, loads)
    below, above = _neighbours(
        Fraction(target) * (1 + UNIT_MARGIN) / unit, round(max(memories) * sizes)
    )
    if above - below <= 8 * UNIT_MARGIN * above:
        return target
    return float((below + above) / 2 * unit)


def _denominator(values: Iterable[float]) -> int:
    """Return a factor that makes all values whole, up to rounding; 0 if there is none."""
    common = 1
    for value in set(values):
        near = Fraction(value).limit_denominator(FINEST)
        if abs(near - Fraction(value)) > NEAREST_FLOAT * Fraction(value):
            return 0
        common = lcm(common, near.denominator)
        if common > MOST_UNITS:
            return 0
    return common


def _neighbours(value: Fraction, most: int) -> tuple[Fraction, Fraction]:
    """Return the two fractions next to a value, with denominators up to a limit.

    The first is at or below the value, the second above it. This walks down the tree of Stern and
    Brocot, many steps at a time.
    """
    below, above = (0, 1), (1, 0)
    while True:
        moved = False
        gap = value * below[1] - below[0]
        reach = above[0] - value * above[1]
        steps = _steps(gap, reach, below[1], above[1], most)
        if steps:
            below, moved = (below[0] + steps * above[0], below[1] + steps * above[1]), True
        gap = value * below[1] - below[0]
        steps = _steps_below(reach, gap, above[1], below[1], most)
        if steps:
            above, moved = (above[0] + steps * below[0], above[1] + steps * below[1]), True
        if not moved:
            return Fraction(*below), Fraction(*above)


def _steps(gap: Fraction, reach: Fraction, own: int, other: int, most: int) -> int:
    """Count the steps with which the lower neighbour stays at or below the value."""
    steps = gap // reach
    return steps if not other else min(steps, (most - own) // other)


def _steps_below(reach: Fraction, gap: Fraction, own: int, other: int, most: int) -> int:
    """Count the steps with which the upper neighbour stays above the value."""
    limit = (most - own) // other
    if gap == 0:
        return limit
    steps = reach // gap
    if reach == steps * gap:
        steps -= 1
    return max(min(steps, limit), 0)
