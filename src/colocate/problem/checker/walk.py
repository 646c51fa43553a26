"""Walking the tree of an exhaustive search: does it leave out no placement?

The search fills one GPU after the other. An OPEN frame takes the first item that is not placed and
puts it on some GPU that is still empty. A FILL frame adds one more item to that GPU, or closes it.
The symbols of a tree say what was tried, in the order of the search:

- in an OPEN frame: `g + 1`, a FILL frame of GPU g follows; 0, that was all;
- in a FILL frame: `j + 2`, a FILL frame with item j added follows; 1, the GPU is closed and an OPEN
  frame follows; 0, that was all.

Each frame stands for all placements that keep to what was decided on the way to it, and is to hold
none. What a frame does not try must be impossible, or lead to placements that earlier frames hold
as well. Why each step is allowed stands where it is taken. The proof is by induction over the
frames, in the order in which they end.

Once an item was tried on a GPU, it is barred from that GPU for the rest of the frame, and so are
items equal to it: exchange the two, and the placement is one with the item that was tried.

All of this stands in one file, and the state in local arrays: the compiler then keeps the sums of
the GPU that is being filled close by, which a million frames a second need.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]
Bytes = NDArray[np.uint8]
Function = TypeVar("Function", bound=Callable[..., object])

OPEN, FILL, CLOSED = 0, 1, 2
"""Kinds of frame; a FILL frame whose GPU was closed has nothing more to try."""
NO_SQUAD = -1
UNLIMITED = 2**62

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
"""What was found."""


class Packing(NamedTuple):
    """What the walk needs to know: kinds of items, kinds of GPUs, all in whole numbers.

    Items of one kind are equal, GPUs of one kind are twins: exchanging two of them changes nothing.
    """

    kind_of: Shorts
    """Of every item, in the order of the search."""
    need: Ints
    """By kind and window."""
    loaded: Bytes
    use: Ints
    """By column of uses, kind and resource."""
    pins: Shorts
    """By kind: the row of `allowed`."""
    squad: Shorts
    """By kind: shards of one copy, which must be on one node."""
    first_colour: Shorts
    """By kind: where its part of `colour` begins, and at the end where the last one ends."""
    colour: Shorts
    twin_of: Shorts
    """Of every GPU."""
    room: Ints
    """By kind of GPU: what a GPU with load has room for."""
    roomy: Ints
    """By kind of GPU: what one without load has room for, which is more."""
    limit: Ints
    """By kind of GPU and resource."""
    column: Shorts
    """By kind of GPU: its column of `use`."""
    place: Shorts
    """By kind of GPU: its column of `allowed`."""
    node: Shorts
    """By kind of GPU."""
    allowed: Bytes
    waste: Ints
    """By window: what all GPUs may leave unused together."""


class Level(NamedTuple):
    """What is on every GPU that was opened, and what is left elsewhere."""

    twin: Shorts
    """By number of GPUs opened: the kind of the last one, from here to `kinds`."""
    needs: Ints
    uses: Ints
    loaded: Ints
    waste: Ints
    left: Shorts
    """By kind of item: how many are not placed."""
    mark: Shorts
    """By colour: on which of the opened GPUs it is, the last one if on several."""
    undone: Shorts
    """Marks that were written over."""
    squad_size: Shorts
    """By squad: how many of it are placed."""
    squad_node: Shorts


def _compiled(function: Function, **options: Any) -> Function:
    try:
        return cast(Function, njit(cache=True, nogil=True, error_model="numpy", **options)(function))
    except RuntimeError:  # there is no place to write to: it is compiled at every start
        return cast(Function, njit(nogil=True, error_model="numpy", **options)(function))


def _part(function: Function) -> Function:
    """Compile what the walk calls; LLVM writes it into the walk."""
    return _compiled(function)


@_part
def _fits(q: Packing, s: Level, kind: int, level: int) -> bool:
    """Say whether one more item fits on the GPU, as far as that depends on what is on it."""
    twin = s.twin[level]
    strict = s.loaded[level] > 0 or q.loaded[kind] > 0
    room = q.room[twin] if strict else q.roomy[twin]
    for t in range(q.need.shape[1]):
        if s.needs[level, t] + q.need[kind, t] > room:
            return False
    column = q.column[twin]
    for r in range(q.limit.shape[1]):
        if s.uses[level, r] + q.use[column, kind, r] > q.limit[twin, r]:
            return False
    for at in range(q.first_colour[kind], q.first_colour[kind + 1]):
        if s.mark[q.colour[at]] == level:
            return False
    return True


@_part
def _may_be(q: Packing, s: Level, kind: int, twin: int) -> bool:
    """Say whether pins and squad let an item be on a GPU; what is on that does not matter."""
    if q.allowed[q.pins[kind], q.place[twin]] == 0:
        return False
    squad = q.squad[kind]
    return squad == NO_SQUAD or s.squad_size[squad] == 0 or s.squad_node[squad] == q.node[twin]


@_part
def _fits_empty(q: Packing, s: Level, kind: int, twin: int) -> bool:
    """Say whether an item fits on a GPU that is empty."""
    if not _may_be(q, s, kind, twin):
        return False
    room = q.room[twin] if q.loaded[kind] > 0 else q.roomy[twin]
    for t in range(q.need.shape[1]):
        if q.need[kind, t] > room:
            return False
    for r in range(q.limit.shape[1]):
        if q.use[q.column[twin], kind, r] > q.limit[twin, r]:
            return False
    return True


@_part
def _add(q: Packing, s: Level, kind: int, level: int, undone: int) -> int:
    """Put an item on the GPU; return how many marks were written over till now."""
    for t in range(q.need.shape[1]):
        s.needs[level, t] += q.need[kind, t]
    column = q.column[s.twin[level]]
    for r in range(q.limit.shape[1]):
        s.uses[level, r] += q.use[column, kind, r]
    s.loaded[level] += q.loaded[kind]
    for at in range(q.first_colour[kind], q.first_colour[kind + 1]):
        s.undone[undone] = s.mark[q.colour[at]]
        s.mark[q.colour[at]] = level
        undone += 1
    return undone


@_part
def _remove(q: Packing, s: Level, kind: int, level: int, undone: int) -> int:
    """Take back what was added last."""
    for t in range(q.need.shape[1]):
        s.needs[level, t] -= q.need[kind, t]
    column = q.column[s.twin[level]]
    for r in range(q.limit.shape[1]):
        s.uses[level, r] -= q.use[column, kind, r]
    s.loaded[level] -= q.loaded[kind]
    for at in range(q.first_colour[kind + 1] - 1, q.first_colour[kind] - 1, -1):
        undone -= 1
        s.mark[q.colour[at]] = s.undone[undone]
    return undone


@_part
def _wasteful(q: Packing, s: Level, level: int) -> bool:
    """Say whether the GPU as it is leaves more than all GPUs that are not closed may leave.

    In a placement, what GPUs leave adds up to what all rooms exceed all needs by, and none leaves
    less than nothing.
    """
    for t in range(q.need.shape[1]):
        left = q.roomy[s.twin[level]] - s.needs[level, t]
        if left > s.waste[level - 1, t]:
            return True
    return False


@_part
def _last(
    q: Packing, s: Level, kind: int, level: int, others: Shorts, least: Ints, undone: int
) -> bool:
    """Say whether an item on the GPU would be its last one, and the GPU then leave too much."""
    _add(q, s, kind, level, undone)
    last = _wasteful(q, s, level)
    full = False
    for t in range(q.need.shape[1]):
        full = full or s.needs[level, t] + least[t] > q.roomy[s.twin[level]]
    if last and not full:
        for other in others:
            more = s.left[other] > 1 if other == kind else True
            if more and _fits(q, s, other, level):
                last = False
                break
    _remove(q, s, kind, level, undone)
    return last


@_part
def _least_needs(q: Packing, kinds: Shorts, least: Ints) -> None:
    """Work out the least that any of some items needs, by window."""
    for t in range(q.need.shape[1]):
        least[t] = UNLIMITED // 2
    for kind in kinds:
        for t in range(q.need.shape[1]):
            least[t] = min(least[t], q.need[kind, t])


@_part
def _movable(q: Packing, s: Level, kind: int) -> bool:
    """Say whether an item could be moved to a GPU on which it fits, whoever it belongs to.

    If a sibling is placed already, an item fits in its node only; if none is, moving it would
    part it from its siblings.
    """
    return q.squad[kind] == NO_SQUAD or s.squad_size[q.squad[kind]] > 0


@_part
def _symbol(tree: Bytes, at: int, width: int) -> int:
    """Return a symbol of one byte, or of two of which the lower comes first."""
    if width == 1:
        return int(tree[at])
    return int(tree[2 * at]) + 256 * int(tree[2 * at + 1])


@_part
def _skipped(
    tree: Bytes, width: int, at: int, items: int, gpus: int, kinds: Bytes, most: int
) -> int:
    """Return where a FILL frame ends that holds no placement, whatever was tried in it.

    Less than 0 if it does not end.
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


