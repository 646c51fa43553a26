"""Find the heaviest group of items that may share a GPU at a ratio.

Depth-first search. The first item of a group is its most fragile one, which tolerates the least
delay, so what the others add must stay below that: a knapsack, whose fractional solution (Dantzig,
1957) ends most branches. Items add more the longer they wait, so the knapsack counts what they add
at the delay that the group has at least. A group that is impossible is so with any item added.
"""

from collections.abc import Callable
from math import inf, sqrt
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from colocate.machine_code.entry import EntryKernel
from colocate.machine_code.marks import marked
from colocate.problem.checker.companies import GpuCompany
from colocate.problem.checker.delays import LEVELS, ROWS, STRIDE
from colocate.problem.checker.latency import (
    BESIDE_NUMBERS,
    COUNTS,
    PREFILLED,
    TOKEN,
    beside,
    beside_at,
    delay_by,
    own_turn,
    ratio_of,
)
from colocate.problem.checker.tolerance import BELOW, FITS, SETTLED

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Function = TypeVar("Function", bound=Callable[..., object])

DEEPEST = 64
"""The most items in a group; a search that finds a larger one gives up."""
MOST_ENGINES = 256
"""The most engines in a group that the law itself is asked about."""
NO_PUSH = 2.0**-500
"""Stands for the delay of items that add none, in divisors."""
SWEEPS = 200
"""How often delays are passed on in a group at most; the sums only rise, so fewer are safe."""
QUICK_SWEEPS = 4
"""The same where the table stands in for the law."""


class SearchedGroup(NamedTuple):
    """The group that a search is at, by depth: one item was added at each."""

    item: Ints
    level: Ints
    """level[depth, place]: the delay of the item at a place, in the group up to that depth."""
    demand: Floats
    """demand[depth, r]: what the items up to that depth need."""
    delay: Floats
    """delay[depth]: what the group adds to the delay of any other item, at least."""
    slack: Floats
    """slack[depth]: how much more delay the item bears that bears the least."""
    length: Ints
    """length[depth]: the length of that item's turns."""
    weight: Floats
    engine: Ints
    """The engines of a group, while the law itself is asked."""
    state: Floats
    """state[engine, BESIDE_NUMBERS]: what delays make of them."""


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
    s.level[0, 0] = 0
    s.delay[0] = c.push[0, item, 0]
    s.slack[0] = c.tolerance[item]
    s.length[0] = c.length[item]
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
        s.level[deeper, place] = s.level[depth, place]
    s.level[deeper, deeper] = 0
    s.item[deeper] = item
    s.weight[deeper] = s.weight[depth] + weight
    return _pass_on(c, s, deeper)


@_part
def _delay_at(c: GpuCompany, s: SearchedGroup, depth: int, place: int) -> float:
    """Return what the others of a group add to the delay of one item, by the table."""
    length, delay = c.length[s.item[place]], 0.0
    for other in range(depth + 1):
        if other != place:
            delay += c.push[length, s.item[other], s.level[depth, other]]
    return delay * BELOW


@_part
def _pass_on(c: GpuCompany, s: SearchedGroup, depth: int) -> bool:
    """Raise the delays of items, by the table; False if one of them bears no more."""
    for _ in range(QUICK_SWEEPS):
        rose = False
        for place in range(depth, -1, -1):
            delay = _delay_at(c, s, depth, place)
            if delay >= c.tolerance[s.item[place]]:
                return False
            level = _level(c.grid, delay)
            if level > s.level[depth, place]:
                s.level[depth, place] = level
                rose = True
        if not rose:
            break
    s.delay[depth] = 0.0
    s.slack[depth] = inf
    for place in range(depth + 1):
        item = s.item[place]
        s.delay[depth] += c.push[0, item, s.level[depth, place]]
        bears = c.tolerance[item] - _delay_at(c, s, depth, place)
        if bears < s.slack[depth]:
            s.slack[depth] = bears
            s.length[depth] = c.length[item]
    return True


