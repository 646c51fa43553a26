"""What a solve can do with its time, a few milliseconds at a time."""

from collections.abc import Sequence
from math import isfinite
from typing import Protocol

import numpy as np

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.instance import Instance, own_units
from colocate.problem.layout import arrange, empty_layout
from colocate.solver.construct.completion import Outcome
from colocate.solver.construct.exhaustive import search_fit
from colocate.solver.improve.regroup import fresh_pace, regroup
from colocate.solver.progress import Progress
from colocate.solver.prove.constraint_program import search_by_constraints

FEWEST_NODES = 6000
"""Nodes of the first exhaustive search."""
LONGEST_STEP = 2.0
"""Seconds that a search may take before it looks whether others have finished."""
LADDER, TOP = 4.0, 1e12
"""Where no finite pressure is known: the step between multiples of the bound, and the last one."""


class Activity(Protocol):
    """Something that moves the value down or the bound up."""

    share: float
    """How much of the time it should get, against the others."""
    exhausted: bool
    """Whether there is nothing left for it to do."""

    def step(self, progress: Progress) -> None:
        """Go on for a little while."""


class Regrouping:
    """Regroup around the bottleneck, on from the best placement known."""

    share = 1.0

    def __init__(self, instance: Instance, units: Instance, seed: int) -> None:
        self._instance = instance
        self._layout = empty_layout(instance)
        self._value = np.inf
        self._rng = np.random.default_rng(seed)
        self._pace = fresh_pace()
        size_unit, load_unit = own_units(units)
        self._unit = load_unit / size_unit
        self.exhausted = len(instance.capacity) < 2

    def step(self, progress: Progress) -> None:
        """Search some thousand nodes."""
        best, value = progress.best
        if value < self._value:
            arrange(self._instance, self._layout, best)
            self._value = value
        bound = progress.bound / self._unit
        if regroup(self._instance, self._layout, self._rng, bound, self._pace, 4000):
            self._value = progress.offer(self._layout.gpu_of, "regrouping")


class ConstraintProgram:
    """Ask CP-SAT for anything better, for longer every time."""

    share = 0.2

    def __init__(
        self,
        instance: Instance,
        squads: Sequence[Sequence[int]] = (),
        node_of: Sequence[int] = (),
    ) -> None:
        self._instance = instance
        self._squads = squads
        self._node_of = node_of
        self._patience = 0.1
        self.exhausted = False

    def step(self, progress: Progress) -> None:
        """Search for a while."""
        target = progress.sought
        if not isfinite(target):
            return
        seconds = min(self._patience, progress.seconds_left)
        outcome, found = search_by_constraints(
            self._instance,
            target,
            seconds,
            1,
            self._squads,
            self._node_of,
            lambda: progress.finished,
        )
        if outcome is Outcome.FOUND and self._squads:
            progress.offer(found, "constraint program")
        if outcome is Outcome.NONE:
            progress.prove(Certificate(Proof.SEARCH, target))
            self.exhausted = True
        self._patience = min(2.0 * self._patience, LONGEST_STEP)


class Exhaustion:
    """Search the whole problem just below the best value, or at the target, with ever more nodes.

    While neither is finite, multiples of the bound are searched, ever larger ones.
    """

    share = 0.2

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._layout = empty_layout(instance)
        self._nodes = FEWEST_NODES
        self._multiple = 1.0
        self.exhausted = False

    def step(self, progress: Progress) -> None:
        """Search until there is nothing better, or the nodes are used up."""
        target = self._target(progress)
        before = progress.seconds
        outcome, visited = search_fit(
            self._instance, self._layout, target, progress.allow(self._nodes)
        )
        if outcome is Outcome.FOUND:
            progress.offer(self._layout.gpu_of, "exhaustive search")
        elif outcome is Outcome.NONE:
            progress.prove(Certificate(Proof.SEARCH, target, nodes=visited))
            self.exhausted = self.exhausted or isfinite(progress.value)
        elif isfinite(progress.sought):
            a_node = (progress.seconds - before) / visited
            seconds = min(progress.seconds_left / 2, LONGEST_STEP)
            self._nodes = int(min(4 * self._nodes, max(seconds, 0.0) / a_node))
            self.exhausted = self._nodes < FEWEST_NODES

    def _target(self, progress: Progress) -> float:
        sought = progress.sought
        if isfinite(sought):
            return sought
        self._multiple *= LADDER
        self.exhausted = self._multiple > TOP or progress.bound == 0.0
        return progress.bound * self._multiple
