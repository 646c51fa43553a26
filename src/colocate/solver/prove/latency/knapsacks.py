"""The knapsacks that every group passes which may share a GPU at a ratio, for one kind of GPU.

`checker/knapsack.py` explains them. The heaviest set of items that passes them is found by dynamic
programming. Some sets that pass are impossible all the same.
"""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from colocate.problem.checker.latency.companies import GpuCompany
from colocate.problem.instance import Floats, Ints
from colocate.problem.kernel import entry_kernel, leaf_kernel
from colocate.problem.tolerance import SAFE

WHOLE = 500
"""What a GPU carries of the multipliers, about; dynamic programming takes as long as they are
large."""
TOO_HEAVY = 5 * WHOLE // 4
"""Sets are not told apart from this weight on."""
HALVINGS = 9
"""How often an interval of delays is halved; the checker halves it more often."""
WORTH = 0.2
"""Sets are left out that exceed their price by so much less than the heaviest one does."""
ONLY_ONE = 0.75
"""The size of items of which a set has one at most."""


MOST_MEMBERS = 256
"""Of larger sets some items are left out; what is left still passes."""


class KnapsackTables(NamedTuple):
    """What the knapsacks of all GPUs with the same tables share."""

    edges: Floats
    """Delays that all items of a group add up to: the edges of intervals."""
    pushes: Floats
    """pushes[edge, row]: what the item of a row adds at least, at every edge."""


def tables_of(companies: Sequence[GpuCompany]) -> KnapsackTables:
    """Return what the knapsacks of companies with the same tables share.

    Parameters
    ----------
    companies
        The items that may be on some GPUs each, at least one.
    """
    push = companies[0].push[0]
    tolerance = np.zeros(len(push))
    for company in companies:
        tolerance[company.row] = company.tolerance
    longest = 2.0 * float(tolerance[np.isfinite(tolerance)].max(initial=0.0))
    edges = np.linspace(0.0, longest, 2**HALVINGS + 1)
    least = np.empty((len(edges), len(push)))
    for number, in_all in enumerate(edges):
        reached = np.minimum(push, in_all - companies[0].grid).max(axis=1, initial=0.0)
        least[number] = np.maximum(np.maximum(push[:, 0], in_all - tolerance), reached)
    return KnapsackTables(edges, least * SAFE)


class GpuKnapsacks:
    """The knapsacks of one kind of GPU at a ratio.

    Parameters
    ----------
    company
        The items that may be on the GPU.
    tables
        What it shares with others; None to make them.
    """

    def __init__(self, company: GpuCompany, tables: KnapsackTables | None = None) -> None:
        self.company = company
        bounded = np.isfinite(company.tolerance)
        self._unbounded = not bounded.all()
        self._tables = tables or tables_of([company])
        self._alone = np.where(bounded, ONLY_ONE, 0.0)[np.newaxis]
        short = company.demand.sum(axis=0) > 1.0
        self._demands = np.ascontiguousarray(company.demand.T[short])

    def heaviest(self, weight: Ints, price: int) -> tuple[list[Ints], int]:
        """Return sets that pass and weigh more than a price, and what no set exceeds.

        Parameters
        ----------
        weight
            Of every item.
        price
            Lighter sets are of no interest.
        """
        most = max(price, min(int(weight.max(initial=0)), TOO_HEAVY))
        memory = np.empty((len(weight) + 1, TOO_HEAVY + 1))
        found: list[Ints] = []
        for pushes, edges, rows in self._rooms():
            sets = np.full((len(edges) - 1, MOST_MEMBERS), -1)
            count, most = heaviest_sets(
                self.company.owner,
                weight,
                pushes,
                edges,
                rows,
                self._demands,
                price,
                most,
                memory,
                sets,
            )
            found += [row[row >= 0] for row in sets[:count]]
        return found, most

    def passes(self, choices: Sequence[int]) -> bool:
        """Return whether a set of two choices or more passes the knapsacks."""
        members = np.searchsorted(self.company.choice, choices)
        if members.max() >= len(self.company.choice):
            return False
        if (self.company.choice[members] != choices).any():
            return False
        if (self.company.demand[members].sum(axis=0) > 1.0).any():
            return False
        return any(
            bool((pushes[: len(edges) - 1, rows[members]].sum(axis=1) <= edges[1:]).any())
            for pushes, edges, rows in self._rooms()
        )

    def _rooms(self) -> list[tuple[Floats, Floats, Ints]]:
        """Return what items add at least at the edges of intervals, these edges, and their rows.

        Delays above all edges are in one interval of their own.
        """
        alone = (self._alone, np.array([0.0, 1.0]), np.arange(len(self.company.row)))
        above = [alone] if self._unbounded else []
        edges, pushes = self._tables
        return [(pushes, edges, self.company.row), *above] if edges[-1] > 0.0 else above


