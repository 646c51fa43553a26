"""Find the heaviest group of items that may share a GPU at a ratio.

Depth-first search. The first item of a group is its most fragile one, which tolerates the least
delay, so what the others add must stay below that: a knapsack, whose fractional solution (Dantzig,
1957) ends most branches. Items add more the longer they wait, so the knapsack counts what they add
at the delay of the group so far. A group that is impossible is so with any item added.
"""

from collections.abc import Callable
from math import inf, sqrt
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from colocate.machine_code.entry import EntryKernel
from colocate.machine_code.marks import marked
from colocate.problem.checker.companies import GpuCompany
from colocate.problem.checker.delays import LEVELS, added_by
from colocate.problem.checker.tolerance import BELOW, FITS, SETTLED

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Function = TypeVar("Function", bound=Callable[..., object])

DEEPEST = 64
"""The most items in a group; a search that finds a larger one gives up."""
STRIDE = 16
"""Levels of delay for which items are ordered by what they weigh for the delay that they add."""
NO_PUSH = 2.0**-500
"""Stands for the delay of items that add none, in divisors."""
SWEEPS = 200
"""How often delays are passed on in a group at most; the sums only rise, so fewer are safe."""
QUICK_SWEEPS = 4
"""The same where the table stands in for the law."""


class SearchedGroup(NamedTuple):
    """The group that a search is at, by depth: one item was added at each."""

    item: Ints
    push: Floats
    """push[depth, place]: what the item at a place adds, in the group up to that depth."""
    demand: Floats
    """demand[depth, r]: what the items up to that depth need."""
    delay: Floats
    """delay[depth]: what all items of the group add."""
    slack: Floats
    """slack[depth]: how much more delay the most fragile item bears."""
    weight: Floats
    added: Floats
    """Scratch for the engines of one item."""


def _part(function: Function) -> Function:
    return marked(function, _nrt=False)


@_part
def _level(grid: Floats, delay: float) -> int:
    """Return the last level whose delay is no longer."""
    longest = grid[LEVELS - 1]
    if delay >= longest:
        return LEVELS - 1
    level = int(sqrt(delay / longest) * (LEVELS - 1))
    while grid[level] > delay:
        level -= 1
    return level


@_part
def _clash(c: GpuCompany, one: int, other: int) -> bool:
    """Return whether two items must be on different GPUs."""
    if c.owner[one] == c.owner[other]:
        return True
    for mine in range(c.first_colour[one], c.first_colour[one + 1]):
        for theirs in range(c.first_colour[other], c.first_colour[other + 1]):
            if c.colour[mine] == c.colour[theirs]:
                return True
    return False


@_part
def begin(c: GpuCompany, s: SearchedGroup, item: int, weight: float) -> None:
    """Start a group with one item.

    Parameters
    ----------
    c, s : the items, and memory for the search
    item, weight : the item, and what it weighs
    """
    s.item[0] = item
    s.push[0, 0] = c.push[item, 0]
    s.delay[0] = c.push[item, 0]
    s.slack[0] = c.tolerance[item]
    s.weight[0] = weight
    for r in range(c.demand.shape[1]):
        s.demand[0, r] = c.demand[item, r]


@_part
def add(c: GpuCompany, s: SearchedGroup, depth: int, item: int, weight: float) -> bool:
    """Write the group with one more item to the next depth; False if it is impossible.

    Parameters
    ----------
    c, s, depth : the items, and the group up to a depth
    item, weight : the item, and what it weighs
    """
    if s.delay[depth] * BELOW >= c.tolerance[item]:
        return False
    for place in range(depth + 1):
        if _clash(c, s.item[place], item):
            return False
    deeper = depth + 1
    for r in range(c.demand.shape[1]):
        s.demand[deeper, r] = s.demand[depth, r] + c.demand[item, r]
        if s.demand[deeper, r] * BELOW > FITS:
            return False
    for place in range(deeper):
        s.push[deeper, place] = s.push[depth, place]
    s.push[deeper, deeper] = c.push[item, _level(c.grid, s.delay[depth] * BELOW)]
    s.item[deeper] = item
    s.weight[deeper] = s.weight[depth] + weight
    return _pass_on(c, s, deeper)


@_part
def _delay_at(s: SearchedGroup, depth: int, place: int) -> float:
    """Return what the others of a group add to the delay of one item, rounded down."""
    delay = 0.0
    for other in range(depth + 1):
        if other != place:
            delay += s.push[depth, other]
    return delay * BELOW


@_part
def _pass_on(c: GpuCompany, s: SearchedGroup, depth: int) -> bool:
    """Raise what items add to each other, by the table; False if one of them bears no more."""
    for _ in range(QUICK_SWEEPS):
        rose = False
        for place in range(depth + 1):
            delay = _delay_at(s, depth, place)
            item = s.item[place]
            if delay >= c.tolerance[item]:
                return False
            push = c.push[item, _level(c.grid, delay)]
            if push > s.push[depth, place]:
                s.push[depth, place] = push
                rose = True
        if not rose:
            break
    s.delay[depth] = 0.0
    for place in range(depth + 1):
        s.delay[depth] += s.push[depth, place]
    s.slack[depth] = inf
    for place in range(depth + 1):
        bears = c.tolerance[s.item[place]] - (s.delay[depth] - s.push[depth, place]) * BELOW
        s.slack[depth] = min(s.slack[depth], bears)
    return True


