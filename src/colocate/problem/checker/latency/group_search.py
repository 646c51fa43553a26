"""Find the heaviest group of items that may share a GPU at a ratio.

Depth-first search. The first item of a group is its most fragile one, which tolerates the least
delay, so what the others add must stay below that: a knapsack, whose fractional solution (Dantzig,
1957) ends most branches. Items add more the longer they wait, so the knapsack counts what they add
at the delay that the group has at least.
"""

import numpy as np

from colocate.machine_code.entry import EntryKernel
from colocate.machine_code.marks import marked
from colocate.problem.checker.latency.companies import GpuCompany
from colocate.problem.checker.latency.delays import ROWS, STRIDE
from colocate.problem.checker.latency.groups import (
    DEEPEST,
    Floats,
    Ints,
    SearchedGroup,
    add,
    begin,
    level_of,
    possible,
)
from colocate.problem.checker.latency.kernel_parts import kernel_part
from colocate.problem.checker.tolerance import BELOW

NO_PUSH = 2.0**-500
"""Stands for the delay of items that add none, in divisors."""


@kernel_part
def most_more(
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
    first = level_of(c.grid, delay) // STRIDE
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


@kernel_part
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
    c, weight, order, place_of, after, wanted : as `most_more` takes them
    delay : what the group adds to the delay of any other item
    row, length : the row of delays that the group reaches, and the length of turns that wait
    room : how much delay may be added
    """
    left, more = room, 0.0
    for rank in range(order.shape[2]):
        item = order[length, row, rank]
        if place_of[item] < after or c.tolerance[item] <= delay:
            continue
        push = c.late[length, c.row[item], row]
        if push * BELOW > room:
            continue
        if push > left:
            return bool(more + weight[item] * (left / push) * (2.0 - BELOW) >= wanted)
        left -= push * BELOW
        more += weight[item]
        if more >= wanted:
            return True
    return False


def density_order(company: GpuCompany, weight: Floats) -> Ints:
    """Return the items by what they weigh for the delay that they add, at some levels of it."""
    push = np.maximum(company.late[:, company.row].transpose(0, 2, 1), NO_PUSH)
    return np.argsort(-(weight / push), axis=2, kind="stable")


@kernel_part
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
    row = level_of(c.grid, s.delay[0] * BELOW) // STRIDE + ROWS
    count = 0
    for place in range(rank.shape[0]):
        item = order[s.length[0], row, place]
        place_of[item] = -1
        apart = s.apart[s.item[0], item]
        if rank[item] > root and weight[item] > 0.0 and not apart:
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
            if next_one >= count or not most_more(
                c, s, depth, weight, order, place_of, next_one, wanted
            ):
                depth -= 1
                continue
            following[depth] = next_one + 1
            item = candidate[next_one]
            taken += 1
            if taken > last_step or depth + 2 >= DEEPEST or s.go[0] == 0:
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