@entry_kernel
def heaviest_sets(
    owner: Ints,
    weight: Ints,
    pushes: Floats,
    edges: Floats,
    rows: Ints,
    demands: Floats,
    price: int,
    most: int,
    memory: Floats,
    sets: Ints,
) -> tuple[int, int]:
    """Write sets that pass and weigh more than a price; return their number, and the most weight.

    An interval of delays is halved as long as its heaviest set is heavier than is of interest.

    Parameters
    ----------
    owner, weight : of every item; those of an owner follow each other
    pushes, edges : what items of a row add at least at the edges of all intervals
    rows : of every item
    demands : shares of resources that items need
    price, most : lighter sets are of no interest; what the heaviest set weighs at least
    memory : memory[items + 1, weights], for `_heaviest_set`
    sets : written here, a row of items for each set, filled up with -1
    """
    items = weight.shape[0]
    size, members, chosen = np.empty(items), np.empty(items, np.int64), np.empty(items, np.int64)
    firsts, lasts = np.empty(2 * edges.shape[0], np.int64), np.empty(2 * edges.shape[0], np.int64)
    firsts[0], lasts[0] = 0, edges.shape[0] - 1
    waiting, found = 1, 0
    while waiting > 0:
        waiting -= 1
        first, last = firsts[waiting], lasts[waiting]
        heavy, count = memory.shape[1], 0
        for knapsack in range(1 + 2 * demands.shape[0]):
            for item in range(items):
                size[item] = _size(pushes[first, rows[item]] / edges[last], demands, knapsack, item)
            if count > 0 and _in_all(size, chosen, count) <= 1.0:
                continue
            top, here = _heaviest_set(owner, weight, size, memory, members)
            if top < heavy:
                heavy, count = top, here
                chosen[:here] = members[:here]
        if heavy <= price or heavy < price + WORTH * (most - price):
            continue
        if last - first > 1:
            middle = (first + last) // 2
            firsts[waiting], lasts[waiting] = first, middle
            firsts[waiting + 1], lasts[waiting + 1] = middle, last
            waiting += 2
        else:
            for place in range(min(count, sets.shape[1])):
                sets[found, place] = chosen[place]
            found += 1
            most = max(most, heavy)
    return found, most


@leaf_kernel
def _size(delay: float, demands: Floats, knapsack: int, item: int) -> float:
    """Return the size of an item: by its delay, by both, or by what it needs of a resource."""
    if knapsack == 0:
        return delay
    demand = float(demands[(knapsack - 1) // 2, item])
    return (delay + demand) / 2.0 if knapsack % 2 == 1 else demand


@leaf_kernel
def _in_all(size: Floats, members: Ints, count: int) -> float:
    found = 0.0
    for place in range(count):
        found += size[members[place]]
    return found


@leaf_kernel
def _heaviest_set(
    owner: Ints, weight: Ints, size: Floats, least: Floats, members: Ints
) -> tuple[int, int]:
    """Return the most that items of a size up to 1 weigh, one of each owner, and how many they are.

    Parameters
    ----------
    owner, weight, size : of every item; those of an owner follow each other
    least : least[items + 1, most + 1], written here: the least size of the first items that weigh
        so much or more; heavier sets count as the most
    members : the items, written here
    """
    items, most = weight.shape[0], least.shape[1] - 1
    least[0, 0] = 0.0
    for reached in range(1, most + 1):
        least[0, reached] = inf
    first = 0
    for item in range(items):
        if owner[item] != owner[first]:
            first = item
        heavy, large = min(weight[item], most), size[item]
        if large > 1.0:
            heavy, large = most, inf
        for reached in range(heavy):
            least[item + 1, reached] = min(least[item, reached], large if reached > 0 else 0.0)
        for start in range(most + 1 - heavy):
            with_it = least[first, start] + large
            least[item + 1, start + heavy] = min(least[item, start + heavy], with_it)
    top = most
    while least[items, top] > 1.0:
        top -= 1
    count, left, item = 0, top, items - 1
    while left > 0:
        if least[item + 1, left] < least[item, left]:
            members[count] = item
            count += 1
            left = max(left - weight[item], 0)
            while item > 0 and owner[item - 1] == owner[members[count - 1]]:
                item -= 1
        item -= 1
    return top, count
