"""List the largest groups of items that may share a GPU at a ratio.

Whether a group is possible comes from an iteration that rounding tilts one way or the other, by the
order of its items. So a group may be called impossible although it is within one that is called
possible, or asked in another order. What is truly possible is called so in every order, with all
groups within it; the list must cover that, and may rest on nothing else.
"""

import numpy as np

from colocate.machine_code.entry import EntryKernel
from colocate.machine_code.marks import marked
from colocate.problem.checker.latency.companies import GpuCompany
from colocate.problem.checker.latency.group_search import most_more
from colocate.problem.checker.latency.groups import (
    DEEPEST,
    Floats,
    Ints,
    SearchedGroup,
    add,
    begin,
    possible,
)
from colocate.problem.checker.latency.kernel_parts import kernel_part
from colocate.problem.checker.tolerance import BELOW


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
    """Return possible groups as bits, and whether every possible group is within one of them.

    The search comes to a possible group after the larger ones that it is within, unless they add
    less fragile items to it; then it goes on to them. So each group either has one to go on to, or
    is within one that was found, or is written down.

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
                if not most_more(c, s, depth, weight, order, place_of, next_one, enough):
                    longer[depth] = True  # whatever is added later, the group is too light
                    next_one = items
            if next_one >= items:
                group = _choices_in(c, s, depth)
                ends_here = not longer[depth] and s.weight[depth] >= least
                if ends_here and not _is_within(found, count, group):
                    if count == most:
                        return found[:count], False
                    found[count] = group
                    count += 1
                depth -= 1
                continue
            following[depth] = next_one + 1
            item = by_tolerance[next_one]
            taken += 1
            if taken > steps or depth + 2 >= DEEPEST or s.go[0] == 0:
                return found[:count], False
            if add(c, s, depth, item, weight[item]) and possible(c, s, depth + 1):
                longer[depth] = True
                depth += 1
                following[depth], longer[depth] = next_one + 1, False
    return found[:count], True


@kernel_part
def _choices_in(c: GpuCompany, s: SearchedGroup, depth: int) -> np.int64:
    """Return the choices of a group up to a depth, as bits."""
    group = np.int64(0)
    for place in range(depth + 1):
        group |= np.int64(1) << c.choice[s.item[place]]
    return group


@kernel_part
def _is_within(found: Ints, count: int, group: np.int64) -> bool:
    """Return whether one of the groups found has all choices of a group, the last one first."""
    number = count - 1
    while number >= 0 and found[number] & group != group:
        number -= 1
    return number >= 0
