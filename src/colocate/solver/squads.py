"""Shards in one node: which squad goes to which node is decided here, the rest by regrouping.

Given a node for every squad, its shards may only be on the GPUs of that node, and the problem is a
plain one. The search moves one squad at a time to another node, makes room for it there, and lets
regrouping repair the rest; what is not better is taken back.
"""

from collections.abc import Sequence

import numpy as np

from colocate.problem.instance import Instance, Ints, canonical, own_units
from colocate.problem.layout import NOWHERE, arrange, empty_layout, fits, put, take
from colocate.problem.parts import Parts
from colocate.solver.construct.completion import Outcome
from colocate.solver.improve.regroup import fresh_pace, regroup
from colocate.solver.progress import Progress
from colocate.solver.prove.constraint_program import search_by_constraints

NODES = 4000
REPAIRS = 6
"""Regroupings, of so many nodes each, after a squad has moved."""


def nodes_of(parts: Parts) -> list[int]:
    """Return the number of the node of every GPU."""
    names = list(dict.fromkeys(gpu.node for gpu in parts.whole.gpus))
    return [names.index(gpu.node) for gpu in parts.whole.gpus]


def start_with_squads(parts: Parts, seconds: float) -> tuple[Outcome, Ints]:
    """Return any placement, or that it is proven that there is none."""
    instance = parts.problem.instance
    return search_by_constraints(instance, np.inf, seconds, 2, parts.squads, nodes_of(parts))


class SquadMoves:
    """An activity that moves squads between nodes, on from the best placement known."""

    share = 1.0

    def __init__(self, parts: Parts, seed: int) -> None:
        self._parts = parts
        self._node_of = np.array(nodes_of(parts))
        self._names = list(dict.fromkeys(gpu.node for gpu in parts.whole.gpus))
        self._rng = np.random.default_rng(seed)
        self._instances: dict[tuple[int, ...], Instance] = {}
        size_unit, load_unit = own_units(parts.problem.instance)
        self._unit = load_unit / size_unit
        self.exhausted = False

    def step(self, progress: Progress) -> None:
        """Try one other node for one squad, or repair what there is."""
        best, _ = progress.best
        homes = [int(self._node_of[best[squad[0]]]) for squad in self._parts.squads]
        moved = self._moved(best, homes) if self._rng.random() < 0.5 else best.copy()
        if moved is None:
            return
        homes = [int(self._node_of[moved[squad[0]]]) for squad in self._parts.squads]
        instance = self._confined(homes)
        layout = empty_layout(instance)
        arrange(instance, layout, moved)
        pace = fresh_pace()
        bound = progress.bound / self._unit
        for _ in range(REPAIRS):
            regroup(instance, layout, self._rng, bound, pace, NODES)
        gpus = range(len(instance.capacity))
        if all(fits(instance, layout, gpu, NOWHERE, NOWHERE) for gpu in gpus):
            progress.offer(layout.gpu_of, "squads")

    def _confined(self, homes: Sequence[int]) -> Instance:
        key = tuple(homes)
        if key not in self._instances:
            problem = self._parts.confined([self._names[home] for home in homes])
            self._instances[key] = canonical(problem.instance)
        return self._instances[key]

    def _moved(self, best: Ints, homes: list[int]) -> Ints | None:
        """Put a squad on the least pressed GPUs of another node, if it fits there."""
        squad = int(self._rng.integers(len(homes)))
        homes[squad] = int(self._rng.integers(len(self._names)))
        items = self._parts.squads[squad]
        instance = self._confined(homes)
        layout = empty_layout(instance)
        arrange(instance, layout, best)
        for item in items:
            take(instance, layout, item)
        open_gpus = np.flatnonzero(self._node_of == homes[squad])
        noise = self._rng.random(len(open_gpus)) * 0.1
        for item in items:
            order = open_gpus[np.argsort(layout.pressure[open_gpus] * (1 + noise))]
            home = next((g for g in order if fits(instance, layout, g, NOWHERE, item)), None)
            if home is None:
                return None
            put(instance, layout, item, home)
        return layout.gpu_of.copy()
