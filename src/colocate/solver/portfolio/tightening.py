"""Tightening: fills the whole fleet to a target a little above the bound, then repairs it.

Tight fit leaves a few items over. They go where most room is left, which lifts these GPUs above the
target. Regrouping then brings them below it. Targets approach the bound: a third of the gap after
a success, more after a failure.
"""

from math import isfinite, sqrt

import numpy as np

from colocate.problem.instance import Bools, Instance, confined, own_units
from colocate.problem.layout import NOWHERE, Layout, empty, empty_layout
from colocate.problem.reduction import Reduction
from colocate.problem.tolerance import JUST_ABOVE, SMALLEST_GAP
from colocate.solver.construct.filling import fill, filling_order
from colocate.solver.construct.tight_fit import fill_tightly
from colocate.solver.construct.vector_fit import fill_vectors
from colocate.solver.deadline import Deadline
from colocate.solver.improve.regroup import bold_pace, regroup
from colocate.solver.improve.shard_moves import nodes_of_shards
from colocate.solver.plan import gap_between
from colocate.solver.portfolio.regrouping import nodes_of_step
from colocate.solver.progress import ItemProgress

STEPS = 20
"""Steps of the first repair; later ones have more."""
ROUNDS, MOST_ROUNDS = 1.0, 1000
"""A vector fit tries ROUNDS divided by the target's gap ways to fill a GPU, at most MOST_ROUNDS."""
MOST_EFFORT = 81
"""The highest effort after many failures, as a multiple of the first."""
PATIENCE = 20
"""Failures in a row to fill the fleet after which it gives up."""
AIM = 1.0 / 3.0
"""The first target, as a share of the gap."""
CLOSE = 1.2
"""The gap that was reached and the gap that failed have met if their ratio is below this."""
LEAST_SHARE = 0.05
"""Its lowest share of the time, after many failures."""


class Tightening:
    """An activity that looks for placements at targets between the bound and the value.

    Parameters
    ----------
    reduction, deadline, seed
        As `Regrouping` takes them.
    """

    handicap = 0.0

    def __init__(self, reduction: Reduction, deadline: Deadline, seed: int) -> None:
        self._open = reduction.canonical
        self._instance = reduction.canonical
        self._deadline = deadline
        self._layout = empty_layout(reduction.canonical, deadline.go)
        self._rng = np.random.default_rng(seed)
        size_unit, load_unit = own_units(reduction.instance)
        self._unit = load_unit / size_unit
        self._row = np.argsort(-reduction.canonical.capacity, kind="stable")
        self._nodes = nodes_of_step(reduction)
        self._failed = 0.0
        self._target = 0.0
        self._left = 0
        self._effort = 1
        self._unfilled = 0
        self.share = 1.0
        self.exhausted = False

    def step(self, progress: ItemProgress) -> None:
        """Fill the fleet again, or continue the repair."""
        if not isfinite(progress.value) or progress.bound == 0.0:
            self.exhausted = True
            return
        if self._left:
            self._left -= 1
            target, pace = self._target, self._pace
            regroup(self._instance, self._layout, self._rng, target, pace, self._nodes)
        elif not self._begin(progress):
            return
        self._conclude(progress)

    def _begin(self, progress: ItemProgress) -> bool:
        """Choose a target and fill the fleet to it; return False if that fails."""
        reached = gap_between(progress.value, progress.bound)
        if reached < self._failed * CLOSE:
            self._failed = 0.0
            self._effort = min(3 * self._effort, MOST_EFFORT)
        wanted = sqrt(reached * self._failed) if self._failed else reached * AIM
        if wanted < SMALLEST_GAP:
            self.exhausted = True
            return False
        self._target = progress.bound / self._unit * (1.0 + wanted)
        with self._deadline.watched():
            rounds = min(int(ROUNDS / wanted) + 1, MOST_ROUNDS) * self._effort
            filled = self._filled(self._target, rounds)
        self._unfilled = 0 if filled else self._unfilled + 1
        if not filled:
            self._fail(wanted)
            self.exhausted = self._unfilled == PATIENCE
            return False
        self._pace = bold_pace()
        homes = nodes_of_shards(self._open, self._layout.gpu_of)
        self._instance = confined(self._open, homes)
        self._left = STEPS * self._effort
        return True

    def _conclude(self, progress: ItemProgress) -> None:
        """Check whether the target is reached, or give up the repair."""
        value = float(self._layout.pressure.max())
        if value <= self._target * JUST_ABOVE:
            progress.offer(self._layout.gpu_of, "tight fit")
            self._left = 0
            self.share = 1.0
        elif self._left == 0:
            self._fail(gap_between(self._target * self._unit, progress.bound))
            if value * self._unit < progress.value:
                progress.offer(self._layout.gpu_of, "tight fit")

    def _fail(self, gap: float) -> None:
        """Aim higher next time, and leave more of the time to others."""
        self._failed = gap
        self.share = max(self.share / 2.0, LEAST_SHARE)

    def _filled(self, target: float, rounds: int) -> bool:
        """Place the items bound by rules, then the others tightly, then the leftovers."""
        instance, layout = self._open, self._layout
        empty(layout)
        order = filling_order(instance, target)
        bound = order[_bound_by_rules(instance)[order]]
        if fill(instance, layout, bound, target, self._rng):
            return False
        if self._fill(instance, layout, target, rounds):
            over = order[layout.gpu_of[order] == NOWHERE]
            return fill(instance, layout, over, target, self._rng) == 0
        return True

    def _fill(self, instance: Instance, layout: Layout, target: float, rounds: int) -> int:
        """Fill one GPU after another; return how many items are left over."""
        if instance.load.shape[1] == 1:
            return fill_tightly(instance, layout, self._row, target)
        return fill_vectors(instance, layout, self._row, target, rounds, self._rng)


def _bound_by_rules(instance: Instance) -> Bools:
    """Return which items are not free to go on any GPU with any other item."""
    rules = instance.rules
    return (rules.pin > 0) | (rules.shard_group >= 0) | rules.coloured
