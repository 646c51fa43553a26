"""One search by latency: starts, descent, regrouping, and kicks when nothing else helps."""

from collections.abc import Iterator

import numpy as np

from colocate.latency.law import PREFILLED, TPOT, TPOT_SLO, TTFT_SLO
from colocate.problem.instance import Floats, Ints, confined
from colocate.problem.layout import NOWHERE, arrange, arrange_some, empty_layout
from colocate.problem.tolerance import TIE
from colocate.solver.deadline import Deadline
from colocate.solver.improve.shard_moves import nodes_of_shards, shard_groups_in
from colocate.solver.latency.annealing_rounds import AnnealingRounds
from colocate.solver.latency.descent import descend
from colocate.solver.latency.fill import fill_cheaply
from colocate.solver.latency.group_moves import kick_items, move_groups
from colocate.solver.latency.item_moves import no_moves, rate_all
from colocate.solver.latency.now import RATED, SearchState, no_costs
from colocate.solver.latency.progress import LatencyProgress
from colocate.solver.latency.regroup import (
    FOUND,
    NONE,
    no_options,
    regroup_all,
    regroup_some,
)

REGROUPED = 4
"""GPUs that are emptied together at most; all of them in an exhaustive search."""
TRIES, NODES = 12, 300
"""Groups of GPUs that one step regroups, and items that each of these searches may place."""
EXHAUSTIBLE = 24
"""Items up to which an exhaustive search takes its turn."""
FEWEST_NODES, GROWTH, MOST_NODES = 500, 2, 10**9
"""Items that the exhaustive search may place at first, how that grows, and the most."""
PATIENCE = 8
"""Steps without an improvement after which the search is kicked."""
PATIENT = 12
"""Kicks from one placement after which the search goes back to the best one."""
LEAST_KICK, KICKS = 2, 4
"""The fewest random changes of a kick, and how many numbers of them there are."""
GROUP_TRIES = 20
"""Moves of shard groups in one step."""
NOISE = 0.5
"""How far a random order departs from the harm of items."""
ORDERS = 4
"""Random orders in which the GPUs are filled at the start, besides three by rule."""


