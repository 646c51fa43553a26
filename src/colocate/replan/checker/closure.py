"""The worst sets of steps: those that weigh most, and those that run at once."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise


def heaviest_closure(
    adds: Mapping[int, Fraction], takes: Mapping[int, Fraction], before: Sequence[int]
) -> Fraction:
    """Return the most that some steps can add, less what the steps before them take away.

    For any set of steps that add, all that take away and come before one of them count. The most is
    the sum of all that is added, less the greatest flow from what is added to what is taken.

    Parameters
    ----------
    adds, takes
        What steps add, and what others take away, by their numbers.
    before
        For every step, as bits, those that are over before it starts.
    """
    rest = dict(takes)
    flow: dict[tuple[int, int], Fraction] = {}
    whole = sum(adds.values(), Fraction(0))
    carried = Fraction(0)
    for add, weight in adds.items():
        left = weight
        while left > 0:
            moved = _pushed(add, left, rest, flow, takes, before)
            if moved == 0:
                break
            left -= moved
            carried += moved
    return whole - carried


def _pushed(
    add: int,
    left: Fraction,
    rest: dict[int, Fraction],
    flow: dict[tuple[int, int], Fraction],
    takes: Mapping[int, Fraction],
    before: Sequence[int],
) -> Fraction:
    """Push some flow from one step to the sink along a shortest path; return how much."""
    came: dict[tuple[str, int], tuple[str, int] | None] = {("add", add): None}
    queue: list[tuple[str, int]] = [("add", add)]
    end: tuple[str, int] | None = None
    for side, number in queue:
        if side == "add":
            for take in takes:
                if before[number] >> take & 1 and ("take", take) not in came:
                    came["take", take] = (side, number)
                    queue.append(("take", take))
        elif rest[number] > 0:
            end = (side, number)
            break
        else:
            for (other, take), amount in flow.items():
                if take == number and amount > 0 and ("add", other) not in came:
                    came["add", other] = (side, number)
                    queue.append(("add", other))
    if end is None:
        return Fraction(0)
    path = [end]
    while (last := came[path[-1]]) is not None:
        path.append(last)
    path.reverse()
    amount = min(left, rest[end[1]])
    for (side, one), (_, two) in pairwise(path):
        if side == "take":
            amount = min(amount, flow[two, one])
    for (side, one), (_, two) in pairwise(path):
        if side == "add":
            flow[one, two] = flow.get((one, two), Fraction(0)) + amount
        else:
            flow[two, one] -= amount
    rest[end[1]] -= amount
    return amount


def most_at_once(steps: Sequence[int], before: Sequence[int], enough: int) -> int:
    """Return how many of some steps can run at once: no two of which are one before the other.

    By Dilworth's theorem that is their number less a greatest matching of steps with steps after
    them; the search for it ends once it shows that there are few enough.

    Parameters
    ----------
    steps
        The steps, by number.
    before
        For every step, as bits, those that are over before it starts.
    enough
        A number that is small enough.
    """
    follower: dict[int, int] = {}
    matched = 0
    for one in steps:
        if len(steps) - matched <= enough:
            break
        matched += _matched(one, steps, before, follower, set())
    return len(steps) - matched


def _matched(
    one: int,
    steps: Sequence[int],
    before: Sequence[int],
    follower: dict[int, int],
    seen: set[int],
) -> bool:
    """Find a step after one, moving others on if need be; `follower` has who precedes each."""
    path = [(one, iter(steps))]
    chosen: list[int] = []
    while path:
        number, rest = path[-1]
        for other in rest:
            if other in seen or not before[other] >> number & 1:
                continue
            seen.add(other)
            chosen.append(other)
            if other not in follower:
                for (source, _), target in zip(path, chosen, strict=True):
                    follower[target] = source
                return True
            path.append((follower[other], iter(steps)))
            break
        else:
            path.pop()
            if chosen:
                chosen.pop()
    return False
