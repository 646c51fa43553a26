"""One search by latency: starts, descent, regrouping, and kicks when nothing else helps."""

from collections.abc import Iterator

import numpy as np

from colocate.latency.law import PREFILLED, TPOT, TPOT_SLO, TTFT_SLO
from colocate.problem.instance import Floats, Instance, Ints, confined
from colocate.problem.layout import NOWHERE, arrange, arrange_some, empty_layout
from colocate.problem.tolerance import TIE
from colocate.solver.deadline import Deadline
from colocate.solver.improve.shard_moves import nodes_of_shards, shard_groups_in
from colocate.solver.latency.descent import descend
from colocate.solver.latency.engines import EngineTable, empty_rating
from colocate.solver.latency.exchange import empty_exchange, rate_all
from colocate.solver.latency.fill import fill_cheaply
from colocate.solver.latency.group_moves import kick, move_groups
from colocate.solver.latency.progress import LatencyProgress
from colocate.solver.latency.regroup import (
    FOUND,
    NONE,
    empty_branches,
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
    """

    def __init__(self, progress: LatencyProgress, deadline: Deadline, seed: int) -> None:
        self._progress = progress
        self._rng = np.random.default_rng(seed)
        self._table: EngineTable = progress.table
        self._open: Instance = progress.instance
        self._instance = self._open
        items, gpus = len(progress.reduction.items), len(self._table.memory)
        self._groups = shard_groups_in(self._open)
        self._layout = empty_layout(self._open, deadline.go)
        self._rating = empty_rating(self._table)
        self._exchange = empty_exchange(items)
        self._branches = empty_branches(items, gpus, max(REGROUPED, gpus if self._small else 0))
        self._nodes = FEWEST_NODES
        self._stuck = self._kicks = self._rated_all = 0

    @property
    def _rated(self) -> int:
        """How many changes were rated, which is what takes the time."""
        return int(self._rating.number[1])

    @property
    def _small(self) -> bool:
        return len(self._progress.reduction.items) <= EXHAUSTIBLE

    def begin(self, start: Ints | None = None) -> None:
        """Begin from the best of a placement and of several ways to fill the GPUs.

        Parameters
        ----------
        start
            Where the items are, and `NOWHERE` for those that have no place yet.
        """
        if start is not None and len(start):
            self._begin_with(start)
        for order in self._orders():
            if self._progress.finished:
                break
            if self._filled(order, start):
                self._rate()
                self._descend(1)
                self._progress.offer(self._layout.gpu_of, "filling")

    def _begin_with(self, start: Ints) -> None:
        """Begin with a placement, or with some places of one."""
        arrange_some(self._open, self._layout, start)
        rest = np.flatnonzero(start == NOWHERE)
        if not fill_cheaply(self._table, self._open, self._layout, self._rating, rest):
            return
        self._progress.offer(self._layout.gpu_of, "start")
        self._rate()
        self._descend(1)
        self._progress.offer(self._layout.gpu_of, "descent")

    def _orders(self) -> Iterator[Ints]:
        """Yield orders of the items: by harm, by their ratio alone, by size, and at random."""
        engine = self._table.engine[self._table.first[:-1]]
        harm = self._table.harm[engine]
        yield np.argsort(-harm, kind="stable")
        yield np.argsort(-self._lone_ratio()[engine], kind="stable")
        yield np.argsort(-self._open.size, kind="stable")
        for _ in range(ORDERS):
            yield np.argsort(-harm * (1.0 + NOISE * self._rng.standard_normal(len(harm))))

    def _lone_ratio(self) -> Floats:
        """Return about how much of its targets each engine needs alone."""
        table = self._table
        with np.errstate(divide="ignore", invalid="ignore"):
            tpot = table.lone[:, :, TPOT] / table.rows[:, :, TPOT_SLO]
            ttft = table.lone[:, :, PREFILLED] / table.rows[:, :, TTFT_SLO]
        ratio: Floats = np.maximum(tpot, ttft).min(axis=0)
        return ratio

    def _filled(self, order: Ints, start: Ints | None) -> bool:
        """Fill the GPUs in an order; items of shard groups stay where they start."""
        sharded = self._open.rules.shard_group >= 0
        if start is None:
            start = np.full(len(sharded), NOWHERE)
        if (start[sharded] == NOWHERE).any():
            return False
        fixed = np.where(sharded, start, NOWHERE)
        arrange_some(self._open, self._layout, fixed)
        rest = order[~sharded[order]].astype(np.int64)
        return bool(fill_cheaply(self._table, self._open, self._layout, self._rating, rest))

    def step(self) -> None:
        """Continue for some milliseconds."""
        if self._layout.gpu_of[0] == NOWHERE or self._kicks > PATIENT:
            self._return_to_best()
        if self._small and not self._progress.complete and self._rated_all <= self._rated / 2:
            self._search_all()
        moved = self._regroup() + self._descend(1)
        moved += self._move_groups()
        self._progress.offer(self._layout.gpu_of, "regrouping")
        self._stuck = 0 if moved else self._stuck + 1
        if self._stuck > PATIENCE:
            self.kick()

    def finish(self) -> None:
        """Lower the costs below the peak of the best placement."""
        self._return_to_best()
        self._descend(len(self._table.memory))
        self._progress.offer(self._layout.gpu_of, "descent")

    def _search_all(self) -> None:
        """Search all placements below the best peak, with ever more nodes."""
        whole_fleet = not len(self._groups.first) or int(self._open.rules.node.max()) == 0
        if not whole_fleet or not self._progress.peak > 0.0:
            return
        self._return_to_best()
        before = self._rated
        limit = self._progress.peak * (1.0 - 2.0 * TIE)
        outcome = regroup_all(
            self._table,
            self._open,
            self._layout,
            self._rating,
            self._branches,
            limit,
            self._nodes,
            self._table.harm[self._table.engine[self._table.first[:-1]]],
        )
        if outcome == FOUND:
            self._progress.offer(self._layout.gpu_of, "exhaustive search")
        elif outcome == NONE:
            self._progress.complete = True
        self._rated_all += self._rated - before
        self._nodes = min(self._nodes * GROWTH, MOST_NODES)

    def _regroup(self) -> int:
        return regroup_some(
            self._table,
            self._instance,
            self._layout,
            self._rating,
            self._branches,
            TRIES,
            NODES,
            self._rng,
        )

    def _descend(self, depth: int) -> bool:
        return descend(
            self._table,
            self._instance,
            self._layout,
            self._rating,
            self._exchange,
            depth,
            True,
        )

    def _move_groups(self) -> bool:
        if not len(self._groups.first):
            return False
        moved = move_groups(
            self._table,
            self._open,
            self._layout,
            self._rating,
            self._exchange,
            self._groups,
            GROUP_TRIES,
            self._rng,
        )
        if moved:
            self._confine()
        return moved

    def kick(self) -> None:
        """Change the placement at random, and go on from there."""
        self._stuck = 0
        self._kicks += 1
        kick(self._instance, self._layout, 2 + int(self._rng.integers(4)), self._rng)
        self._rate()

    def _return_to_best(self) -> None:
        arrange(self._open, self._layout, self._progress.best)
        self._kicks = 0
        self._rate()

    def _rate(self) -> None:
        self._confine()
        rate_all(self._table, self._open, self._layout, self._rating)

    def _confine(self) -> None:
        """Keep shard groups on their nodes while single items move."""
        if len(self._groups.first):
            self._instance = confined(self._open, nodes_of_shards(self._open, self._layout.gpu_of))