class LatencySearch:
    """A search for lower costs, one short step at a time.

    Parameters
    ----------
    progress
        Where better placements go.
    deadline
        When kernels end.
    seed
        Decides every random choice.
    to_the_end
        Whether it goes on until the deadline, as far as anybody knows.
    """

    def __init__(
        self, progress: LatencyProgress, deadline: Deadline, seed: int, to_the_end: bool = False
    ) -> None:
        self._progress = progress
        self._rng = np.random.default_rng(seed)
        self._open = SearchState(
            progress.now.table,
            progress.now.instance,
            empty_layout(progress.now.instance, deadline.go),
            no_costs(progress.now.table),
        )
        self._now = self._open
        """The same with shard groups confined to their nodes, while single items move."""
        items, gpus = len(progress.reduction.items), len(progress.now.table.memory)
        self._groups = shard_groups_in(progress.now.instance)
        self._moves = no_moves(items)
        self._options = no_options(items, gpus, max(REGROUPED, gpus if self._small else 0))
        self._annealing = AnnealingRounds(self._open, deadline, progress.pace, to_the_end)
        self._nodes = FEWEST_NODES
        self._stuck = self._kicks = self._rated_all = 0

    @property
    def _gpu_of(self) -> Ints:
        return self._open.layout.gpu_of

    @property
    def _rated(self) -> int:
        """How many changes were rated, which is what takes the time."""
        return int(self._open.costs.number[RATED])

    @property
    def _small(self) -> bool:
        return len(self._progress.reduction.items) <= EXHAUSTIBLE

    def begin(self, start: Ints, only: bool = False) -> None:
        """Begin from the best of a placement and of several ways to fill the GPUs.

        Parameters
        ----------
        start
            Where the items are, and `NOWHERE` for those that have no place yet.
        only
            Whether the GPUs are filled anew only if the start leads to no placement.
        """
        self._begin_with(start)
        for order in self._orders():
            if self._progress.found or (only and len(self._progress.best)):
                break
            if self._filled(order, start):
                self._offer_begun("filling")

    def _begin_with(self, start: Ints) -> None:
        """Begin with a placement, or with some places of one."""
        arrange_some(self._open.instance, self._open.layout, start)
        if fill_cheaply(self._open, np.flatnonzero(start == NOWHERE)):
            self._offer_begun("start")

    def _offer_begun(self, block: str) -> None:
        """Offer a placement; while none is known that keeps all targets, improve it at once."""
        self._progress.offer(self._gpu_of, block)
        self._rate()
        if not self._progress.found:
            self._descend(1)
            self._progress.offer(self._gpu_of, "descent")

    def _orders(self) -> Iterator[Ints]:
        """Yield orders of the items: by harm, by their ratio alone, by size, and at random."""
        table = self._open.table
        engine = table.engine[table.first[:-1]]
        harm = table.harm[engine]
        yield np.argsort(-harm, kind="stable")
        yield np.argsort(-self._lone_ratio()[engine], kind="stable")
        yield np.argsort(-self._open.instance.size, kind="stable")
        for _ in range(ORDERS):
            yield np.argsort(-harm * (1.0 + NOISE * self._rng.standard_normal(len(harm))))

    def _lone_ratio(self) -> Floats:
        """Return about how much of its targets each engine needs alone."""
        table = self._open.table
        tpot = table.lone[..., TPOT] / table.rows[..., TPOT_SLO]
        ttft = table.lone[..., PREFILLED] / table.rows[..., TTFT_SLO]
        ratio: Floats = np.maximum(tpot, ttft).max(axis=0).min(axis=0)
        return ratio

    def _filled(self, order: Ints, start: Ints) -> bool:
        """Fill the GPUs in an order; items of shard groups stay where they start."""
        sharded = self._open.instance.rules.shard_group >= 0
        if (start[sharded] == NOWHERE).any():
            return False
        fixed = np.where(sharded, start, NOWHERE)
        arrange_some(self._open.instance, self._open.layout, fixed)
        return bool(fill_cheaply(self._open, order[~sharded[order]].astype(np.int64)))

    def step(self) -> None:
        """Continue for some milliseconds."""
        if (self._gpu_of == NOWHERE).any() or self._kicks > PATIENT:
            self._return_to_best()
        if self._small and not self._progress.complete and self._rated_all <= self._rated / 2:
            self._search_all()
        if self._progress.found and self._annealing.is_due(self._open):
            self._anneal()
        moved = self._regroup() + self._descend(1)
        moved += self._move_groups()
        self._progress.offer(self._gpu_of, "regrouping")
        self._stuck = 0 if moved else self._stuck + 1
        if self._stuck > PATIENCE:
            self.kick()

    def finish(self) -> None:
        """Lower the costs below the peak of the best placement."""
        self._return_to_best()
        self._descend(len(self._open.table.memory))
        self._progress.offer(self._gpu_of, "descent")

    def kick(self) -> None:
        """Change the placement at random, and go on from there."""
        self._stuck = 0
        self._kicks += 1
        kick_items(self._now, LEAST_KICK + int(self._rng.integers(KICKS)), self._rng)
        self._rate()

    def _anneal(self) -> None:
        """Anneal from the best placement on."""
        self._return_to_best()
        best = self._annealing.anneal(self._open, self._rng)
        arrange(self._open.instance, self._open.layout, best)
        self._rate()
        self._progress.offer(self._gpu_of, "annealing")

    def _search_all(self) -> None:
        """Search all placements below the best peak, with ever more nodes."""
        table, rules = self._open.table, self._open.instance.rules
        one_node = not len(self._groups.first) or int(rules.node.max()) == 0
        if not one_node or not self._progress.peak > 0.0:
            return
        self._return_to_best()
        before = self._rated
        limit = self._progress.peak * (1.0 - 2.0 * TIE)
        harm = table.harm[table.engine[table.first[:-1]]]
        outcome = regroup_all(self._open, self._options, limit, self._nodes, harm)
        if outcome == FOUND:
            self._progress.offer(self._gpu_of, "exhaustive search")
        elif outcome == NONE:
            self._progress.complete = True
        self._rated_all += self._rated - before
        self._nodes = min(self._nodes * GROWTH, MOST_NODES)

    def _regroup(self) -> int:
        return regroup_some(self._now, self._options, TRIES, NODES, self._rng)

    def _descend(self, depth: int) -> bool:
        return descend(self._now, self._moves, depth)

    def _move_groups(self) -> bool:
        if not len(self._groups.first):
            return False
        helped = move_groups(self._open, self._moves, self._groups, GROUP_TRIES, self._rng)
        if helped:
            self._confine()
        return helped

    def _return_to_best(self) -> None:
        arrange(self._open.instance, self._open.layout, self._progress.best)
        self._kicks = 0
        self._rate()

    def _rate(self) -> None:
        self._confine()
        rate_all(self._open)

    def _confine(self) -> None:
        """Keep shard groups on their nodes while single items move."""
        if len(self._groups.first):
            instance = self._open.instance
            homes = nodes_of_shards(instance, self._gpu_of)
            self._now = self._open._replace(instance=confined(instance, homes))
