"""The knapsacks that every group passes which may share a GPU at a ratio, for one kind of GPU.

`checker/knapsack.py` explains them. The heaviest set of items that passes them is found by dynamic
programming. Some sets that pass are impossible all the same.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from math import inf

import numpy as np

from colocate.problem.checker.companies import GpuCompany
from colocate.problem.instance import Floats, Ints
from colocate.problem.kernel import entry_kernel
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


class GpuKnapsacks:
    """The knapsacks of one kind of GPU at a ratio.

    Parameters
    ----------
    company
        The items that may be on the GPU.
    """

    def __init__(self, company: GpuCompany) -> None:
        self.company = company
        self._sizes: dict[tuple[float, float], list[Floats]] = {}
        self._memory = np.empty((len(company.owner) + 1, TOO_HEAVY + 1))
        self._members = np.empty(len(company.owner), np.int64)

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
        found: list[Ints] = []
        intervals = self._intervals()
        while intervals:
            low, high, depth = intervals.pop()
            heavy, members = self._lightest(weight, low, high)
            if heavy <= price or heavy < price + WORTH * (most - price):
                continue
            if depth < HALVINGS:
                middle = (low + high) / 2.0
                intervals += [(low, middle, depth + 1), (middle, high, depth + 1)]
            else:
                found.append(members)
                most = max(most, heavy)
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
        return bool((self._finest[:, members].sum(axis=1) <= 1.0).any())

    @cached_property
    def _finest(self) -> Floats:
        """The sizes of items in all intervals that are not halved any more."""
        pieces = 2**HALVINGS
        found = []
        for low, high, depth in self._intervals():
            if depth == HALVINGS:
                found.append(self._sizes_between(low, high)[0])
            else:
                edges = [low + (high - low) * n / pieces for n in range(pieces + 1)]
                found += [self._sizes_between(*pair)[0] for pair in pairwise(edges)]
        return np.array(found)

    def _intervals(self) -> list[tuple[float, float, int]]:
        """Return the whole range of delays that items add up to, with how often it was halved."""
        bounded = np.isfinite(self.company.tolerance)
        found = [(inf, inf, HALVINGS)] if not bounded.all() else []
        if bounded.any():
            found.append((0.0, 2.0 * float(self.company.tolerance[bounded].max()), 0))
        return found

    def _lightest(self, weight: Ints, low: float, high: float) -> tuple[int, Ints]:
        """Return the heaviest set of an interval, of the knapsack in which that is lightest."""
        best, chosen = TOO_HEAVY + 1, self._members[:0]
        for size in self._sizes_between(low, high):
            if len(chosen) and size[chosen].sum() <= 1.0:
                continue
            heavy, count = heaviest_set(
                self.company.owner, weight, size, self._memory, self._members
            )
            if heavy < best:
                best, chosen = heavy, self._members[:count].copy()
        return best, chosen

    def _sizes_between(self, low: float, high: float) -> list[Floats]:
        """Return the sizes of items in every knapsack, for delays between two numbers."""
        if (low, high) not in self._sizes:
            bounded = np.isfinite(self.company.tolerance)
            delays = bounded * ONLY_ONE if high == inf else _least_pushes(self.company, low) / high
            found = [delays]
            for demand in np.ascontiguousarray(self.company.demand.T):
                if demand.sum() > 1.0:
                    found += [(delays + demand) / 2.0, demand]
            self._sizes[low, high] = found
        return self._sizes[low, high]


def _least_pushes(company: GpuCompany, in_all: float) -> Floats:
    """Return what items add at least where all items of a group add up to some delay."""
    push = company.push[0]
    reached = np.minimum(push, in_all - company.grid).max(axis=1, initial=0.0)
    least = np.maximum(np.maximum(push[:, 0], in_all - company.tolerance), reached)
    return np.asarray(least * SAFE)


@entry_kernel
def heaviest_set(
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
    least[0, 1:] = inf
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
