"""Rounds of annealing, each longer than the one before; the last one may take all time left."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from colocate.problem.instance import Ints
from colocate.solver.deadline import Deadline
from colocate.solver.improve.shard_moves import shard_groups_in
from colocate.solver.latency.annealing import AnnealingRoom, Stage, anneal, between
from colocate.solver.latency.guess import draw_lines, no_lines
from colocate.solver.latency.item_moves import no_moves
from colocate.solver.latency.now import RATED, SearchState

FIRST_DRAWS, GROWTH, MOST_DRAWS = 50, 3, 10**9
"""Draws of the first round for each item, how they grow, and the most."""
LAST = 8
"""The last round begins when no more than so many as the next one would fit into the time."""
ROUGH = 1e-4
"""The share of a latency that annealing leaves out: half of the time of a rating."""
TELLING = 1000
"""Draws for each item from which on it tells something if a round finds nothing."""
SLICES = 10
"""Parts of a last round: after each, the clock says how far it is. More of them would wait for the
thread that raises bounds too often."""


class AnnealingPlan(NamedTuple):
    """How a round goes on."""

    share: float
    """The share of all ratings that annealing makes, and of the time left for a last round."""
    first: Stage
    last: Stage
    """What holds at first and at last, whatever the peak is."""

    def at(self, share: float) -> Stage:
        """Return what holds after a share of the round."""
        return between(self.first, self.last, share, self.first.peak)


USUAL = AnnealingPlan(0.85, Stage(0.3, 30.0, 1.0), Stage(0.06, 300.0, 1.0))
RESTLESS = AnnealingPlan(0.4, Stage(1.0, 20.0, 1.0), Stage(0.2, 400.0, 1.0))
"""For one round after a usual one that found nothing: hotter, so that it leads elsewhere."""


class RoundPace:
    """How long rounds are by now, for all searches of one problem.

    Parameters
    ----------
    items
        How many items there are.
    """

    def __init__(self, items: int) -> None:
        self.draws = FIRST_DRAWS * items
        """Of the next round, as planned."""
        self.seconds_each = 0.0
        """What a draw takes; none before the first round."""

    def is_last(self, seconds: float) -> bool:
        """Whether so few rounds fit into some seconds that one should take them all."""
        return seconds < self.draws * LAST * self.seconds_each

    def learn(self, draws: int, seconds: float) -> None:
        """Plan a longer round after one that took so long."""
        self.seconds_each = seconds / draws
        self.draws = min(self.draws * GROWTH, MOST_DRAWS)


class AnnealingRounds:
    """Anneals again and again.

    Parameters
    ----------
    now
        The problem, without a placement.
    deadline
        When kernels end.
    pace
        How long rounds are by now.
    to_the_end
        Whether the last round takes all time left.
    """

    def __init__(
        self, now: SearchState, deadline: Deadline, pace: RoundPace, to_the_end: bool
    ) -> None:
        self._deadline, self._pace = deadline, pace
        self._to_the_end = to_the_end
        free = np.flatnonzero(now.instance.rules.shard_group < 0).astype(np.int64)
        groups, moves = shard_groups_in(now.instance), no_moves(len(now.layout.gpu_of))
        self._room = AnnealingRoom(no_lines(now.table), free, groups, moves)
        self._plan = USUAL
        self._rated = 0

    def is_due(self, now: SearchState) -> bool:
        """Whether annealing has had less than its share of a search."""
        return self._rated <= self._plan.share * int(now.costs.number[RATED])

    def anneal(self, now: SearchState, rng: np.random.Generator) -> Ints:
        """Anneal a round; return the best placement on the way.

        Parameters
        ----------
        now
            The state of the search, with no item confined to a node; all are placed, and rated.
        rng
            The source of all random draws.
        """
        best, peak = now.layout.gpu_of.copy(), float(now.costs.cost.max())
        rated, begun = int(now.costs.number[RATED]), self._deadline.seconds
        rough = now._replace(table=now.table._replace(left_out=ROUGH))
        draw_lines(now.table, peak, self._room.lines)
        lowest, done = peak, 0
        for share, end, draws in self._slices():
            stages = self._plan.at(share), self._plan.at(end)
            lowest = anneal(rough, self._room, draws, stages, lowest, best, rng)
            done += draws
        idle = lowest >= peak and done >= TELLING * len(best)
        self._plan = RESTLESS if idle and self._plan is USUAL else USUAL
        self._rated += int(now.costs.number[RATED]) - rated
        if done > 0:
            self._pace.learn(done, self._deadline.seconds - begun)
        return best

    def _slices(self) -> Iterator[tuple[float, float, int]]:
        """Yield the shares of a round between which so many changes are drawn.

        A last round ends by the clock, any other by its draws.
        """
        left, pace = self._deadline.left, self._pace
        if not self._to_the_end or not pace.is_last(left):
            yield 0.0, 1.0, pace.draws
            return
        seconds, begun = left * self._plan.share, self._deadline.seconds
        draws, share = max(int(seconds / SLICES / pace.seconds_each), 1), 0.0
        while share < 1.0 and not self._deadline.over:
            yield share, min(share + 1.0 / SLICES, 1.0), draws
            share = (self._deadline.seconds - begun) / seconds
