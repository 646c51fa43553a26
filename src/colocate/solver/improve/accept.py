"""Which changes to a placement are kept."""

from typing import NamedTuple

from numpy.random import Generator

from colocate.problem.kernel import kernel


class Accept(NamedTuple):
    """Which changes are kept besides those that lower the peak."""

    smoother: bool = False
    """An equal peak with a lower sum of squared pressures."""
    equal: float = 1.0
    """Probability of keeping any other equal peak; 1 walks along plateaus."""
    worse: float = 0.0
    """Probability of keeping a higher peak once patience has run out."""


@kernel
def accepts(
    rule: Accept,
    change: float,
    smoother: bool,
    patient: bool,
    tolerance: float,
    rng: Generator,
) -> bool:
    """Return whether a change is kept.

    Parameters
    ----------
    rule : what is kept besides better peaks
    change : the new peak less the old one, as a share of the old one
    smoother : whether the sum of squared pressures went down
    patient : whether patience has not run out yet
    tolerance : the share of the peak below which two peaks are equal
    rng : the source of all random draws
    """
    if change < -tolerance:
        return True
    # Equal up to rounding: walking along plateaus finds ways down that descent misses.
    if change <= tolerance:
        return (rule.smoother and smoother) or rng.random() < rule.equal
    return not patient and rng.random() < rule.worse
