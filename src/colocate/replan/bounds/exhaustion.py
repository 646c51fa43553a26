"""Small fleets: every placement within a budget, tried in full."""

from typing import NamedTuple

import numpy as np

from colocate.problem.instance import Ints
from colocate.problem.layout import share_a_colour
from colocate.problem.tolerance import JUST_BELOW, TIE
from colocate.replan.search.group_values import GroupValues
from colocate.replan.search.item_homes import ItemHomes

EXHAUSTIBLE = 14
"""Items up to which all placements are tried: within a node limit of some seconds."""
MOST_NODES = 100_000
"""Items that may be put somewhere: about a second of work."""


class ExhaustionResult(NamedTuple):
    """What a search came to."""

    gpu_of: Ints | None
    """The best placement below the value asked for; None if there is none."""
    value: float
    complete: bool
    """Whether every placement was tried or excluded."""


def is_exhaustible(homes: ItemHomes) -> bool:
    """Whether a fleet is so small that all placements can be tried."""
    models = homes.reduction.whole.models
    return len(homes.reduction.items) <= EXHAUSTIBLE and all(m.parts == 1 for m in models)


def search_below(
    homes: ItemHomes,
    values: GroupValues,
    value: float,
    budget_gb: float,
    lightest: bool = False,
) -> ExhaustionResult:
    """Look for the lowest value below a given one, within a budget, among all placements.

    Parameters
    ----------
    homes
        The items, none of which is a shard, and where they are now.
    values
        The values of groups of items.
    value
        What the placement must be below.
    budget_gb
        What may be moved.
    lightest
        Whether the placement that moves least is sought instead, of all below the value.
    """
    return _AllPlacements(homes, values, value, budget_gb, lightest).run()


class _AllPlacements:
    """A depth-first search, the items that weigh most first, each at home first."""

    def __init__(
        self,
        homes: ItemHomes,
        values: GroupValues,
        value: float,
        budget_gb: float,
        lightest: bool,
    ) -> None:
        self._homes, self._values, self._lightest = homes, values, lightest
        self._value, self._budget = value, budget_gb * (1 + TIE)
        instance = homes.reduction.instance
        heaviest = np.argsort(-(instance.size + instance.load.max(axis=1)), kind="stable")
        self._order = heaviest.tolist()
        self._groups = [frozenset[int]()] * len(instance.capacity)
        self._best: Ints | None = None
        self._nodes = 0
        least = homes.gb.min(axis=1)[self._order]
        self._rest = np.append(np.cumsum(least[::-1])[::-1], 0.0)

    def run(self) -> ExhaustionResult:
        complete = self._down(0, 0.0)
        return ExhaustionResult(self._best, self._value, complete)

    def _down(self, depth: int, gb: float) -> bool:
        if depth == len(self._order):
            self._keep(gb)
            return True
        item = self._order[depth]
        instance, costs = self._homes.reduction.instance, self._homes.gb[item]
        gpus = np.flatnonzero(instance.rules.open[instance.rules.pin[item]])
        empty: set[tuple[int, float]] = set()
        for gpu in sorted(gpus.tolist(), key=lambda each: (costs[each], each)):
            if gb + costs[gpu] + self._rest[depth + 1] > self._budget:
                break  # the others load more
            if not self._groups[gpu] and self._is_nobodys(gpu):
                sort = (int(instance.rules.alike[gpu]), float(costs[gpu]))
                if sort in empty:
                    continue
                empty.add(sort)
            self._nodes += 1
            if self._nodes > MOST_NODES:
                return False
            if not self._put_and_go_down(depth, item, gpu, gb + float(costs[gpu])):
                return False
        return True

    def _put_and_go_down(self, depth: int, item: int, gpu: int, gb: float) -> bool:
        instance, before = self._homes.reduction.instance, self._groups[gpu]
        if any(share_a_colour(instance, item, other) for other in before):
            return True
        after = before | {item}
        if self._values.value(gpu, after) >= self._value * JUST_BELOW:
            return True
        self._groups[gpu] = after
        complete = self._down(depth + 1, gb)
        self._groups[gpu] = before
        return complete

    def _is_nobodys(self, gpu: int) -> bool:
        """Whether no item has its home on a GPU, so that it is as good as others of its sort."""
        return bool((self._homes.gb[:, gpu] >= self._homes.gb.max(axis=1)).all())

    def _keep(self, gb: float) -> None:
        value = max(self._values.value(gpu, group) for gpu, group in enumerate(self._groups))
        gpu_of = np.zeros(len(self._order), np.int64)
        for gpu, group in enumerate(self._groups):
            gpu_of[list(group)] = gpu
        self._best = gpu_of
        if self._lightest:
            self._budget = gb * (1 - TIE)
        else:
            self._value = value
