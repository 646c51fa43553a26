"""Regrouping: empties the bottleneck and a few other GPUs, and fills them again."""

from math import ceil

import numpy as np

from colocate.problem.instance import confined, own_units
from colocate.problem.layout import arrange, empty_layout
from colocate.problem.reduction import Reduction
from colocate.solver.deadline import Deadline
from colocate.solver.improve.regroup import fresh_pace, regroup
from colocate.solver.improve.shard_moves import (
    move_shard_groups,
    nodes_of_shards,
    scatter_shards,
    shard_groups_in,
)
from colocate.solver.progress import ItemProgress

NODES, NODES_OF_ITEM = 4000, 4
"""Nodes of one regrouping step, and extra nodes per item: rating the result of a step takes longer
in a larger fleet."""
WINDOWS_OF_NODE = 8
"""Windows of an item that take as long to rate as one: they are added up in vector instructions."""
PATIENCE = 300
"""Steps without an improvement after which a shard group moves at random."""
SHARD_GROUP_TRIES = 20
"""Moves of shard groups to try after every regrouping."""


def nodes_of_step(reduction: Reduction) -> int:
    """Return how many nodes one regrouping step searches."""
    of_windows = ceil(reduction.whole.windows / WINDOWS_OF_NODE)
    return NODES + len(reduction.items) * (NODES_OF_ITEM + of_windows)


class Regrouping:
    """Regroup around the bottleneck of the best placement; shard groups move as a whole.

    Parameters
    ----------
    reduction
        The problem as items.
    deadline
        When to end.
    seed
        Decides every random choice.
    """

    share, handicap = 1.0, 0.0

    def __init__(self, reduction: Reduction, deadline: Deadline, seed: int) -> None:
        self._open = reduction.canonical
        self._instance = reduction.canonical
        self._layout = empty_layout(reduction.canonical, deadline.go)
        self._shard_groups = shard_groups_in(reduction.canonical)
        self._value = np.inf
        self._rng = np.random.default_rng(seed)
        self._pace = fresh_pace()
        size_unit, load_unit = own_units(reduction.instance)
        self._unit = load_unit / size_unit
        self._nodes = nodes_of_step(reduction)
        self._stuck = 0
        self.exhausted = len(reduction.whole.gpus) < 2

    def step(self, progress: ItemProgress) -> None:
        """Search a few thousand nodes."""
        best, value = progress.best
        if value < self._value or self._layout.gpu_of[0] < 0:
            arrange(self._open, self._layout, best)
            self._value = value
            self._confine()
        bound = progress.bound / self._unit
        moved = regroup(self._instance, self._layout, self._rng, bound, self._pace, self._nodes)
        if len(self._shard_groups.first) and move_shard_groups(
            self._open, self._layout, self._shard_groups, self._rng, SHARD_GROUP_TRIES
        ):
            moved = True
            self._confine()
        self._stuck = 0 if moved else self._stuck + 1
        if moved:
            self._value = min(self._value, progress.offer(self._layout.gpu_of, "regrouping"))
        if self._stuck > PATIENCE and len(self._shard_groups.first):
            self._start_nearby(progress)

    def _start_nearby(self, progress: ItemProgress) -> None:
        """Continue from the best known placement with one shard group moved."""
        arrange(self._open, self._layout, progress.best[0])
        scatter_shards(self._open, self._layout, self._shard_groups, self._rng)
        self._confine()
        self._pace = fresh_pace()
        self._stuck = 0

    def _confine(self) -> None:
        """Keep shard groups on their nodes while items are regrouped."""
        if len(self._shard_groups.first):
            homes = nodes_of_shards(self._open, self._layout.gpu_of)
            self._instance = confined(self._open, homes)
