"""Rounds of annealing, each longer than the one before; the last one may take all time left."""

from math import inf
from typing import NamedTuple

import numpy as np

from colocate.problem.instance import Ints
from colocate.solver.deadline import Deadline
from colocate.solver.improve.shard_moves import shard_groups_in
from colocate.solver.latency.annealing import AnnealRoom, Cooling, anneal
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


class Mood(NamedTuple):
    """How rounds go on."""

    share: float
    """The share of all ratings that annealing makes, and of the time left for a last round."""
    cooling: Cooling


USUAL = Mood(0.85, Cooling(0.3, 0.06, 30.0, 300.0))
RESTLESS = Mood(0.4, Cooling(1.0, 0.2, 20.0, 400.0))
"""For one round after a usual one that found nothing: hotter, so that it leads elsewhere."""


class Pace:
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

    def draws_within(self, seconds: float, share: float) -> int:
        """Return the draws of the next round: as planned, or a share of what fits for the last.

        Parameters
        ----------
        seconds, share
            The time left, and the share of it for a last round.
        """
        fitting = seconds / self.seconds_each if self.seconds_each > 0.0 else inf
        return self.draws if fitting >= self.draws * LAST else max(int(fitting * share), 1)

    def learn(self, draws: int, seconds: float) -> None:
        """Plan a longer round after one that took so long."""
        self.seconds_each = seconds / draws
        self.draws = min(self.draws * GROWTH, MOST_DRAWS)


class AnnealRounds:
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

    def __init__(self, now: SearchState, deadline: Deadline, pace: Pace, to_the_end: bool) -> None:
        self._deadline, self._pace = deadline, pace
        self._to_the_end = to_the_end
        free = np.flatnonzero(now.instance.rules.shard_group < 0).astype(np.int64)
        groups, moves = shard_groups_in(now.instance), no_moves(len(now.layout.gpu_of))
        self._room = AnnealRoom(no_lines(now.table), free, groups, moves)
        self._mood = USUAL
        self._rated = 0

    def is_due(self, now: SearchState) -> bool:
        """Whether annealing has had less than its share of a search."""
        return self._rated <= self._mood.share * int(now.costs.number[RATED])

    def anneal(self, now: SearchState, rng: np.random.Generator) -> Ints:
        """Anneal a round; return the best placement on the way.

        Parameters
        ----------
        now
            The state of the search, with no item confined to a node; all are placed, and rated.
        rng
            The source of all random draws.
        """
        best, peak = now.layout.gpu_of.copy(), now.costs.cost.max()
        rated, begun = int(now.costs.number[RATED]), self._deadline.seconds
        left = self._deadline.left if self._to_the_end else inf
        draws = self._pace.draws_within(left, self._mood.share)
        draw_lines(now.table, float(peak), self._room.lines)
        rough = now._replace(table=now.table._replace(left_out=ROUGH))
        lowest = anneal(rough, self._room, draws, self._mood.cooling, best, rng)
        idle = lowest >= peak and draws >= TELLING * len(best)
        self._mood = RESTLESS if idle and self._mood is USUAL else USUAL
        self._rated += int(now.costs.number[RATED]) - rated
        self._pace.learn(draws, self._deadline.seconds - begun)
        return best
