"""A problem as the tables that the walk through a tree needs."""

from collections.abc import Hashable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from colocate.problem.checker.items import Kin, use_on
from colocate.problem.checker.walk import NO_SHARD_GROUP, UNLIMITED, WalkTables
from colocate.problem.exact import whole_numbers
from colocate.problem.problem import Problem

ONE = 10**11
"""Memories and limits may be exceeded by one part in so many, by rounding alone."""
ROOM_FOR_SUMS = 61
"""The uses of all items together stay below two to this power."""

Key = TypeVar("Key", bound=Hashable)
Amounts = tuple[int, ...]
"""By resource."""
Row = tuple[Any, ...]
"""Whether an item fits nowhere at all, followed by its pins."""


class Rounding(NamedTuple):
    """Needs and rooms as whole numbers."""

    need: list[tuple[int, ...]]
    """By kin and window."""
    room: dict[float, int]
    """Of a GPU with load, by its memory."""
    roomy: dict[float, int]
    """Of a GPU without load, by its memory."""


class UseColumn(NamedTuple):
    """GPUs on which every item uses the same amounts."""

    kind: str
    none: tuple[str, ...]
    """Resources with a limit of 0."""


def packing_of(
    problem: Problem,
    kin: Sequence[Kin],
    rounding: Rounding,
    waste: Sequence[int],
    order: Sequence[int],
) -> WalkTables:
    """Return the tables that a walk needs, with items in the order of the search.

    Parameters
    ----------
    problem
        The problem as it was stated.
    kin
        Its items, equal ones together.
    rounding
        Needs and rooms as whole numbers.
    waste
        By how much all rooms exceed all needs, by window.
    order
        The items in the order of the search.
    """
    columns, column_of = _columns(problem)
    uses, limits = _uses_and_limits(problem, kin, columns, column_of)
    allowed, row_of, view_of = _pins(problem, kin)
    node_of = [0] * len(problem.gpus)
    if any(each.shards > 1 for each in kin):
        _, node_of = _numbered([gpu.node for gpu in problem.gpus])
    memory = [gpu.memory_gb for gpu in problem.gpus]
    twins, twin_of = _numbered(list(zip(memory, column_of, view_of, node_of, limits, strict=True)))
    kinds, kind_of = _kinds(kin, rounding, uses, row_of)
    demands = [
        [(*need, *use[column], loaded) for need, use, loaded, *_ in kinds]
        for column in range(len(columns))
    ]
    rooms = [
        [(*[room[memory]] * len(waste), *limit) for memory, _, _, _, limit in twins]
        for room in (rounding.room, rounding.roomy)
    ]
    ends = accumulate([len(colours) for *_, colours in kinds])
    return WalkTables(
        np.array(kind_of, np.int64)[np.array(order, np.int64)],
        np.array(demands, np.int64),
        np.array(
            [
                (row, shard_group, end - len(colours), end)
                for (_, _, _, row, shard_group, colours), end in zip(kinds, ends, strict=True)
            ],
            np.int64,
        ),
        np.array([colour for *_, colours in kinds for colour in colours], np.int64),
        np.array(twin_of, np.int64),
        np.array(rooms, np.int64),
        np.array([twin[1:4] for twin in twins], np.int64),
        allowed,
        np.array(waste, np.int64),
    )


def _numbered(keys: Sequence[Key]) -> tuple[list[Key], list[int]]:
    """Return the distinct keys, and for each key the number of its distinct one."""
    place: dict[Key, int] = {}
    which = [place.setdefault(key, len(place)) for key in keys]
    return list(place), which


def _columns(problem: Problem) -> tuple[list[UseColumn], list[int]]:
    """Return the classes of GPUs with equal uses, and the class of every GPU."""
    if not any(gpu.limits for gpu in problem.gpus):
        return [UseColumn("", ())], [0] * len(problem.gpus)
    return _numbered(
        [
            UseColumn(gpu.kind, tuple([name for name, limit in gpu.limits if limit == 0.0]))
            for gpu in problem.gpus
        ]
    )


def _pins(problem: Problem, kin: Sequence[Kin]) -> tuple[NDArray[np.uint8], list[int], list[int]]:
    """Return which items may be where, the row of every kin and the column of every GPU."""
    pinned = any(model.only or model.never for model in problem.models)
    if not pinned and not any(each.homeless for each in kin):
        return np.ones((1, 1), np.uint8), [0] * len(kin), [0] * len(problem.gpus)
    rows, row_of = _numbered([(each.homeless, *each.pins) for each in kin])
    return _told_apart(*_allowed(problem, rows), row_of)


def _allowed(problem: Problem, rows: Sequence[Row]) -> tuple[NDArray[np.uint8], list[int]]:
    """Return which rows of pins allow which views, and the view of every GPU.

    GPUs that no pin tells apart share a view.
    """
    named = {name for _, *pins in rows for only, never in pins for name in only | never}
    views, view_of = _numbered(
        [frozenset((gpu.name, gpu.node, gpu.kind)) & named for gpu in problem.gpus]
    )
    having: dict[str, list[int]] = {name: [] for name in named}
    for number, view in enumerate(views):
        for name in view:
            having[name].append(number)
    allowed = np.zeros((len(rows), len(views)), np.uint8)
    for place, (homeless, *pins) in enumerate(rows):
        if homeless:
            continue
        row = np.ones(len(views), np.uint8)
        for only, never in pins:
            if only:
                inside = np.zeros(len(views), np.uint8)
                inside[[number for name in only for number in having[name]]] = 1
                row &= inside
            row[[number for name in never for number in having[name]]] = 0
        allowed[place] = row
    return allowed, view_of


