"""Check a bound by multipliers: at this pressure the items outweigh what the GPUs can carry.

With `load + K size` as the virtual size of an item and `K memory` as that of a GPU, every placement
at or below the pressure K packs the virtual sizes. They are rounded down, so nothing that fits is
left out. Every item has a multiplier. A knapsack finds the largest sum of multipliers that each GPU
can carry; if the multipliers of all items add up to more, no placement stays at or below K. Where
the number of replicas is open, every number of them has a multiplier of its own.
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
"""The largest sum of multipliers on one GPU that is checked; certificates beyond it are refused."""
MOST_CELLS = 2 * 10**9
"""The most steps that the knapsack takes, worth a few seconds; longer checks are refused."""
NEVER = 2**62
"""The virtual size of a sum that no items add up to."""
ONE = 10**11
"""One as a whole number of parts in 10^11, by which GPUs may be overfilled (rounding)."""


class MultiplierSums(NamedTuple):
    """The multipliers of all items, and those that the GPUs can carry at the bound."""

    total: int
    carried: int


class _Choice(NamedTuple):
    """What has a multiplier: an item, or a model with some number of replicas."""

    members: tuple[Model, ...]
    replicas: int
    shards: int


def refuted_multipliers(problem: Problem, certificate: Certificate) -> str | None:
    """Return why multipliers do not prove their bound, or None if they do."""
    found = multiplier_sums(problem, certificate)
    if isinstance(found, str):
        return found
    if found.carried >= found.total:
        return (
            f"the GPUs can carry multipliers of {found.carried}, those of all models add up to "
            f"{found.total}"
        )
    return None


def multiplier_sums(problem: Problem, certificate: Certificate) -> MultiplierSums | str:
    """Add up what the items have and what the GPUs can carry, or say why that is impossible."""
    multipliers = certificate.multipliers
    wanted = _number_of_choices(problem)
    if len(multipliers) != wanted:
        return f"there are {len(multipliers)} multipliers for {wanted} models"
    if min(multipliers) < 0:
        return "a multiplier is negative"
    memory, memory_bits = whole_numbers([gpu.memory_gb for gpu in problem.gpus])
    (target,), target_bits = whole_numbers([certificate.bound])
    bits = memory_bits + target_bits
    fine = FINE + bits - (max(memory) * target).bit_length()
    rooms = Counter([_shifted(number * target * (ONE + 1), fine - bits, ONE) for number in memory])
    choices = _choices(problem)
    sizes = _sizes(choices, certificate, fine)
    most = _most_carried(sizes, multipliers, list(rooms))
    if isinstance(most, str):
        return most
    carried = sum(count * most[room] for room, count in rooms.items())
    if not problem.open_replicas:
        return MultiplierSums(sum(multipliers), carried)
    fitting = [size <= max(rooms) for size in sizes]
    return MultiplierSums(_least_total(choices, multipliers, fitting), carried)


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


def _least_total(
    choices: Sequence[_Choice], multipliers: Sequence[int], fitting: Sequence[bool]
) -> int:
    """Return the least sum of multipliers, over all numbers of replicas that fit somewhere.

    A model with an open number of replicas none of which fits counts nothing: a proof by that
    model alone covers it.
    """
    least: dict[str, int] = {}
    for ((model,), replicas, shards), multiplier, fits in zip(
        choices, multipliers, fitting, strict=True
    ):
        if fits or not model.open_replicas:
            whole = replicas * shards * multiplier
            least[model.name] = min(whole, least.get(model.name, whole))
    return sum(least.values())


def _most_carried(
    sizes: Sequence[int], multipliers: Sequence[int], rooms: Sequence[int]
) -> dict[int, int] | str:
    """Return the largest sum that each room can carry, from the least size for every sum.

    The table has to end somewhere. If a room carried more than the last sum, then some of those
    items would reach a sum between the end less the largest multiplier and the end. So an answer
    below that zone is exact; otherwise the table is doubled.
    """
    largest = max(rooms)
    pairs = [(w, s) for s, w in zip(sizes, multipliers, strict=True) if w > 0 and s <= largest]
    largest_one = max((multiplier for multiplier, _ in pairs), default=0)
    total = sum(multiplier for multiplier, _ in pairs)
    end, cells = min(2 * largest_one, total), 0
    while end <= LARGEST_TABLE:
        cells += len(pairs) * (end + 1)
        if cells > MOST_CELLS:
            return f"{len(pairs)} multipliers of up to {largest_one} are too many to check"
        least = _least_sizes(pairs, end)
        for_more = np.minimum.accumulate(least[::-1])[::-1]  # for this sum or a larger one
        best = {room: int(np.searchsorted(for_more, room, "right")) - 1 for room in rooms}
        if end == total or max(best.values()) <= end - largest_one:
            return best
        end = min(2 * end, total)
    return f"a GPU can carry multipliers of more than {LARGEST_TABLE}"


def _least_sizes(pairs: Sequence[tuple[int, int]], end: int) -> NDArray[np.int64]:
    """Return the least size of items whose multipliers add up to each sum; no item twice."""
    least = np.full(end + 1, NEVER, np.int64)
    least[0] = 0
    reached = 0
    for multiplier, size in pairs:
        reached = min(reached + multiplier, end)
        part = least[multiplier : reached + 1]
        np.minimum(part, least[: reached + 1 - multiplier] + size, out=part)
    return least
