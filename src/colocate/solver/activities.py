"""What a solve can do with its time, a few milliseconds at a time."""

from math import isfinite
from typing import Protocol

import numpy as np

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.instance import confined, own_units
from colocate.problem.layout import arrange, empty_layout
from colocate.problem.reduction import Reduction
from colocate.solver.construct.completion import Outcome
from colocate.solver.construct.task import FINITE
from colocate.solver.deadline import Deadline
from colocate.solver.improve.regroup import fresh_pace, regroup
from colocate.solver.improve.shard_moves import (
    move_shard_groups,
    nodes_of_shards,
    scatter_shards,
    shard_groups_in,
)
from colocate.solver.progress import CHECK_SYMBOL, Alarm, Progress
from colocate.solver.prove.tree import search_with_proof
from colocate.solver.prove.two_solvers import search_all

FEWEST_NODES = 6000
"""Nodes of the first exhaustive search."""
LONGEST_STEP = 2.0
"""Seconds that a search may take before it looks whether others have finished."""
LADDER, TOP = 4.0, 1e12
"""Where no finite pressure is known: the step between multiples of the bound, and the last one."""
NODES, NODES_OF_ITEM = 4000, 4
"""Nodes of a step of regrouping, and more for every item and window: what was found is then rated
anew, which takes the longer the larger a fleet is."""
PATIENCE = 300
"""Steps in vain after which a shard group is moved at random."""
SHARD_GROUP_TRIES = 20
"""Moves of shard groups that are tried after every regrouping."""


class Activity(Protocol):
    """Something that moves the value down or the bound up."""

    share: float
    """How much of the time it should get, against the others."""
    handicap: float
    """Seconds of its share that the others have before it begins."""
    exhausted: bool
    """Whether there is nothing left for it to do."""

    def step(self, progress: Progress) -> None:
        """Go on for a little while."""


def nodes_of_step(reduction: Reduction) -> int:
    """Return how many nodes a step of regrouping searches."""
    return NODES + len(reduction.items) * (NODES_OF_ITEM + reduction.whole.windows)


class Regrouping:
    """Regroup around the bottleneck of the best placement; shard groups move as a whole."""

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

    def step(self, progress: Progress) -> None:
        """Search some thousand nodes."""
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

    def _start_nearby(self, progress: Progress) -> None:
        """Go on from the best placement known, with a shard group elsewhere."""
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


class TwoSolvers:
    """Ask CP-SAT and SCIP for anything better, for longer every time."""

    share, handicap = 0.2, 0.1

    def __init__(self, reduction: Reduction) -> None:
        self._reduction = reduction
        self._patience = 0.1
        self.exhausted = False

    def step(self, progress: Progress) -> None:
        """Search for a while."""
        target = progress.sought
        if not isfinite(target):
            return
        seconds = min(self._patience, progress.seconds_left)
        answer = search_all(
            self._reduction.whole, target, seconds, 1, lambda: progress.finished, progress.value
        )
        if answer.alarm:
            progress.alarm(Alarm(answer.alarm.solver, answer.alarm.target, answer.alarm.known))
        if answer.outcome is Outcome.FOUND:
            progress.offer(self._reduction.indices(answer.placement), "two solvers")
        if answer.outcome is Outcome.NONE:
            progress.prove(Certificate(Proof.SOLVERS, target))
            self.exhausted = True
        self._patience = min(2.0 * self._patience, LONGEST_STEP)


class Exhaustion:
    """Search the whole problem just below the best value, or at the target, with ever more nodes.

    While no finite pressure is known, it is searched for one: at multiples of the bound, ever
    larger ones, and in the end at any.
    """

    share, handicap = 0.2, 0.0

    def __init__(self, reduction: Reduction, deadline: Deadline) -> None:
        self._instance = reduction.instance
        self._layout = empty_layout(reduction.instance, deadline.go)
        self._nodes = FEWEST_NODES
        self._multiple = 1.0
        self.exhausted = False

    def step(self, progress: Progress) -> None:
        """Search until there is nothing better, or the nodes are used up."""
        target = self._target(progress)
        before = progress.seconds
        found, proof = search_with_proof(self._instance, self._layout, target, self._nodes)
        if found.outcome is Outcome.FOUND:
            progress.offer(self._layout.gpu_of, "exhaustive search")
        elif proof:
            progress.prove(proof)
            self.exhausted = isfinite(progress.value) or target == FINITE
        elif isfinite(progress.value) or target == FINITE:
            a_node = (progress.seconds - before) / max(found.visited, 1) + 2 * CHECK_SYMBOL
            seconds = min(progress.seconds_left / 2, LONGEST_STEP)
            self._nodes = int(min(4 * self._nodes, max(seconds, 0.0) / a_node))
            self.exhausted = self._nodes < FEWEST_NODES

    def _target(self, progress: Progress) -> float:
        sought = progress.sought
        if isfinite(sought):
            return sought
        self._multiple *= LADDER
        target = progress.bound * self._multiple
        return target if target > 0.0 and self._multiple <= TOP else FINITE