def _told_apart(
    allowed: NDArray[np.uint8], view_of: Sequence[int], row_of: Sequence[int]
) -> tuple[NDArray[np.uint8], list[int], list[int]]:
    """Merge equal rows, and equal columns, of what is allowed."""
    rows, same_row = _numbered([row.tobytes() for row in allowed])
    columns, same_view = _numbered([column.tobytes() for column in allowed.T])
    kept = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1).copy()
    if len(columns) < kept.shape[1]:
        first = {view: place for place, view in reversed(list(enumerate(same_view)))}
        kept = np.ascontiguousarray(kept[:, [first[view] for view in range(len(columns))]])
    return kept, [same_row[row] for row in row_of], [same_view[view] for view in view_of]


def _kinds(
    kin: Sequence[Kin],
    rounding: Rounding,
    uses: Sequence[tuple[Amounts, ...]],
    row_of: Sequence[int],
) -> tuple[list[tuple[Any, ...]], list[int]]:
    """Return the kinds of items, and the kind of every item.

    The shards of one replica are a kind of their own.
    """
    keys: list[tuple[Any, ...]] = []
    shard_groups = 0
    for each, need, used, row in zip(kin, rounding.need, uses, row_of, strict=True):
        loaded = 1 if [model for model in each.members if any(model.load)] else 0
        colours = tuple(sorted(each.colours)) if each.colours else ()
        if each.replicas == each.shards == 1:
            keys.append((need, used, loaded, row, NO_SHARD_GROUP, colours))
            continue
        for _ in range(each.replicas):
            shard_group = shard_groups if each.shards > 1 else NO_SHARD_GROUP
            shard_groups += each.shards > 1
            keys += [(need, used, loaded, row, shard_group, colours)] * each.shards
    return _numbered(keys)


def _uses_and_limits(
    problem: Problem, kin: Sequence[Kin], columns: Sequence[UseColumn], column_of: Sequence[int]
) -> tuple[list[tuple[Amounts, ...]], list[Amounts]]:
    """Return uses by kin, column and resource, and limits by GPU and resource.

    The number of models counts as one more resource, without rounding.
    """
    names = list(dict.fromkeys([name for gpu in problem.gpus for name, _ in gpu.limits]))
    most = problem.most_models
    counts = [] if most is None else [most]
    if not names:
        per_kin = [() if most is None else (len(each.members),) for each in kin]
        return [(each,) * len(columns) for each in per_kin], [tuple(counts)] * len(column_of)
    items = sum([each.parts for each in kin])
    uses: list[list[list[int]]] = [[] for _ in columns]
    limits = [[UNLIMITED] * len(names) for _ in problem.gpus]
    for number, column in enumerate(columns):
        gpus = [n for n, its_column in enumerate(column_of) if its_column == number]
        for place, name in enumerate(names):
            amounts = [dict(problem.gpus[n].limits).get(name) for n in gpus]
            rounded, allowed = _rounded(kin, name, column.kind, amounts, items)
            uses[number].append(rounded)
            for gpu, limit in zip(gpus, allowed, strict=True):
                limits[gpu][place] = limit
        if most is not None:
            uses[number].append([len(each.members) for each in kin])
    by_kin = [tuple(zip(*column, strict=True)) for column in uses]
    return list(zip(*by_kin, strict=True)), [tuple(limit + counts) for limit in limits]


def _rounded(
    kin: Sequence[Kin], resource: str, kind: str, limits: Sequence[float | None], items: int
) -> tuple[list[int], list[int]]:
    """Return uses rounded down and limits rounded up, as fine as sums over all items allow."""
    stated = [limit for limit in limits if limit is not None]
    if not stated:
        return [0] * len(kin), [UNLIMITED] * len(limits)
    exact, bits = whole_numbers(stated)
    own, own_bits = whole_numbers(
        [use_on(model.uses, resource, kind) for each in kin for model in each.members]
    )
    shared, shared_bits = whole_numbers(
        [use_on(model.shared_uses, resource, kind) for each in kin for model in each.members]
    )
    fine = ROOM_FOR_SUMS - 2 - items.bit_length() - max(exact).bit_length() + bits
    most = 0
    allowed = []
    left = iter(exact)
    for limit in limits:
        whole = UNLIMITED
        if limit is not None:
            whole = -_shifted(-next(left) * (ONE + 1), fine - bits, ONE)
            most = max(most, whole)
        allowed.append(whole)
    below = own_bits + shared_bits
    uses, place = [], 0
    for each in kin:
        end = place + len(each.members)
        amount = sum(own[place:end]) * each.parts << shared_bits
        amount += sum(shared[place:end]) << own_bits
        rounded = _shifted(amount, fine - below, each.parts)
        uses.append(min(max(rounded, 1) if most == 0 and amount else rounded, most + 1))
        place = end
    return uses, allowed


def _shifted(number: int, bits: int, divisor: int) -> int:
    """Return a number times two to some power, divided and rounded down."""
    return (number << bits) // divisor if bits >= 0 else number // (divisor << -bits)
