"""Bounds by weights: all items together weigh more than the GPUs can hold.

With `load + K size` as the virtual size of an item and `K memory` as that of a GPU, every placement
at or below the pressure K packs the virtual sizes. They are rounded down, so nothing that fits is
left out. Where the number of replicas is open, every number of them has a weight of its own.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from colocate.problem.certificate import Certificate
from colocate.problem.checker.items import kin_of
from colocate.problem.checker.sums import load_in
from colocate.problem.exact import whole_numbers
from colocate.problem.model import Model
from colocate.problem.problem import Problem

FINE = 44
"""Virtual sizes are rounded down to two to this power parts of the largest GPU."""
BAR = 2 ** (FINE + 1)
"""The virtual size, in such parts, from which on an item fits nowhere."""
LARGEST_TABLE = 10**7
"""A larger sum of weights on one GPU is not checked, but refused."""
MOST_CELLS = 2 * 10**9
"""Steps of the knapsack that are taken at most: some seconds."""
NEVER = 2**62
"""The virtual size of a weight that nothing adds up to."""
ONE = 10**11


class Weighing(NamedTuple):
    """What all items weigh, and what the GPUs can hold of that at a pressure of the bound."""

    weight: int
    held: int


class _Choice(NamedTuple):
    """What carries a weight: an item, or a model with some number of replicas."""

    members: tuple[Model, ...]
    replicas: int
    shards: int


def refuted_weights(problem: Problem, certificate: Certificate) -> str | None:
    """Return why weights do not prove their bound, or None if they do."""
    found = weighed(problem, certificate)
    if isinstance(found, str):
        return found
    if found.held >= found.weight:
        return (
            f"the GPUs can hold weights of {found.held}, all models together weigh {found.weight}"
        )
    return None


def weighed(problem: Problem, certificate: Certificate) -> Weighing | str:
    """Return what items weigh and GPUs can hold, or why that cannot be said."""
    weights = certificate.weights
    wanted = _number_of_choices(problem)
    if len(weights) != wanted:
        return f"there are {len(weights)} weights for {wanted} models"
    if min(weights) < 0:
        return "a weight is negative"
    memory, memory_bits = whole_numbers([gpu.memory_gb for gpu in problem.gpus])
    (target,), target_bits = whole_numbers([certificate.bound])
    bits = memory_bits + target_bits
    fine = FINE + bits - (max(memory) * target).bit_length()
    rooms = Counter([_shifted(number * target * (ONE + 1), fine - bits, ONE) for number in memory])
    choices = _choices(problem)
    sizes = _sizes(choices, certificate, fine)
    most = _most_weight(sizes, weights, list(rooms))
    if isinstance(most, str):
        return most
    held = sum(count * most[room] for room, count in rooms.items())
    if not problem.open_replicas:
        return Weighing(sum(weights), held)
    fitting = [size <= max(rooms) for size in sizes]
    return Weighing(_least_weight(choices, weights, fitting), held)


def _number_of_choices(problem: Problem) -> int:
    if problem.open_replicas:
        return sum(model.most_replicas - model.replicas + 1 for model in problem.models)
    return sum(kin.parts for kin in kin_of(problem))


def _choices(problem: Problem) -> list[_Choice]:
    """Return all items, or where replicas are open all models with all numbers of replicas."""
    if not problem.open_replicas:
        return [
            _Choice(kin.members, kin.replicas, kin.shards)
            for kin in kin_of(problem)
            for _ in range(kin.parts)
        ]
    return [
        _Choice((model,), replicas, model.shards)
        for model in problem.models
        for replicas in range(model.replicas, model.most_replicas + 1)
    ]


def _sizes(choices: Sequence[_Choice], certificate: Certificate, fine: int) -> list[int]:
    """Return `load + K size` of one item of every choice, in fine parts, rounded down."""
    (target,), target_bits = whole_numbers([certificate.bound])
    size, size_bits = whole_numbers([m.size_gb for choice in choices for m in choice.members])
    load, load_bits = whole_numbers(
        [load_in(m, certificate.window) for choice in choices for m in choice.members]
    )
    below = size_bits + target_bits + load_bits
    found, place = [], 0
    for members, replicas, shards in choices:
        end = place + len(members)
        whole = sum(size[place:end]) * target * replicas << load_bits
        whole += sum(load[place:end]) << (size_bits + target_bits)
        found.append(min(_shifted(whole, fine - below, replicas * shards), BAR))
        place = end
    return found


def _shifted(number: int, bits: int, divisor: int) -> int:
    """Return a number times two to some power, divided and rounded down."""
    return (number << bits) // divisor if bits >= 0 else number // (divisor << -bits)


def _least_weight(
    choices: Sequence[_Choice], weights: Sequence[int], fitting: Sequence[bool]
) -> int:
    """Return what all models weigh at least, with the numbers of replicas that fit somewhere.

    A model with an open number of replicas of which nothing fits counts nothing: the proof by that
    model is another one.
    """
    least: dict[str, int] = {}
    for ((model,), replicas, shards), weight, fits in zip(choices, weights, fitting, strict=True):
        if fits or not model.open_replicas:
            whole = replicas * shards * weight
            least[model.name] = min(whole, least.get(model.name, whole))
    return sum(least.values())


def _most_weight(
    sizes: Sequence[int], weights: Sequence[int], rooms: Sequence[int]
) -> dict[int, int] | str:
    """Return the most weight that fits in each room, by the least size for every weight.

    The table ends somewhere. If items of more weight than that fitted in a room, so would some
    of them that weigh no more than its end, and less than that by at most one item.
    """
    largest = max(rooms)
    pairs = [(w, s) for s, w in zip(sizes, weights, strict=True) if w > 0 and s <= largest]
    heaviest = max((weight for weight, _ in pairs), default=0)
    total = sum(weight for weight, _ in pairs)
    end, cells = min(2 * heaviest, total), 0
    while end <= LARGEST_TABLE:
        cells += len(pairs) * (end + 1)
        if cells > MOST_CELLS:
            return f"{len(pairs)} weights of up to {heaviest} are too many to check"
        least = _least_sizes(pairs, end)
        for_more = np.minimum.accumulate(least[::-1])[::-1]  # for this weight or a larger one
        best = {room: int(np.searchsorted(for_more, room, "right")) - 1 for room in rooms}
        if end == total or max(best.values()) <= end - heaviest:
            return best
        end = min(2 * end, total)
    return f"a GPU can hold weights of more than {LARGEST_TABLE}"


def _least_sizes(pairs: Sequence[tuple[int, int]], end: int) -> NDArray[np.int64]:
    """Return the least size of items that add up to each weight; no item twice."""
    least = np.full(end + 1, NEVER, np.int64)
    least[0] = 0
    reached = 0
    for weight, size in pairs:
        reached = min(reached + weight, end)
        part = least[weight : reached + 1]
        np.minimum(part, least[: reached + 1 - weight] + size, out=part)
    return least
