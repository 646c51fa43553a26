"""Fleets that are planted: models are put on GPUs first, and the case follows from their places.

All numbers are whole. Every GPU ends at exactly the same pressure in some window, so the load of
all models in it, over the memory that all GPUs have left, is a bound that the planted placement
reaches: the optimum of every case is known, and proven by one sum. Finding it again is the task.
"""

from typing import NamedTuple

import numpy as np
from numpy.random import RandomState

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.instance import Ints
from colocate.problem.problem import Problem
from colocate.problem.tolerance import TIE

PRESSURE = 4
"""The pressure of every GPU as planted. Whole loads then come in steps of a few percent of what a
GPU takes, so several placements are optimal, and none is found by looking for the one exact sum."""
STATED = 1 - TIE
"""Bounds are stated this little below what is proven: checkers grant GPUs a rounding of memory."""
EVENNESS = 1.5
"""Shape of the gamma distribution of shares: some models are several times larger than others."""


class FleetCase(NamedTuple):
    """A case with the best placement known, and the proof of a bound."""

    problem: Problem
    placement: dict[str, list[str]]
    """GPU names by model name."""
    value: float
    """Of that placement."""
    certificate: Certificate


def planted_case(problem: Problem, placement: dict[str, list[str]], window: int = 0) -> FleetCase:
    """Return a planted case.

    Parameters
    ----------
    problem
        The problem.
    placement
        Where its models were put.
    window
        A window in which every GPU has the planted pressure.
    """
    proof = Certificate(Proof.VOLUME, PRESSURE * STATED, window=window)
    return FleetCase(problem, placement, float(PRESSURE), proof)


def shares(draw: RandomState, total: int, parts: int, least: int = 0) -> Ints:
    """Cut a whole number into whole parts at random.

    Parameters
    ----------
    draw
        The source of randomness.
    total, parts
        What to cut, and into how many parts.
    least
        No part is smaller.
    """
    weight = draw.gamma(EVENNESS, 1.0, parts)
    cut: Ints = least + np.floor((total - least * parts) * weight / weight.sum()).astype(np.int64)
    for _ in range(total - int(cut.sum())):
        cut[draw.randint(parts)] += 1
    return cut
