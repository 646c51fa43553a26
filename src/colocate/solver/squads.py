"""Shards in one node: which squad goes to which node is decided here, the rest by regrouping.

Given a node for every squad, its shards may only be on the GPUs of that node, and the problem is a
plain one. The search moves one squad at a time to another node, makes room for it there, and lets
regrouping repair the rest; what is not better is taken back.
"""

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from colocate.problem.instance import (
    FIT,
    Floats,
    Instance,
    Ints,
    canonical,
    own_units,
    resources_of,
)
from colocate.problem.layout import Layout, arrange, empty_layout
from colocate.problem.parts import BARRED, Parts
from colocate.solver.construct.completion import Outcome
from colocate.solver.construct.even import EvenFilling
from colocate.solver.improve.regroup import fresh_pace, regroup
from colocate.solver.progress import Progress
from colocate.solver.prove.constraint_program import search_by_constraints
from colocate.solver.prove.constraint_solver import never
from colocate.solver.strategies import FOUR_PACKINGS

Bools = NDArray[np.bool_]

MOST_PAIRS = 20_000
FITTING = 1.0 + FIT
"""What rounding may add to a limit."""
NODES = 4000
REPAIRS = 6
"""Regroupings, of so many nodes each, after a squad has moved."""
MOVING, NOISE = 0.5, 0.1
"""How often a squad is moved at all, and how far from the least pressed GPUs it may go."""


def nodes_of(parts: Parts) -> list[int]:
    """Return the number of the node of every GPU."""
    names = list(dict.fromkeys(gpu.node for gpu in parts.whole.gpus))
    return [names.index(gpu.node) for gpu in parts.whole.gpus]


def start_with_squads(
    parts: Parts, seconds: float, stopped: Callable[[], bool] = never
) -> tuple[Outcome, Ints]:
    """Return any placement, or that it is proven that there is none."""
    homes, places = _roomiest_places(parts)
    instance = Nodes(parts).confined(homes)
    layout = empty_layout(instance)
    if EvenFilling().construct(instance, layout):
        return Outcome.FOUND, layout.gpu_of
    if places is not None:
        return Outcome.FOUND, places
    if FOUR_PACKINGS.construct(instance, layout):
        return Outcome.FOUND, layout.gpu_of
    if not small_enough(parts):
        return Outcome.UNDECIDED, layout.gpu_of
    given = parts.problem.instance
    return search_by_constraints(given, np.inf, seconds, 2, parts.squads, nodes_of(parts), stopped)


def small_enough(parts: Parts) -> bool:
    """Say whether CP-SAT can be asked: its program grows with items times GPUs."""
    return len(parts.items) * len(parts.whole.gpus) <= MOST_PAIRS


def _roomiest_places(parts: Parts) -> tuple[list[int], Ints | None]:
    """Return a node for every squad, and where all items are if there is room for them.

    The largest squad goes first, to where its GPUs have most room; the other items go last.
    """
    instance, node_of = canonical(parts.problem.instance), np.array(nodes_of(parts))
    layout = empty_layout(instance)
    homes = [0] * len(parts.squads)
    complete = True
    for number in sorted(range(len(homes)), key=lambda n: -instance.size[parts.squads[n][0]]):
        squad = parts.squads[number]
        best = _roomiest_node(instance, layout, node_of, squad)
        complete &= len(best) > 0
        homes[number] = int(node_of[best[0]]) if len(best) else 0
        for item, gpu in zip(squad, best.tolist(), strict=False):
            _put(instance, layout, item, gpu)
    single = set(range(len(parts.items))).difference(*parts.squads)
    for item in sorted(single, key=lambda n: -instance.size[n]):
        here = np.flatnonzero(_fits(instance, layout, item))
        complete &= len(here) > 0
        if len(here):
            room = instance.capacity[here] - layout.used[here]
            _put(instance, layout, item, int(here[room.argmax()]))
    return homes, layout.gpu_of if complete else None


def _roomiest_node(instance: Instance, layout: Layout, node_of: Ints, squad: Sequence[int]) -> Ints:
    """Return the GPUs of one node for a squad that leave most room where it is scarcest."""
    free = instance.capacity - layout.used
    fitting = _fits(instance, layout, squad[0])
    best, most = np.empty(0, np.int64), -np.inf
    for node in range(int(node_of.max()) + 1):
        here = np.flatnonzero(fitting & (node_of == node))
        roomiest = here[np.argsort(-free[here], kind="stable")][: len(squad)]
        if len(roomiest) == len(squad) and free[roomiest[-1]] > most:
            best, most = roomiest, float(free[roomiest[-1]])
    return best


def _fits(instance: Instance, layout: Layout, item: int) -> Bools:
    """Say for every GPU whether an item fits on it with what is there."""
    roomy: Bools = layout.used + instance.size[item] <= instance.capacity * FITTING
    use = layout.use + instance.use[instance.kind, item]
    allowed: Bools = (use <= instance.limit * FITTING).all(axis=1)
    return roomy & allowed