@_part
def possible(c: GpuCompany, s: SearchedGroup, depth: int) -> bool:
    """Return whether the group up to a depth is possible by the law itself, not by the table.

    Parameters
    ----------
    c, s, depth : the items, and the group up to a depth
    """
    for _ in range(SWEEPS):
        rose = 0.0
        for place in range(depth + 1):
            delay = _delay_at(s, depth, place)
            item = s.item[place]
            start, end = c.first[item], c.first[item + 1]
            if delay >= c.tolerance[item]:
                return False
            push = added_by(c.engine, start, end, delay, c.sharing, s.added)
            if push > s.push[depth, place]:
                rose = max(rose, (push - s.push[depth, place]) / push)
                s.push[depth, place] = push
        if rose <= SETTLED:
            return True
    return True


@_part
def _most_more(
    c: GpuCompany,
    s: SearchedGroup,
    depth: int,
    weight: Floats,
    order: Ints,
    place_of: Ints,
    after: int,
    enough: float,
) -> float:
    """Return a weight that further items of a group cannot exceed together.

    Parameters
    ----------
    c, s, depth : the items, and the group up to a depth
    weight : of every item
    order : by level of delay, the items that weigh most for what they add first
    place_of, after : the place of every item in the search; those from one place on may be added
    enough : the search for more may end here
    """
    delay = s.delay[depth] * BELOW
    row = _level(c.grid, delay) // STRIDE
    room, more = float(s.slack[depth]), 0.0
    for rank in range(order.shape[1]):
        item = order[row, rank]
        if place_of[item] < after or c.tolerance[item] <= delay:
            continue
        push = c.push[item, row * STRIDE]
        if push * BELOW > s.slack[depth]:
            continue
        if push > room:
            part: float = weight[item] * (room / push) * (2.0 - BELOW)
            return more + part
        room -= push * BELOW
        more += float(weight[item])
        if more > enough:
            return more
    return more


def empty_search(company: GpuCompany) -> SearchedGroup:
    """Return the memory that a search needs."""
    engines, resources = len(company.engine), company.demand.shape[1]
    return SearchedGroup(
        np.zeros(DEEPEST, np.int64),
        np.zeros((DEEPEST, DEEPEST)),
        np.zeros((DEEPEST, resources)),
        np.zeros(DEEPEST),
        np.zeros(DEEPEST),
        np.zeros(DEEPEST),
        np.zeros(engines + 1),
    )


def density_order(company: GpuCompany, weight: Floats) -> Ints:
    """Return the items by what they weigh for the delay that they add, at some levels of it."""
    push = np.maximum(company.push[:, ::STRIDE].T, NO_PUSH)
    return np.argsort(-(weight / push), axis=1, kind="stable")


@_part
def _candidates(
    c: GpuCompany,
    s: SearchedGroup,
    weight: Floats,
    order: Ints,
    rank: Ints,
    root: int,
    candidate: Ints,
    place_of: Ints,
) -> int:
    """Write down what may join the most fragile item, and return how many items that is.

    Parameters
    ----------
    c, s : the items, and a group of the most fragile item alone
    weight, order : of every item, and from `density_order`
    rank, root : the rank of every item by its tolerance, and that of the most fragile one
    candidate, place_of : written here, the items in the order of the search, and their places
    """
    row = _level(c.grid, s.delay[0] * BELOW) // STRIDE
    count = 0
    for place in range(rank.shape[0]):
        item = order[row, place]
        place_of[item] = -1
        if rank[item] > root and weight[item] > 0.0:
            place_of[item] = count
            candidate[count] = item
            count += 1
    return count


