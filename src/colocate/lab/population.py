"""Islands of programs, and the next requests: a function of seed, generation and programs."""

from collections.abc import Sequence

import numpy as np

from colocate.lab.messages import Kind, Request
from colocate.lab.program import Program, best_first
from colocate.lab.settings import Settings

KINDS = {Kind.DIFF: 0.6, Kind.REWRITE: 0.2, Kind.CROSSING: 0.2}
"""How often a request asks for each kind of change. Small changes reveal most about one block."""
PRESSURE = 0.7
"""The chance of a program to become a parent, relative to the next better one of its island.

At 0.7 the best of an island gets three requests in ten, and the tenth one in a hundred.
"""
TIRED = 0.1
"""How much every child lowers a program's chance to be chosen: ten children halve it."""
ELITES = 5
"""Best programs of all islands that inspirations come from: more than a request shows."""

MOST_SEEDS = 2**31
"""Seeds of requests are below this, so that any server and any generator takes them."""


class Population:
    """The programs of all generations before the one in progress."""

    def __init__(self, programs: Sequence[Program], settings: Settings) -> None:
        self._programs = programs
        self._settings = settings
        self._elites = best_first(programs)[:ELITES]
        self._children = {program.number: 0 for program in programs}
        for program in programs:
            for parent in program.parents[:1]:
                self._children[parent] += 1

    def request(self, generation: int, slot: int, recommendations: Sequence[str]) -> Request:
        """Return the request for one slot of a generation.

        Parameters
        ----------
        generation
            The generation in progress.
        slot
            The index of the request, from 0.
        recommendations
            The advice of the last review.
        """
        seed = (self._settings.seed, generation, slot)
        rng = np.random.default_rng(seed)
        parent = self._parent(slot % self._settings.islands, generation, rng)
        inspirations = self._inspirations(parent, rng)
        return Request(
            self._kind(inspirations, rng),
            parent,
            inspirations,
            tuple(recommendations),
            seed=int(rng.integers(MOST_SEEDS)),
            number=1 + (generation - 1) * self._settings.proposals + slot,
        )

    def members(self, island: int, generation: int) -> list[Program]:
        """Return the programs of an island: the start, those made there, and those that moved in.

        At every migration, the best of the previous island moves in as well.
        """
        migration, islands = self._settings.migration, self._settings.islands
        here = {p.number: p for p in self._programs if p.generation == 0 or p.island == island}
        for year in range(migration, generation, migration):
            there = (island - 1) % islands
            born = [p for p in self._programs if p.island == there and p.generation <= year]
            for migrant in best_first(born)[:1]:
                here[migrant.number] = migrant
        return best_first(list(here.values()))

    def _parent(self, island: int, generation: int, rng: np.random.Generator) -> Program:
        members = self.members(island, generation)
        ranks = np.arange(len(members))
        children = np.array([self._children[member.number] for member in members])
        weights = PRESSURE**ranks / (1 + TIRED * children)
        return members[int(rng.choice(len(members), p=weights / weights.sum()))]

    def _inspirations(self, parent: Program, rng: np.random.Generator) -> tuple[Program, ...]:
        others = [elite for elite in self._elites if elite.number != parent.number]
        count = min(self._settings.inspirations, len(others))
        chosen = rng.choice(len(others), count, replace=False).tolist() if others else []
        return tuple(others[place] for place in chosen)

    def _kind(self, inspirations: Sequence[Program], rng: np.random.Generator) -> Kind:
        kinds = [kind for kind in KINDS if inspirations or kind is not Kind.CROSSING]
        weights = np.array([KINDS[kind] for kind in kinds])
        return kinds[int(rng.choice(len(kinds), p=weights / weights.sum()))]