def _put(instance: Instance, layout: Layout, item: int, gpu: int) -> None:
    """Take note of where an item is, and what it takes there."""
    layout.gpu_of[item] = gpu
    layout.used[gpu] += instance.size[item]
    layout.use[gpu] += instance.use[instance.kind[gpu], item]


class Nodes:
    """The plain problem with squads confined to nodes."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._instance = canonical(parts.problem.instance)
        self.node_of = np.array(nodes_of(parts))
        self._column = resources_of(parts.problem.gpus, parts.problem.models).index(BARRED)
        kinds = self._instance.use.shape[0]
        self._node_of_kind = np.zeros(kinds, np.int64)
        self._node_of_kind[self._instance.kind] = self.node_of
        self._use = self._instance.use.copy()
        self._homes: list[int | None] = [None] * len(parts.squads)

    def homes_of(self, gpu_of: Ints) -> list[int]:
        """Return the node of every squad in a placement."""
        return [int(self.node_of[gpu_of[squad[0]]]) for squad in self._parts.squads]

    def confined(self, homes: Sequence[int]) -> Instance:
        """Return the instance in which squads may only be on GPUs of these nodes.

        It holds until the next call: what is large in it is changed in place.
        """
        for number, (squad, home) in enumerate(zip(self._parts.squads, homes, strict=True)):
            if home != self._homes[number]:
                self._homes[number] = home
                barred = self._instance.use[:, squad[0], self._column]
                for item in squad:
                    self._use[:, item, self._column] = np.where(
                        self._node_of_kind != home, 1.0, barred
                    )
        use = self._use[:]
        use.setflags(write=False)
        return self._instance._replace(use=use)

    def moved(
        self, gpu_of: Ints, homes: Sequence[int], number: int, noise: Floats | float = 1.0
    ) -> Ints | None:
        """Return a placement with a squad on the least pressed GPUs of its home, if it fits.

        Its own GPUs are not among those. `noise` is what the pressures are multiplied by.
        """
        squad = np.array(self._parts.squads[number])
        instance = self.confined(homes)
        layout = empty_layout(instance)
        arrange(instance, layout, gpu_of)
        here = _fits(instance, layout, squad[0]) & (self.node_of == homes[number])
        here[gpu_of[squad]] = False
        free = np.flatnonzero(here)
        if len(free) < len(squad):
            return None
        moved = gpu_of.copy()
        moved[squad] = free[np.argsort((layout.pressure * noise)[free])][: len(squad)]
        return moved


def spread_squads(parts: Parts, progress: Progress) -> None:
    """Move squads to less pressed GPUs as long as that smooths the placement."""
    nodes = Nodes(parts)
    for number, node in product(range(len(parts.squads)), range(int(nodes.node_of.max()) + 1)):
        best = progress.best[0]
        homes = nodes.homes_of(best)
        homes[number] = node
        if (moved := nodes.moved(best, homes, number)) is not None:
            progress.offer_smoother(moved)


def within(amounts: Floats, limits: Floats) -> bool:
    """Say whether nothing is over its limit, but for rounding."""
    return bool((amounts <= limits * FITTING).all())


class SquadMoves:
    """An activity that moves squads between nodes, on from the best placement known."""

    share = 1.0

    def __init__(self, parts: Parts, seed: int) -> None:
        self._squads = parts.squads
        self._nodes = Nodes(parts)
        self._rng = np.random.default_rng(seed)
        size_unit, load_unit = own_units(parts.problem.instance)
        self._unit = load_unit / size_unit
        self.exhausted = False

    def step(self, progress: Progress) -> None:
        """Try another node for one squad, or repair what there is."""
        best, _ = progress.best
        homes = self._nodes.homes_of(best)
        moved: Ints | None = best
        if self._rng.random() < MOVING:
            moved = self._moved(best, homes)
        if moved is None:
            return
        instance = self._nodes.confined(homes)
        layout = empty_layout(instance)
        arrange(instance, layout, moved)
        pace = fresh_pace()
        bound = progress.bound / self._unit
        for _ in range(REPAIRS):
            if not progress.finished:
                regroup(instance, layout, self._rng, bound, pace, NODES)
        if within(layout.used, instance.capacity) and within(layout.use, instance.limit):
            progress.offer(layout.gpu_of, "squads")

    def _moved(self, best: Ints, homes: list[int]) -> Ints | None:
        """Put a squad on the least pressed GPUs of another node, if it fits there."""
        number = int(self._rng.integers(len(homes)))
        homes[number] = int(self._rng.integers(self._nodes.node_of.max() + 1))
        noise = 1.0 + self._rng.random(len(self._nodes.node_of)) * NOISE
        return self._nodes.moved(best, homes, number, noise)