@EntryKernel
@marked
def heaviest_groups(
    c: GpuCompany,
    s: SearchedGroup,
    weight: Floats,
    order: Ints,
    floor: float,
    each: bool,
    ease: float,
    steps: int,
) -> tuple[float, Ints, int, bool]:
    """Return the most that a possible group weighs, groups above a floor, steps, completeness.

    Groups are in the order of their most fragile items. Where no possible group weighs more than
    the floor, the floor is the most. If the search is not complete, heavier groups may exist.

    Parameters
    ----------
    c, s : the items, and memory for the search
    weight, order : of every item, and from `density_order`
    floor : groups up to this weight are of no interest
    each : whether to find a heaviest group for each item as the most fragile one, not one overall
    ease : how much more than was found, as a share of it, is not worth a search; 0 for the checker
    steps : the most items that the search may try to add, for each most fragile one if `each`
    """
    items = c.tolerance.shape[0]
    by_tolerance = np.argsort(c.tolerance, kind="mergesort")
    rank = np.empty(items, np.int64)
    for place in range(items):
        rank[by_tolerance[place]] = place
    groups = np.full((items, DEEPEST), -1)
    found, taken, complete = 0, 0, True
    most = floor
    place_of = np.empty(items, np.int64)
    candidate = np.empty(items, np.int64)
    following = np.empty(DEEPEST, np.int64)
    for root in range(items):
        fragile = by_tolerance[root]
        if weight[fragile] <= 0.0:
            continue
        best = floor if each else most
        last_step = taken + steps if each else steps
        begin(c, s, fragile, weight[fragile])
        count = _candidates(c, s, weight, order, rank, root, candidate, place_of)
        size = 0
        if weight[fragile] > best:
            best, size = weight[fragile], 1
            groups[found, 0] = fragile
        depth = 0
        following[0] = 0
        while depth >= 0:
            next_one = following[depth]
            wanted = best * (1.0 + ease) - s.weight[depth]
            if (
                next_one >= count
                or _most_more(c, s, depth, weight, order, place_of, next_one, wanted) <= wanted
            ):
                depth -= 1
                continue
            following[depth] = next_one + 1
            item = candidate[next_one]
            taken += 1
            if taken > last_step or depth + 2 >= DEEPEST:
                complete = False
                break
            if not add(c, s, depth, item, weight[item]):
                continue
            if s.weight[depth + 1] > best:
                if not possible(c, s, depth + 1):
                    continue
                best, size = s.weight[depth + 1], depth + 2
                for place in range(size):
                    groups[found, place] = s.item[place]
            depth += 1
            following[depth] = next_one + 1
        if size > 0:
            for place in range(size, DEEPEST):
                groups[found, place] = -1
            found += 1
        most = max(most, best)
    return most, groups[:found], taken, complete


@EntryKernel
@marked
def group_is_possible(c: GpuCompany, s: SearchedGroup, members: Ints) -> bool:
    """Return whether some items may share a GPU; at most `DEEPEST` of them.

    Parameters
    ----------
    c, s : the items, and memory for the search
    members : the numbers of the items
    """
    begin(c, s, members[0], 0.0)
    for place in range(1, members.shape[0]):
        if not add(c, s, place - 1, members[place], 0.0):
            return False
    return possible(c, s, members.shape[0] - 1)


@EntryKernel
@marked
def largest_groups(
    c: GpuCompany,
    s: SearchedGroup,
    weight: Floats,
    order: Ints,
    least: float,
    most: int,
    steps: int,
) -> tuple[Ints, bool]:
    """Return the possible groups that no item can be added to, as bits, and whether all are there.

    Parameters
    ----------
    c, s : the items, at most 62 choices, and memory for the search
    weight, order : of every item, and from `density_order`
    least : groups that weigh less are left out
    most : the most groups
    steps : the most items that the search may try to add
    """
    items = c.tolerance.shape[0]
    by_tolerance = np.argsort(c.tolerance, kind="mergesort")
    found = np.zeros(most, np.int64)
    count, taken = 0, 0
    place_of = np.empty(items, np.int64)
    following = np.empty(DEEPEST, np.int64)
    longer = np.zeros(DEEPEST, np.bool_)
    for place in range(items):
        place_of[by_tolerance[place]] = place
    for root in range(items):
        begin(c, s, by_tolerance[root], weight[by_tolerance[root]])
        depth = 0
        following[0], longer[0] = root + 1, False
        while depth >= 0:
            next_one = following[depth]
            wanted = least - s.weight[depth]
            if next_one < items:
                more = _most_more(c, s, depth, weight, order, place_of, next_one, wanted)
                if more * (2.0 - BELOW) < wanted:
                    longer[depth] = True  # whatever is added later, the group is too light
                    next_one = items
            if next_one >= items:
                ends_here = not longer[depth] and s.weight[depth] >= least
                if ends_here and not _can_grow(c, s, depth):
                    if count == most:
                        return found[:count], False
                    for place in range(depth + 1):
                        found[count] |= np.int64(1) << c.choice[s.item[place]]
                    count += 1
                depth -= 1
                continue
            following[depth] = next_one + 1
            item = by_tolerance[next_one]
            taken += 1
            if taken > steps or depth + 2 >= DEEPEST:
                return found[:count], False
            if add(c, s, depth, item, weight[item]) and possible(c, s, depth + 1):
                longer[depth] = True
                depth += 1
                following[depth], longer[depth] = next_one + 1, False
    return found[:count], True


@_part
def _can_grow(c: GpuCompany, s: SearchedGroup, depth: int) -> bool:
    """Return whether some item can be added to a group."""
    for item in range(c.tolerance.shape[0]):
        inside = False
        for place in range(depth + 1):
            inside = inside or s.item[place] == item
        if not inside and add(c, s, depth, item, 0.0) and possible(c, s, depth + 1):
            return True
    return False
