"""Show by knapsacks, without a search, that no possible group is too heavy for its GPU.

Let the items of a group add up to a delay S. Each of them waits for S less what it adds itself, so
it adds at least what it does beside nobody, and S less its tolerance, or else it misses the ratio.
For every delay d it also adds what it does at d, or more than S - d. All of these rise with S. So
for S between two numbers there is a knapsack: items have the sizes of the lower number, and the
upper one is the room. Where such an interval lets a group be too heavy, its halves may not.

Knapsacks are solved exactly, by the least size of items that weigh enough. They say nothing of
items that clash, and look at delays and one resource at a time.
"""

from collections.abc import Iterator
from math import inf

import numpy as np
from numpy.typing import NDArray

from colocate.machine_code.entry import EntryKernel
from colocate.machine_code.marks import marked
from colocate.problem.checker.latency.companies import GpuCompany
from colocate.problem.checker.latency.kernel_parts import kernel_part
from colocate.problem.checker.tolerance import BELOW, CLEARLY, FITS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LARGEST_WEIGHT = 50_000
"""Knapsacks of more weight are not tried."""
DEEPEST = 12
"""How often an interval is halved."""
WORK = 10**10
"""Steps that all knapsacks may take, each of which looks at one item at one weight; worth some ten
seconds."""
ONLY_ONE = 0.75
"""The size of items of which a group has one at most."""


@kernel_part
def _least_push(c: GpuCompany, item: int, in_all: float) -> float:
    """Return what an item adds at least, in a group whose items add up to some delay or more."""
    push = c.push[0, c.row[item]]
    least = max(push[0], in_all - c.tolerance[item])
    for level in range(c.grid.shape[0]):
        rest = in_all - c.grid[level]
        if rest <= least:
            break
        least = max(least, min(push[level], rest))
    return float(least)


@EntryKernel
@marked
def least_pushes(c: GpuCompany, in_all: float) -> Floats:
    """Return what every item adds at least, in a group whose items add up to a delay or more.

    Parameters
    ----------
    c : the items
    in_all : the delay
    """
    least = np.empty(c.tolerance.shape[0])
    for item in range(least.shape[0]):
        least[item] = _least_push(c, item, in_all) * BELOW
    return least


@EntryKernel
@marked
def least_size(owner: Ints, weight: Ints, size: Floats, wanted: int) -> float:
    """Return the least size of items that weigh as much as is wanted, one of each owner at most.

    Parameters
    ----------
    owner, weight, size : of every item; those of an owner follow each other
    wanted : the weight, above 0
    """
    before = np.full(wanted + 1, np.inf)
    before[0] = 0.0
    now = before.copy()
    for item in range(weight.shape[0]):
        if item > 0 and owner[item] != owner[item - 1]:
            before[:] = now
        heavy, large = min(weight[item], wanted), size[item]
        if heavy <= 0 or large * CLEARLY > FITS:
            continue
        for less in range(1, heavy):
            now[less] = min(now[less], large)
        for less in range(wanted + 1 - heavy):
            now[less + heavy] = min(now[less + heavy], before[less] + large)
    return float(now[wanted])


def outweighed_by_none(
    company: GpuCompany, weight: Ints, most: int, go: Ints | None = None
) -> bool:
    """Return whether knapsacks show that no possible group weighs more than its GPU carries.

    Parameters
    ----------
    company
        The items that may be on the GPU.
    weight
        Of every item.
    most
        What the GPU carries.
    go
        What ends it early once its number is 0; None if nothing does.
    """
    if most > LARGEST_WEIGHT or (weight > most).any():
        return False
    left = WORK // (len(weight) * (most + 1) + 1)
    longest = _longest(company)
    intervals = [(0.0, longest, 0)] if longest > 0.0 else []
    if np.isinf(company.tolerance).any():
        intervals.append((inf, inf, DEEPEST))
    while intervals:
        low, high, depth = intervals.pop()
        left -= 1
        if left < 0 or (go is not None and not go[0]):
            return False
        if any(
            least_size(company.owner, weight, size, most + 1) * CLEARLY > FITS
            for size in _sizes(company, low, high)
        ):
            continue
        if depth == DEEPEST:
            return False
        middle = (low + high) / 2.0
        intervals += [(low, middle, depth + 1), (middle, high, depth + 1)]
    return True


def _longest(company: GpuCompany) -> float:
    """Return a delay that no two items with tolerances add up to, whatever is beside them.

    Two items add `S - T` and `S - U` at least, so S is below `T + U`.
    """
    finite = company.tolerance[np.isfinite(company.tolerance)]
    return 2.0 * float(finite.max(initial=0.0))


def _sizes(company: GpuCompany, low: float, high: float) -> Iterator[Floats]:
    """Yield sizes of items: no possible group exceeds 1 in any of them.

    Parameters
    ----------
    company
        The items.
    low, high
        Between these is the delay that the items of the group add up to. If they are infinite, it
        is longer than `_longest`, so one item with a tolerance can be there at most.
    """
    if high == inf:
        by_delay = np.where(np.isfinite(company.tolerance), ONLY_ONE, 0.0)
    else:
        by_delay = least_pushes(company, low) / high
    yield by_delay
    for demand in np.ascontiguousarray(company.demand.T):
        if demand.sum() > 1.0:
            yield (by_delay + demand) / 2.0
            yield demand