@_part
def possible(c: GpuCompany, s: SearchedGroup, depth: int) -> bool:
    """Return whether the group up to a depth is possible by the law itself, not by the table.

    Parameters
    ----------
    c, s, depth : the items, and the group up to a depth
    """
    engines = 0
    for place in range(depth + 1):
        for engine in range(c.first[s.item[place]], c.first[s.item[place] + 1]):
            if engines >= s.engine.shape[0]:
                return True
            s.engine[engines] = engine
            found = beside_at(c.engine[engine], c.grid[s.level[depth, place]], c.sharing, BELOW)
            for number in range(BESIDE_NUMBERS):
                s.state[engines, number] = found[number]
            engines += 1
    for _ in range(SWEEPS):
        rose = 0.0
        for row in range(engines):
            engine = c.engine[s.engine[row]]
            step = own_turn(engine, s.state[row, TOKEN], c.sharing, False) * BELOW
            work = own_turn(engine, s.state[row, TOKEN], c.sharing, True) * BELOW
            for_step = for_work = 0.0
            for other in range(engines):
                if other != row:
                    for_step += delay_by(s.state[other], step, c.sharing)
                    for_work += delay_by(s.state[other], work, c.sharing)
            found = beside(engine, for_step * BELOW, for_work * BELOW, c.sharing, BELOW)
            before = s.state[row, TOKEN] + s.state[row, PREFILLED]
            after = found[TOKEN] + found[PREFILLED]
            rose = max(rose, (after - before) / after if after > 0.0 else 0.0)
            for number in range(BESIDE_NUMBERS):
                s.state[row, number] = max(s.state[row, number], found[number])
            if engine[COUNTS] > 0.0 and ratio_of(engine, s.state[row], BELOW) >= c.ratio:
                return False
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
    wanted: float,
) -> bool:
    """Return whether further items of a group may weigh as much as is wanted.

    The longer the group's delay is in the end, the more all items add. So there is a last row of
    delays at which the items can still weigh enough, and up to that row there is only so much room.

    Parameters
    ----------
    c, s, depth : the items, and the group up to a depth
    weight : of every item
    order : by length of turns and row of delays, the items that weigh most for what they add first
    place_of, after : the place of every item in the search; those from one place on may be added
    wanted : the weight
    """
    length, slack, delay = s.length[depth], s.slack[depth], s.delay[depth] * BELOW
    first = _level(c.grid, delay) // STRIDE
    now = first + ROWS
    if not _fills(c, weight, order, place_of, after, delay, now, length, slack, wanted):
        return False
    low, high = first, ROWS
    while high - low > 1:
        row = (low + high) // 2
        if _fills(c, weight, order, place_of, after, delay, row, length, slack, wanted):
            low = row
        else:
            high = row
    if high == ROWS:
        return True
    room = c.grid[high * STRIDE] - delay
    return _fills(c, weight, order, place_of, after, delay, now, 0, room, wanted)


@_part
def _fills(
    c: GpuCompany,
    weight: Floats,
    order: Ints,
    place_of: Ints,
    after: int,
    delay: float,
    row: int,
    length: int,
    room: float,
    wanted: float,
) -> bool:
    """Return whether items that add no more than there is room for may weigh enough together.

    Parameters
    ----------
    c, weight, order, place_of, after, wanted : as `_most_more` takes them
    delay : what the group adds to the delay of any other item
    row, length : the row of delays that the group reaches, and the length of turns that wait
    room : how much delay may be added
    """
    left, more = room, 0.0
    for rank in range(order.shape[2]):
        item = order[length, row, rank]
        if place_of[item] < after or c.tolerance[item] <= delay:
            continue
        push = c.late[length, item, row]
        if push * BELOW > room:
            continue
        if push > left:
            return bool(more + weight[item] * (left / push) * (2.0 - BELOW) >= wanted)
        left -= push * BELOW
        more += weight[item]
        if more >= wanted:
            return True
    return False


def empty_search(company: GpuCompany) -> SearchedGroup:
    """Return the memory that a search needs."""
    resources = company.demand.shape[1]
    engines = min(len(company.engine), MOST_ENGINES) + 1
    return SearchedGroup(
        np.zeros(DEEPEST, np.int64),
        np.zeros((DEEPEST, DEEPEST), np.int64),
        np.zeros((DEEPEST, resources)),
        np.zeros(DEEPEST),
        np.zeros(DEEPEST),
        np.zeros(DEEPEST, np.int64),
        np.zeros(DEEPEST),
        np.zeros(engines, np.int64),
        np.zeros((engines, BESIDE_NUMBERS)),
    )


def density_order(company: GpuCompany, weight: Floats) -> Ints:
    """Return the items by what they weigh for the delay that they add, at some levels of it."""
    push = np.maximum(company.late.transpose(0, 2, 1), NO_PUSH)
    return np.argsort(-(weight / push), axis=2, kind="stable")


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
    row = _level(c.grid, s.delay[0] * BELOW) // STRIDE + ROWS
    count = 0
    for place in range(rank.shape[0]):
        item = order[s.length[0], row, place]
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
    gain: float,
    steps: int,
    all_steps: int,
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
    gain : how much more than was found is worth a search; up to 1 for whole weights
    steps, all_steps : the most items that the search may try to add, for each most fragile one, and
        in all
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
        last_step = min(taken + steps, all_steps)
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
            wanted = best + gain - s.weight[depth]
            if next_one >= count or not _most_more(
                c, s, depth, weight, order, place_of, next_one, wanted
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
            if next_one < items and wanted > 0.0:
                enough = wanted * (2.0 * BELOW - 1.0)
                if not _most_more(c, s, depth, weight, order, place_of, next_one, enough):
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
