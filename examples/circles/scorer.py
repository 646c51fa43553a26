"""Judges packings of circles in the unit square, in exact numbers."""

from fractions import Fraction
from itertools import combinations

COUNT = 26
TOLERANCE = Fraction(1, 10**9)
"""How far a circle may reach outside or into another one: what rounding in a program may cost."""


def cases(seed):
    """Return the only case there is; a seed changes nothing."""
    return [{"name": str(COUNT), "arguments": [COUNT]}]


def score(arguments, answer):
    """Return the sum of the radii, or why the packing is not valid."""
    (count,) = arguments
    if not isinstance(answer, list) or len(answer) != count:
        found = f"{len(answer)} circles" if isinstance(answer, list) else type(answer).__name__
        return f"found {found}, must be a list of {count} circles"
    for number, circle in enumerate(answer):
        if not isinstance(circle, list) or len(circle) != 3 or not all(map(is_number, circle)):
            return f"circle {number} is not three numbers x, y, r"
    exact = [tuple(map(Fraction, circle)) for circle in answer]
    return fault_of(exact) or float(sum(radius for _, _, radius in exact))


def is_number(value):
    """Whether a value is a number of a usual size; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e6


def fault_of(circles):
    """Return the first rule that a packing breaks, in words; nothing if it is valid."""
    for number, (x, y, radius) in enumerate(circles):
        if radius < 0:
            return f"circle {number} has the radius {float(radius)}, must be at least 0"
        if not all(radius - TOLERANCE <= place <= 1 - radius + TOLERANCE for place in (x, y)):
            return f"circle {number} reaches outside of the square"
    for (one, (x, y, r)), (other, (v, w, s)) in combinations(enumerate(circles), 2):
        apart = r + s - TOLERANCE
        if apart > 0 and (x - v) ** 2 + (y - w) ** 2 < apart**2:
            return f"circles {one} and {other} overlap"
    return ""