@_compiled
def walk(q: Packing, tree: Bytes, width: int, budget: int, most_pile: int) -> tuple[int, int]:
    """Walk a tree.

    Parameters
    ----------
    q
        What is to be packed; no two sums may be too large for 64 bits.
    tree, width
        The symbols, and how many bytes each has.
    budget
        How many looks at a kind of item or GPU are allowed.
    most_pile
        How many kinds of items may be remembered at a time.

    Returns
    -------
    tuple[int, int]
        `HOLDS`, or what is wrong, and after how many symbols.
    """
    items, gpus, symbols = q.kind_of.size, q.twin_of.size, tree.size // width
    kinds, windows = q.need.shape
    twins, resources = q.limit.shape
    levels = min(items, gpus) + 1
    colours, marks = 0, 0
    for at in range(q.colour.size):
        colours = max(colours, q.colour[at] + 1)
    for item in range(items):
        marks += q.first_colour[q.kind_of[item] + 1] - q.first_colour[q.kind_of[item]]
    widest = 1
    squads = 0
    for kind in range(kinds):
        squads = max(squads, q.squad[kind] + 1)
        widest = max(widest, q.first_colour[kind + 1] - q.first_colour[kind])
    s = Level(
        np.zeros(levels, np.int32),
        np.zeros((levels, windows), np.int64),
        np.zeros((levels, resources), np.int64),
        np.zeros(levels, np.int64),
        np.zeros((levels, windows), np.int64),
        np.zeros(kinds, np.int32),
        np.zeros(colours, np.int32),
        np.zeros(marks + widest, np.int32),
        np.zeros(squads, np.int32),
        np.zeros(squads, np.int32),
    )
    s.waste[0] = q.waste
    for item in range(items):
        s.left[q.kind_of[item]] += 1
    placed, opened = np.zeros(items, np.uint8), np.zeros(gpus, np.uint8)
    unopened, seen = np.zeros(twins, np.int32), np.zeros(twins, np.int64)
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
    pile = np.empty(min(most_pile, (kinds + twins + 1) * (items + 2)), np.int32)
    depth, level, top, at, undone, work, serial = 0, 0, 0, 0, 0, 0, 0
    while True:
        if at >= symbols:
            return CUT_OFF, at
        if work > budget:
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
            if barred > 0:
                _least_needs(q, pile[live[depth] : top], least)
            refuted = False
            for number in range(live[depth], top):
                kind = pile[number]
                work += barred
                if not _last(q, s, kind, level, pile[live[depth] : top], least, undone):
                    return ITEM_LEFT_OUT, at
                refuted = refuted or _movable(q, s, kind)
            if symbol == 1:
                top = first[depth]
                live[depth] = top
                frame[depth] = CLOSED
                for t in range(windows):
                    rest = q.roomy[s.twin[level]] - s.needs[level, t]
                    s.waste[level, t] = s.waste[level - 1, t] - rest
                item = item_of[base[level]] + 1
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
                begin, end = live[depth], top
            undone = _add(q, s, kind, level, undone)
            placed[enter] = 1
            s.left[kind] -= 1
            squad = q.squad[kind]
            if squad != NO_SQUAD:
                s.squad_size[squad] += 1
                s.squad_node[squad] = q.node[s.twin[level]]
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
        if q.squad[kind] != NO_SQUAD:
            s.squad_size[q.squad[kind]] -= 1
        top = first[depth]
        if base[level] == depth:
            opened[gpu_at[level]] = 0
            unopened[s.twin[level]] += 1
            level -= 1
        else:
            number = index[depth]
            pile[number] = pile[live[depth - 1]]
            pile[live[depth - 1]] = kind
            live[depth - 1] += 1
        depth -= 1
