"""Iterated local search: descend until stalled, kick, descend again."""

from typing import NamedTuple

from numpy.random import Generator

from colocate.problem.instance import Instance
from colocate.problem.kernel import entry_kernel
from colocate.problem.layout import NOWHERE, Layout, arrange
from colocate.solver.improve.accept import Accept
from colocate.solver.improve.bottleneck import random_bottleneck
from colocate.solver.improve.descent import Descent, find_move, make_move
from colocate.solver.improve.kicks import Kick, kick
from colocate.solver.improve.neighbourhood import relative_change, try_ruin
from colocate.solver.improve.ruin import Ruin


class Iterated(NamedTuple):
    """Descend off the bottleneck; when stalled, kick; then descend again.

    The search is stalled when no move helps, or after `patience` steps without a new best.
    """

    descent: Descent = Descent()
    kick: Kick = Kick.RANDOM_MOVE
    ruin: Ruin = Ruin()
    """How `Kick.RUIN` ruins."""
    accept: Accept = Accept(smoother=True, equal=0.1)
    """Which outcomes of `Kick.RUIN` are kept; other kicks are always kept."""
    steps: int = 500
    patience: int = 20
    tolerance: float = 1e-7

    def improve(self, instance: Instance, layout: Layout, rng: Generator) -> None:
        """Lower the peak of the layout in place."""
        iterate(instance, layout, self, rng)


@entry_kernel
def iterate(instance: Instance, layout: Layout, rule: Iterated, rng: Generator) -> None:
    """Run the state machine and leave the best placement seen in the layout.

    Parameters
    ----------
    instance, layout : the problem as arrays, and where every model is now
    rule : when to move, when to kick and when to end
    rng : the source of all random draws
    """
    best = layout.gpu_of.copy()
    lowest = layout.pressure.max()
    # Without load there is nothing to lower.
    if lowest == 0.0:
        return
    stalled = 0
    kicks = 0
    for _ in range(rule.steps):
        if layout.go[0] == 0:
            break
        source = random_bottleneck(layout, 1.0 - rule.tolerance, rng)
        if stalled <= rule.patience:
            chosen = find_move(instance, layout, source, rule.descent)
            if chosen.model == NOWHERE:
                # No move helps: the counter below makes the next step a kick.
                stalled = rule.patience
            else:
                make_move(instance, layout, chosen)
        elif rule.kick == Kick.RUIN:
            patient = kicks <= rule.patience
            kicks += 1
            if try_ruin(instance, layout, rule.ruin, rule.accept, patient, rule.tolerance, rng):
                # The counter below brings it to 0: descent gets its full patience after a kick.
                stalled = -1
        else:
            kick(instance, layout, rule.kick, kicks + 1, rng)
            kicks += 1
            stalled = -1
        peak = layout.pressure.max()
        stalled += 1
        if relative_change(peak, lowest) < -rule.tolerance:
            best[:] = layout.gpu_of
            lowest = peak
            kicks = 0
            stalled = 0
    arrange(instance, layout, best)
