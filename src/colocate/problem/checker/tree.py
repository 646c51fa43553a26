"""Check a proof by exhaustive search: walk the tree that the search left.

Needs are rounded down and rooms up to whole numbers of 64 bits. Every placement of the true problem
is one of the rounded problem too. So if the rounded problem has none, neither has the true one.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import isinf

import numpy as np

from colocate.problem.certificate import Certificate
from colocate.problem.checker.items import Kin, kin_of
from colocate.problem.checker.packing import ONE, Rounding, packing_of
from colocate.problem.checker.walk import (
    AFTER_CLOSE,
    ALL_PLACED,
    CUT_OFF,
    GPU_LEFT_OUT,
    HOLDS,
    ITEM_LEFT_OUT,
    NOT_CLOSED,
    OPENED_TWICE,
    OUT_OF_RANGE,
    PLACED_TWICE,
    TOO_DEEP,
    TOO_LARGE,
    TRAILING,
    walk,
)
from colocate.problem.exact import whole_numbers
from colocate.problem.problem import Problem

BUDGET = 10**10
"""How many numbers a walk may look at by default: some ten seconds."""
MOST_PILE = 2**25
"""How many kinds of items a walk may remember at a time."""
MOST_CELLS = 5 * 10**7
"""The most numbers in the tables of a problem whose tree is checked."""
LARGEST_SYMBOL = 2**16 - 1
"""The largest number that two bytes of a tree can hold."""
BITS = 60
"""All rooms together stay below two to this power."""
TOO_LARGE_TO_CHECK = "the tree is too large to check"

FAULTS = {
    CUT_OFF: "ends too early",
    TRAILING: "goes on after its end",
    OUT_OF_RANGE: "names a GPU or an item that does not exist",
    OPENED_TWICE: "fills a GPU twice",
    PLACED_TWICE: "places an item twice",
    AFTER_CLOSE: "goes on with a GPU that it closed",
    GPU_LEFT_OUT: "leaves out a GPU that the next item fits on",
    ITEM_LEFT_OUT: "leaves out an item that may be added to a GPU",
    NOT_CLOSED: "does not try to close a GPU that may stay as it is",
    ALL_PLACED: "places every item",
    TOO_DEEP: "goes deeper than there are items",
}


def refuted_tree(problem: Problem, certificate: Certificate, budget: int = BUDGET) -> str | None:
    """Return why a tree does not prove its bound, or None if it does.

    Parameters
    ----------
    problem
        The problem of the models that are awake.
    certificate
        The proof; its items are those of `items.kin_of`.
    budget
        How many numbers the walk may look at; a tree that takes more is too large.
    """
    if fault := _not_about(problem, certificate):
        return fault
    kin = kin_of(problem)
    items = sum([each.parts for each in kin])
    width = 1 if max(items + 2, len(problem.gpus) + 1) <= 255 else 2
    if fault := _malformed(problem, certificate, items, width):
        return fault
    rounding = _rounded(problem, kin, certificate)
    waste = _waste(problem, kin, rounding)
    if min(waste) < 0:
        return None
    packing = packing_of(problem, kin, rounding, waste, certificate.order)
    tree = np.frombuffer(certificate.tree, np.uint8)
    code, symbols = walk(packing, tree, width, budget, MOST_PILE)
    if code == TOO_LARGE:
        return TOO_LARGE_TO_CHECK
    return None if code == HOLDS else f"the tree {FAULTS[code]} (symbol {symbols})"


def _malformed(problem: Problem, certificate: Certificate, items: int, width: int) -> str | None:
    """Return why the walk cannot begin; None if it can."""
    resources = {resource for gpu in problem.gpus for resource, _ in gpu.limits}
    columns = len({(gpu.kind, gpu.limits) for gpu in problem.gpus}) if resources else 1
    cells = items * (problem.windows + len(resources)) * columns
    if max(items, len(problem.gpus)) + 2 > LARGEST_SYMBOL or cells > MOST_CELLS:
        return TOO_LARGE_TO_CHECK
    if len(certificate.order) != items or sorted(certificate.order) != list(range(items)):
        return f"the order of the tree is not one of the {items} items"
    return "the tree ends within a symbol" if len(certificate.tree) % width else None


def _not_about(problem: Problem, certificate: Certificate) -> str | None:
    """Return why such a problem has no tree; None if it may have one.

    With an infinite bound, pressure does not count. Then a placement with more replicas contains
    one with the fewest, unless replicas share a use, where fewer replicas use more each.
    """
    open_replicas = [model for model in problem.models if model.open_replicas]
    if open_replicas and not isinf(certificate.bound):
        return "there is no tree for a problem whose numbers of replicas are open"
    if any(model.shared_uses for model in open_replicas):
        return "there is no tree for a problem in which an open number of replicas share a use"
    return None


def _rounded(problem: Problem, kin: Sequence[Kin], certificate: Certificate) -> Rounding:
    """Return `load + K size` of every item and `K memory` of every GPU in fine whole numbers.

    With an infinite K only sizes count. For any placement at all, GPUs may be filled to the brim;
    for a finite pressure, a GPU with load must keep more than one part in 10^11 free.
    """
    count = Counter([gpu.memory_gb for gpu in problem.gpus])
    exact, memory_bits = whole_numbers(list(count))
    target, target_bits = (1, 0) if isinf(certificate.bound) else _ratio(certificate.bound)
    bits = memory_bits + target_bits
    total = target * sum(
        [number * gpus for number, gpus in zip(exact, count.values(), strict=True)]
    )
    fine = BITS - 2 - total.bit_length() + bits
    up, down = max(fine - bits, 0), max(bits - fine, 0)
    less = (ONE - 1 if certificate.finite else ONE + 1) if isinf(certificate.bound) else ONE
    room, roomy = {}, {}
    for amount, number in zip(count, exact, strict=True):
        whole = number * target << up
        room[amount] = -(-whole * less // (ONE << down))
        roomy[amount] = -(-whole * (ONE + 1) // (ONE << down))
    return Rounding(_needs(problem, kin, certificate.bound, fine), room, roomy)


def _ratio(value: float) -> tuple[int, int]:
    above, below = value.as_integer_ratio()
    return above, below.bit_length() - 1


def _needs(problem: Problem, kin: Sequence[Kin], bound: float, fine: int) -> list[tuple[int, ...]]:
    """Return `load + K size` of every item and window, times two to the power `fine`, rounded down.

    A part of a model has a shard of its size and a share of its load.
    """
    models = [model for each in kin for model in each.members]
    sizes, size_bits = whole_numbers([model.size_gb for model in models])
    if isinf(bound):
        target, target_bits, windows, load_bits = 1, 0, 1, 0
        loads = [0] * len(models)
    else:
        target, target_bits = _ratio(bound)
        windows = problem.windows
        loads, load_bits = whole_numbers(
            [
                model.load[t if len(model.load) > 1 else 0]
                for t in range(windows)
                for model in models
            ]
        )
    below = size_bits + target_bits + load_bits
    up, down = max(fine - below, 0), max(below - fine, 0)
    of_size, of_load = load_bits + up, size_bits + target_bits + up
    wholes = [
        size * target * each.replicas << of_size
        for size, each in zip(_by_kin(sizes, kin), kin, strict=True)
    ]
    parts = [each.replicas * each.shards << down for each in kin]
    by_window = [
        [
            (whole + (load << of_load)) // part
            for whole, load, part in zip(wholes, _by_kin(window, kin), parts, strict=True)
        ]
        for window in [loads[at : at + len(models)] for at in range(0, len(loads), len(models))]
    ]
    return list(zip(*by_window, strict=True))


def _by_kin(amounts: Sequence[int], kin: Sequence[Kin]) -> Sequence[int]:
    """Add up the amounts of the members of every item."""
    if len(amounts) == len(kin):
        return amounts
    ends = list(accumulate([len(each.members) for each in kin]))
    return [sum(amounts[start:end]) for start, end in pairwise([0, *ends])]


def _waste(problem: Problem, kin: Sequence[Kin], rounding: Rounding) -> list[int]:
    """Return, by window, by how much all rooms exceed all needs."""
    room = sum([rounding.roomy[gpu.memory_gb] for gpu in problem.gpus])
    counts = [each.parts for each in kin]
    return [
        room - sum([count * need for count, need in zip(counts, window, strict=True)])
        for window in zip(*rounding.need, strict=True)
    ]
