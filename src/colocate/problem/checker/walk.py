"""Walk the tree of an exhaustive search, to see that it leaves out no placement.

The search fills one GPU after the other. An OPEN frame takes the first item that is not placed and
puts it on some GPU that is still empty. A FILL frame adds one more item to that GPU, or closes it.
The symbols of a tree say what was tried, in the order of the search:

- in an OPEN frame: `g + 1`, a FILL frame of GPU g follows; 0, that was all;
- in a FILL frame: `j + 2`, a FILL frame with item j added follows; 1, the GPU is closed and an OPEN
  frame follows; 0, that was all.

Each frame stands for all placements that agree with the decisions on the way to it, and the tree
claims that it holds none. What a frame does not try must be impossible, or lead only to placements
that earlier frames cover. Comments in `walk` give the reason for each step. The proof is by
induction over the frames, in the order in which they end.

Once an item was tried on a GPU, it is barred from that GPU for the rest of the frame, and so are
items equal to it: exchanging the two gives a placement with the item that was tried.

All of this is in one file, with the state in local arrays: the compiler then keeps the sums of the
GPU that is being filled close by, which a million frames a second need.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from colocate.machine_code.entry import EntryKernel
from colocate.machine_code.marks import marked

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Function = TypeVar("Function", bound=Callable[..., object])

OPEN, FILL, CLOSED = 0, 1, 2
"""Kinds of frame. A FILL frame whose GPU was closed has nothing more to try."""
NO_SHARD_GROUP = -1
"""Stands for the shard group of items that are in none."""
UNLIMITED = 2**62
"""More than any sum of needs or uses: all sums stay below two to the power 61."""

(
    HOLDS,
    CUT_OFF,
    TRAILING,
    OUT_OF_RANGE,
    OPENED_TWICE,
    PLACED_TWICE,
    AFTER_CLOSE,
    GPU_LEFT_OUT,
    ITEM_LEFT_OUT,
    NOT_CLOSED,
    ALL_PLACED,
    TOO_DEEP,
    TOO_LARGE,
) = range(13)
"""What a walk found: `HOLDS`, or the first fault."""


class WalkTables(NamedTuple):
    """The problem as the walk sees it: kinds of items and of GPUs, in whole numbers.

    Items of one kind are equal, and GPUs of one kind are twins: exchanging two of them changes
    nothing. A demand has a number for every window, then one for every resource, and finally 1 if
    there is load.
    """

    kind_of: Ints
    """Of every item, in the order of the search."""
    demand: Ints
    """By column of uses and kind."""
    facts: Ints
    """By kind: its row of `allowed`; its shard group, whose items must be on one node; where its
    colours begin in `colour`, and where they end."""
    colour: Ints
    twin_of: Ints
    """Of every GPU."""
    room: Ints
    """The room on a kind of GPU: with load, and without load, which is more."""
    gpu_facts: Ints
    """By kind of GPU: its column of uses, its column of `allowed`, its node."""
    allowed: Bytes
    waste: Ints
    """By window: how much all GPUs together may leave unused."""


ROW, SHARD_GROUP, FIRST_COLOUR, LAST_COLOUR = range(4)
COLUMN, PLACE, NODE = range(3)


class WalkState(NamedTuple):
    """The items on the GPUs that were opened, and what is left."""

    twin: Ints
    """By number of GPUs opened: the kind of the last of them."""
    on: Ints
    """By number of GPUs opened: the sum of all demands on the last of them."""
    waste: Ints
    """By number of GPUs closed, and window: how much the others may leave unused."""
    left: Ints
    """By kind of item: how many are not placed."""
    mark: Ints
    """By colour: the last of the opened GPUs that it is on."""
    undone: Ints
    """Marks that were written over."""
    shard_groups: Ints
    """By shard group: how many of its items are placed, and on which node."""


def _part(function: Function) -> Function:
    """Inline the machine code of what the walk calls, which makes the walk faster."""
    return marked(function, _nrt=False, forceinline=True)


@_part
def _fits(q: WalkTables, s: WalkState, kind: int, level: int) -> bool:
    """Return whether one more item fits on the GPU beside what is on it."""
    twin = s.twin[level]
    column = q.gpu_facts[twin, COLUMN]
    last = s.on.shape[1] - 1
    # The last number of a demand counts load. Only a GPU without any may be filled to the brim.
    calm = 0 if s.on[level, last] + q.demand[column, kind, last] > 0 else 1
    for d in range(last):
        if s.on[level, d] + q.demand[column, kind, d] > q.room[calm, twin, d]:
            return False
    for at in range(q.facts[kind, FIRST_COLOUR], q.facts[kind, LAST_COLOUR]):
        if s.mark[q.colour[at]] == level:
            return False
    return True


@_part
def _may_be(q: WalkTables, s: WalkState, kind: int, twin: int) -> bool:
    """Return whether pins and shard group allow an item on a GPU, whatever is on it."""
    if q.allowed[q.facts[kind, ROW], q.gpu_facts[twin, PLACE]] == 0:
        return False
    shard_group = q.facts[kind, SHARD_GROUP]
    # The first shard placed chooses the node for the rest of its group.
    if shard_group == NO_SHARD_GROUP or s.shard_groups[shard_group, 0] == 0:
        return True
    return bool(s.shard_groups[shard_group, 1] == q.gpu_facts[twin, NODE])


@_part
def _fits_empty(q: WalkTables, s: WalkState, kind: int, twin: int) -> bool:
    """Return whether an item fits on a GPU that is empty."""
    column = q.gpu_facts[twin, COLUMN]
    last = s.on.shape[1] - 1
    calm = 0 if q.demand[column, kind, last] > 0 else 1
    for d in range(last):
        if q.demand[column, kind, d] > q.room[calm, twin, d]:
            return False
    return _may_be(q, s, kind, twin)


@_part
def _add(q: WalkTables, s: WalkState, kind: int, level: int, undone: int) -> int:
    """Put an item on the GPU; return how many marks were overwritten so far."""
    column = q.gpu_facts[s.twin[level], COLUMN]
    for d in range(s.on.shape[1]):
        s.on[level, d] += q.demand[column, kind, d]
    for at in range(q.facts[kind, FIRST_COLOUR], q.facts[kind, LAST_COLOUR]):
        s.undone[undone] = s.mark[q.colour[at]]
        s.mark[q.colour[at]] = level
        undone += 1
    return undone


@_part
def _remove(q: WalkTables, s: WalkState, kind: int, level: int, undone: int) -> int:
    """Take back the item that was added last."""
    column = q.gpu_facts[s.twin[level], COLUMN]
    for d in range(s.on.shape[1]):
        s.on[level, d] -= q.demand[column, kind, d]
    for at in range(q.facts[kind, LAST_COLOUR] - 1, q.facts[kind, FIRST_COLOUR] - 1, -1):
        undone -= 1
        s.mark[q.colour[at]] = s.undone[undone]
    return undone


@_part
def _wasteful(q: WalkTables, s: WalkState, level: int) -> bool:
    """Return whether the GPU as it is leaves more than all GPUs not yet closed may leave.

    In a placement, what GPUs leave adds up to the difference between all rooms and all needs, and
    no GPU leaves less than nothing.
    """
    for t in range(q.waste.size):
        if q.room[1, s.twin[level], t] - s.on[level, t] > s.waste[level - 1, t]:
            return True
    return False


@_part
def _last(
    q: WalkTables,
    s: WalkState,
    kind: int,
    level: int,
    pile: Ints,
    live: int,
    top: int,
    least: Ints,
    undone: int,
) -> bool:
    """Return whether an item would be the last one on the GPU, which would then leave too much."""
    undone = _add(q, s, kind, level, undone)
    last = _wasteful(q, s, level)
    full = False
    for t in range(q.waste.size):
        full = full or s.on[level, t] + least[t] > q.room[1, s.twin[level], t]
    # `least` answers most questions: where even the smallest need of all fits no more, no other
    # item has to be tried.
    if last and not full:
        for number in range(live, top):
            other = pile[number]
            more = s.left[other] > 1 if other == kind else True
            if more and _fits(q, s, other, level):
                last = False
                break
    _remove(q, s, kind, level, undone)
    return last


@_part
def _movable(q: WalkTables, s: WalkState, kind: int) -> bool:
    """Return whether an item may be moved to any GPU on which it fits.

    If a sibling is placed already, the item fits only in the node of that sibling. If none is
    placed, moving it alone could part it from its siblings.
    """
    shard_group = q.facts[kind, SHARD_GROUP]
    return bool(shard_group == NO_SHARD_GROUP or s.shard_groups[shard_group, 0] > 0)


@_part
def _symbol(tree: Bytes, at: int, width: int) -> int:
    """Return a symbol of one byte, or of two with the lower one first."""
    if width == 1:
        return int(tree[at])
    return int(tree[2 * at]) + 256 * int(tree[2 * at + 1])


@_part
def _skipped(
    tree: Bytes, width: int, at: int, items: int, gpus: int, kinds: Bytes, most: int
) -> int:
    """Return the end of a FILL frame that holds no placement, whatever was tried in it.

    Less than 0 if the frame does not end properly.
    """
    depth = 0
    kinds[0] = FILL
    while depth >= 0:
        if at >= tree.size // width:
            return -CUT_OFF
        symbol = _symbol(tree, at, width)
        at += 1
        if symbol == 0:
            depth -= 1
            continue
        if symbol > (gpus if kinds[depth] == OPEN else items + 1):
            return -OUT_OF_RANGE
        closes = kinds[depth] == FILL and symbol == 1
        depth += 1
        if depth >= most:
            return -TOO_DEEP
        kinds[depth] = OPEN if closes else FILL
    return at


@EntryKernel
@marked
def walk(  # noqa: PLR0911, PLR0915
    q: WalkTables, tree: Bytes, width: int, budget: int, most_pile: int
) -> tuple[int, int]:
    """Walk a tree.

    Parameters
    ----------
    q
        What is to be packed; no two sums may be too large for 64 bits.
    tree, width
        The symbols, and how many bytes each has.
    budget
        How many numbers of kinds of items or GPUs may be looked at.
    most_pile
        How many kinds of items may be remembered at a time.

    Returns
    -------
    tuple[int, int]
        `HOLDS`, or what is wrong, and after how many symbols.
    """
    items, gpus, symbols = q.kind_of.size, q.twin_of.size, tree.size // width
    _, kinds, numbers = q.demand.shape
    twins, windows = q.gpu_facts.shape[0], q.waste.size
    levels = min(items, gpus) + 1
    colours, shard_groups, marks, widest = 0, 0, 0, 0
    for at in range(q.colour.size):
        colours = max(colours, q.colour[at] + 1)
    for item in range(items):
        kind = q.kind_of[item]
        shard_groups = max(shard_groups, q.facts[kind, SHARD_GROUP] + 1)
        width_of_marks = q.facts[kind, LAST_COLOUR] - q.facts[kind, FIRST_COLOUR]
        marks += width_of_marks
        widest = max(widest, width_of_marks)
    s = WalkState(
        np.zeros(levels, np.int64),
        np.zeros((levels, numbers), np.int64),
        np.zeros((levels, windows), np.int64),
        np.zeros(kinds, np.int64),
        np.zeros(colours, np.int64),
        np.zeros(marks + widest, np.int64),
        np.zeros((shard_groups, 2), np.int64),
    )
    for t in range(windows):
        s.waste[0, t] = q.waste[t]
    for item in range(items):
        s.left[q.kind_of[item]] += 1
    placed, opened = np.zeros(items, np.uint8), np.zeros(gpus, np.uint8)
    unopened, seen = np.zeros(twins, np.int64), np.zeros(twins, np.int64)
    for gpu in range(gpus):
        unopened[q.twin_of[gpu]] += 1
    most_deep = 2 * items + 3
    frame, skipped = np.zeros(most_deep, np.uint8), np.zeros(most_deep, np.uint8)
    # Of an OPEN frame: its item, and from `first` on the kinds of GPU that it tried. Of a FILL
    # frame: the item that was added; from `first` on the kinds that are barred by this frame but
    # fitted when it began, from `live` on those that are not; where it stood in the frame above.
    item_of, first = np.zeros(most_deep, np.int64), np.zeros(most_deep, np.int64)
    live, index = np.zeros(most_deep, np.int64), np.zeros(most_deep, np.int64)
    gpu_at, base = np.zeros(levels, np.int64), np.zeros(levels, np.int64)
    least = np.zeros(windows, np.int64)
    # One stack for all frames: each frame owns the stretch from `first` to the next frame.
    pile = np.empty(min(most_pile, (kinds + twins + 1) * (items + 2)), np.int64)
    depth, level, top, at, undone, work, serial = 0, 0, 0, 0, 0, 0, 0
    while True:
        if at >= symbols:
            return CUT_OFF, at
        # Whoever wrote the tree may be hostile: work is counted and the walk refused, not hung.
        if work * numbers > budget:
            return TOO_LARGE, at
        symbol = _symbol(tree, at, width)
        at += 1
        enter, entered_gpu = -1, -1
        if frame[depth] == OPEN:
            item = item_of[depth]
            kind = q.kind_of[item]
            if symbol == 0:
                # The item is on some GPU that is still empty: one where it was tried, one where it
                # does not fit, or a twin of one where it was tried, which is as good.
                lacking = False
                for t in range(windows):
                    lacking = lacking or s.waste[level, t] < 0
                serial += 1
                for number in range(first[depth], top):
                    seen[pile[number]] = serial
                work += twins
                for twin in range(twins):
                    untried = unopened[twin] > 0 and seen[twin] != serial
                    if untried and not lacking and _fits_empty(q, s, kind, twin):
                        return GPU_LEFT_OUT, at
                top = first[depth]
                depth -= 1
                if depth < 0:
                    return (HOLDS if at == symbols else TRAILING), at
                continue
            if symbol > gpus:
                return OUT_OF_RANGE, at
            gpu = symbol - 1
            if opened[gpu] > 0:
                return OPENED_TWICE, at
            twin = q.twin_of[gpu]
            if _fits_empty(q, s, kind, twin):
                # A kind of GPU is listed once, so the list is no longer than there are kinds.
                known = False
                for number in range(first[depth], top):
                    known = known or pile[number] == twin
                if not known:
                    if top >= pile.size:
                        return TOO_LARGE, at
                    pile[top] = twin
                    top += 1
                enter, entered_gpu = item, gpu
        elif frame[depth] == CLOSED:
            if symbol != 0:
                return AFTER_CLOSE, at
        elif symbol < 2:
            # What is left to try fits. It must be the last on this GPU, and leave too much.
            barred = top - live[depth]
            for t in range(windows):
                least[t] = UNLIMITED // 2
                for number in range(live[depth], top):
                    least[t] = min(
                        least[t], q.demand[q.gpu_facts[s.twin[level], COLUMN], pile[number], t]
                    )
            refuted = False
            for number in range(live[depth], top):
                kind = pile[number]
                work += barred
                if not _last(q, s, kind, level, pile, live[depth], top, least, undone):
                    return ITEM_LEFT_OUT, at
                refuted = refuted or _movable(q, s, kind)
            if symbol == 1:
                top = first[depth]
                live[depth] = top
                frame[depth] = CLOSED
                for t in range(windows):
                    rest = q.room[1, s.twin[level], t] - s.on[level, t]
                    s.waste[level, t] = s.waste[level - 1, t] - rest
                item = item_of[base[level]] + 1
                # Items before the first one of this GPU are all placed: every GPU took the first
                # one left.
                while item < items and placed[item] > 0:
                    item += 1
                if item >= items:
                    return ALL_PLACED, at
                depth += 1
                frame[depth], item_of[depth], first[depth] = OPEN, item, top
                continue
            # The GPU as it is must leave too much, or have room for an item that is barred: moved
            # here from its GPU, where nobody minds, it makes a placement that was tried earlier.
            refuted = refuted or _wasteful(q, s, level)
            for above in range(base[level], depth + 1):
                if refuted:
                    break
                work += live[above] - first[above]
                for number in range(first[above], live[above]):
                    kind = pile[number]
                    fitting = s.left[kind] > 0 and _movable(q, s, kind)
                    if fitting and _fits(q, s, kind, level):
                        refuted = True
                        break
            if not refuted:
                return NOT_CLOSED, at
        else:
            if symbol > items + 1:
                return OUT_OF_RANGE, at
            if placed[symbol - 2] > 0:
                return PLACED_TWICE, at
            kind = q.kind_of[symbol - 2]
            work += top - live[depth]
            for number in range(live[depth], top):
                if pile[number] == kind:
                    enter, index[depth + 1] = symbol - 2, number
                    break
        if enter < 0 and symbol > 0 and frame[depth] != CLOSED:
            # It does not fit, or is barred: no placement has it here.
            at = _skipped(tree, width, at, items, gpus, skipped, most_deep)
            if at < 0:
                return -at, symbols
            continue
        if enter >= 0:
            kind = q.kind_of[enter]
            begin, end = 0, kinds
            if entered_gpu >= 0:
                level += 1
                opened[entered_gpu] = 1
                twin = q.twin_of[entered_gpu]
                unopened[twin] -= 1
                s.twin[level], gpu_at[level], base[level] = twin, entered_gpu, depth + 1
            else:
                # Only what fitted before can fit now, so a deeper frame starts from the list of the
                # one above.
                begin, end = live[depth], top
            undone = _add(q, s, kind, level, undone)
            placed[enter] = 1
            s.left[kind] -= 1
            shard_group = q.facts[kind, SHARD_GROUP]
            if shard_group != NO_SHARD_GROUP:
                s.shard_groups[shard_group, 0] += 1
                s.shard_groups[shard_group, 1] = q.gpu_facts[s.twin[level], NODE]
            depth += 1
            frame[depth], item_of[depth], first[depth], live[depth] = FILL, enter, top, top
            work += end - begin
            if top + end - begin > pile.size:
                return TOO_LARGE, at
            for number in range(begin, end):
                kind = number if entered_gpu >= 0 else pile[number]
                if s.left[kind] == 0 or not _fits(q, s, kind, level):
                    continue
                if entered_gpu < 0 or _may_be(q, s, kind, s.twin[level]):
                    pile[top] = kind
                    top += 1
            continue
        # A FILL frame ends: what it added is barred from the GPU from now on, in the frame above.
        item = item_of[depth]
        kind = q.kind_of[item]
        undone = _remove(q, s, kind, level, undone)
        placed[item] = 0
        s.left[kind] += 1
        if q.facts[kind, SHARD_GROUP] != NO_SHARD_GROUP:
            s.shard_groups[q.facts[kind, SHARD_GROUP], 0] -= 1
        top = first[depth]
        if base[level] == depth:
            opened[gpu_at[level]] = 0
            unopened[s.twin[level]] += 1
            level -= 1
        else:
            # Swapped to the front, where `live` passes over it: the kind is barred, the others
            # stay.
            number = index[depth]
            pile[number] = pile[live[depth - 1]]
            pile[live[depth - 1]] = kind
            live[depth - 1] += 1
        depth -= 1
