"""Large neighbourhood search: ruin and recreate again and again."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from colocate.problem.instance import Instance
from colocate.problem.kernel import entry_kernel, kernel, kernel_section
from colocate.problem.layout import Layout, arrange
from colocate.problem.pressure import lower
from colocate.solver.improve.accept import Accept, accepts
from colocate.solver.improve.ruin import Ruin, rearrange, restore, ruined_gpus, sum_of_squares


class LargeNeighbourhood(NamedTuple):
    """Ruin and recreate again and again; the best placement seen is kept."""

    ruin: Ruin = Ruin()
    accept: Accept = Accept()
    steps: int = 500
    patience: int = 30
    tolerance: float = 1e-6

    def improve(self, instance: Instance, layout: Layout, rng: Generator) -> None:
        """Lower the peak of the layout in place."""
        search_large(instance, layout, self, rng)


@kernel
def relative_change(new: float, old: float) -> float:
    """Return the change as a share of the old value; 0 if both are infinite or zero."""
    if new == old:
        return 0.0
    # From infinite to finite is as good as a change can be.
    if np.isinf(old):
        return -1.0
    if np.isinf(new) or old == 0.0:
        return np.inf
    return (new - old) / old


@kernel_section
def try_ruin(
    instance: Instance,
    layout: Layout,
    ruin: Ruin,
    accept: Accept,
    patient: bool,
    tolerance: float,
    rng: Generator,
) -> bool:
    """Ruin and recreate once; undo it unless it is accepted.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    ruin : which GPUs are emptied, and how they are refilled
    accept : which outcomes are kept
    patient : whether patience has not run out yet
    tolerance : the share of the peak below which two peaks are equal
    rng : the source of all random draws
    """
    before = layout.pressure.max()
    others = ruin.others if patient else ruin.others + ruin.more_when_stalled
    gpus = ruined_gpus(layout, ruin, others, rng)
    squares = sum_of_squares(layout, gpus)
    worked, models, homes = rearrange(instance, layout, gpus, ruin.recreate, rng)
    if not worked:
        return False
    # Only the ruined GPUs changed, so their squares tell how all squares changed.
    smoother = lower(sum_of_squares(layout, gpus), squares)
    change = relative_change(layout.pressure.max(), before)
    if accepts(accept, change, smoother, patient, tolerance, rng):
        return True
    restore(instance, layout, models, homes)
    return False


@entry_kernel
def search_large(
    instance: Instance, layout: Layout, rule: LargeNeighbourhood, rng: Generator
) -> None:
    """Run the search and leave the best placement seen in the layout.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    rule : what to ruin, and which outcomes to keep
    rng : the source of all random draws
    """
    best = layout.gpu_of.copy()
    lowest = layout.pressure.max()
    if lowest == 0.0:
        return
    stalled = 0
    for _ in range(rule.steps):
        if layout.go[0] == 0:
            break
        # Out of patience, ruins grow and worse outcomes may be kept.
        patient = stalled <= rule.patience
        try_ruin(instance, layout, rule.ruin, rule.accept, patient, rule.tolerance, rng)
        peak = layout.pressure.max()
        stalled += 1
        if relative_change(peak, lowest) < -rule.tolerance:
            best[:] = layout.gpu_of
            lowest = peak
            stalled = 0
    arrange(instance, layout, best)
