"""Say whether items may share a GPU at a ratio, as a search adds one after the other.

First by tables of what each adds to the delay of the others, then by the law itself. A group that
is impossible is so with any item added.
"""

from math import inf, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from colocate.machine_code.entry import EntryKernel
from colocate.machine_code.marks import marked
from colocate.problem.checker.latency.companies import GpuCompany
from colocate.problem.checker.latency.delays import LEVELS
from colocate.problem.checker.latency.kernel_parts import kernel_part
from colocate.problem.checker.latency.law import (
    BESIDE_NUMBERS,
    COUNTS,
    ENGINE_NUMBERS,
    PREFILLED,
    RATE,
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
Flags = NDArray[np.bool_]

DEEPEST = 64
"""The most items in a group; a search that finds a larger one gives up."""
MOST_ENGINES = 256
"""The most engines in a group that the law itself is asked about."""
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
    row: Floats
    """row[engine, ENGINE_NUMBERS]: their numbers in a time window."""
    start: Floats
    """start[engine]: a delay that each of them has at least."""
    apart: Flags
    """apart[item, item]: whether the law was asked about two items, and forbids them to share."""
    asked: Ints
    """The further windows in which the law was asked about a group."""
    forbids: Ints
    """forbids[item]: the further window in which the law forbade the last group with an item, -1
    if there was none."""
    go: Ints
    """go[0]: 0 ends the search."""


@kernel_part
def level_of(grid: Floats, delay: float) -> int:
    """Return the last level whose delay is no longer."""
    longest = grid[LEVELS - 1]
    if delay >= longest:
        return LEVELS - 1
    level = int(sqrt(delay / longest) * (LEVELS - 1))
    while grid[level] > delay:
        level -= 1
    return level


@kernel_part
def _clash(c: GpuCompany, one: int, other: int) -> bool:
    """Return whether two items must be on different GPUs."""
    if c.owner[one] == c.owner[other]:
        return True
    here, there = c.row[one], c.row[other]
    for mine in range(c.first_colour[here], c.first_colour[here + 1]):
        for theirs in range(c.first_colour[there], c.first_colour[there + 1]):
            if c.colour[mine] == c.colour[theirs]:
                return True
    return False


@kernel_part
def begin(c: GpuCompany, s: SearchedGroup, item: int, weight: float) -> None:
    """Start a group with one item.

    Parameters
    ----------
    c, s : the items, and memory for the search
    item, weight : the item, and what it weighs
    """
    s.item[0] = item
    s.level[0, 0] = 0
    s.delay[0] = c.push[0, c.row[item], 0]
    s.slack[0] = c.tolerance[item]
    s.length[0] = c.length[item]
    s.weight[0] = weight
    for r in range(c.demand.shape[1]):
        s.demand[0, r] = c.demand[item, r]


@kernel_part
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
        if s.apart[s.item[place], item] or _clash(c, s.item[place], item):
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


@kernel_part
def _delay_at(c: GpuCompany, s: SearchedGroup, depth: int, place: int) -> float:
    """Return what the others of a group add to the delay of one item, by the table."""
    length, delay = c.length[s.item[place]], 0.0
    for other in range(depth + 1):
        if other != place:
            delay += c.push[length, c.row[s.item[other]], s.level[depth, other]]
    return delay * BELOW


@kernel_part
def _pass_on(c: GpuCompany, s: SearchedGroup, depth: int) -> bool:
    """Raise the delays of items, by the table; False if one of them bears no more."""
    for _ in range(QUICK_SWEEPS):
        rose = False
        for place in range(depth, -1, -1):
            delay = _delay_at(c, s, depth, place)
            if delay >= c.tolerance[s.item[place]]:
                return False
            level = level_of(c.grid, delay)
            if level > s.level[depth, place]:
                s.level[depth, place] = level
                rose = True
        if not rose:
            break
    s.delay[depth] = 0.0
    s.slack[depth] = inf
    for place in range(depth + 1):
        item = s.item[place]
        s.delay[depth] += c.push[0, c.row[item], s.level[depth, place]]
        bears = c.tolerance[item] - _delay_at(c, s, depth, place)
        if bears < s.slack[depth]:
            s.slack[depth] = bears
            s.length[depth] = c.length[item]
    return True


@kernel_part
def possible(c: GpuCompany, s: SearchedGroup, depth: int) -> bool:
    """Return whether the group up to a depth is possible by the law itself, not by the table.

    Parameters
    ----------
    c, s, depth : the items, and the group up to a depth
    """
    found = _possible(c, s, depth)
    if depth == 1 and not found:
        s.apart[s.item[0], s.item[1]] = s.apart[s.item[1], s.item[0]] = True
    return found


@kernel_part
def _possible(c: GpuCompany, s: SearchedGroup, depth: int) -> bool:
    """Return the same, asking the law in every time window that may decide.

    Parameters
    ----------
    c, s, depth : the items, and the group up to a depth
    """
    engines = 0
    for place in range(depth + 1):
        row = c.row[s.item[place]]
        for engine in range(c.first[row], c.first[row + 1]):
            if engines >= s.engine.shape[0]:
                return True
            s.engine[engines] = engine
            s.start[engines] = c.grid[s.level[depth, place]]
            for number in range(ENGINE_NUMBERS):
                s.row[engines, number] = c.engine[engine, number]
            engines += 1
    if not _settles(c, s, engines):
        return False
    for place in range(depth + 1):
        window = s.forbids[s.item[place]]
        if window >= 0 and not _settles_in(c, s, engines, window):
            return False
    asked = 0
    for window in range(c.others.shape[0]):
        if not _asks_more(c, s, engines, window, asked):
            continue
        s.asked[asked] = window
        asked += 1
        if not _settles_in(c, s, engines, window):
            for place in range(depth + 1):
                s.forbids[s.item[place]] = window
            return False
    return True


@kernel_part
def _settles_in(c: GpuCompany, s: SearchedGroup, engines: int, window: int) -> bool:
    """Return whether engines that share a GPU may all stay below the ratio in a further window.

    Parameters
    ----------
    c, s, engines : as `_settles` takes them
    window : the window
    """
    for row in range(engines):
        s.start[row] = 0.0
        s.row[row, RATE] = c.others[window, s.engine[row]]
        s.row[row, COUNTS] = c.counts[window, s.engine[row]]
    return _settles(c, s, engines)


@kernel_part
def _asks_more(c: GpuCompany, s: SearchedGroup, engines: int, window: int, asked: int) -> bool:
    """Return whether each window before asks less of some engine of a group.

    If not, the window need not be tried: leaving one out is safe, and it would change nothing.

    Parameters
    ----------
    c, s : the items, and the engines of the group
    engines : how many there are
    window, asked : a further window, and how many were tried before it
    """
    for before in range(-1, asked):
        more = False
        for place in range(engines):
            engine = s.engine[place]
            rate = c.engine[engine, RATE] if before < 0 else c.others[s.asked[before], engine]
            if c.others[window, engine] > rate:
                more = True
                break
        if not more:
            return False
    return True


@kernel_part
def _settles(c: GpuCompany, s: SearchedGroup, engines: int) -> bool:
    """Return whether engines that share a GPU may all stay below the ratio.

    Parameters
    ----------
    c, s : the items, and the engines: their numbers in a time window, and delays to start from
    engines : how many there are
    """
    for row in range(engines):
        found = beside_at(s.row[row], s.start[row], c.sharing, BELOW)
        for number in range(BESIDE_NUMBERS):
            s.state[row, number] = found[number]
    for _ in range(SWEEPS):
        rose = 0.0
        for row in range(engines):
            engine = s.row[row]
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


def empty_search(company: GpuCompany, go: Ints | None = None) -> SearchedGroup:
    """Return the memory that a search needs.

    Parameters
    ----------
    company
        The items.
    go
        What ends the search early once its number is 0; None if nothing does.
    """
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
        np.zeros((engines, ENGINE_NUMBERS)),
        np.zeros(engines),
        np.zeros((len(company.owner), len(company.owner)), np.bool_),
        np.zeros(len(company.others), np.int64),
        np.full(len(company.owner), -1),
        np.ones(1, np.int64) if go is None else go,
    )


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
