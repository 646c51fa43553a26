"""Search for groups that take all models: one for every GPU, each of which keeps a ratio.

A group that keeps the ratio still does with a model left out. So it is enough to try the largest
groups, and to let them overlap. Multipliers make the search short: all GPUs together can carry only
so much more than all models weigh, and no group may waste more than what is left of that.
"""

from collections.abc import Sequence

import numpy as np

from colocate.problem.checker.latency.companies import GpuCompany, ItemChoice
from colocate.problem.checker.latency.group_search import density_order
from colocate.problem.checker.latency.group_weights import least_total
from colocate.problem.checker.latency.groups import Ints, empty_search
from colocate.problem.checker.latency.largest import largest_groups

Left = tuple[tuple[int, ...], tuple[int, ...]]
"""Parts of every choice that are to be placed, and the GPUs of each kind that are left."""
MOST_ITEMS = 62
"""Models that the search can take: a group is a number of 64 bits."""
MOST_GROUPS = 50_000
"""Groups that the search looks at, for each kind of GPU."""
STEPS = 5 * 10**5
"""Items that the search for these groups may try to add."""
LOOKS = 5 * 10**6
"""Groups that the search over them may look at, again and again; worth some ten seconds."""


def cover_exists(
    choices: Sequence[ItemChoice],
    companies: Sequence[GpuCompany],
    multipliers: Sequence[int],
    carried: Sequence[int],
    most_groups: int = MOST_GROUPS,
    looks: int = LOOKS,
    go: Ints | None = None,
) -> bool | None:
    """Return whether possible groups take all models; None if the search would be too long.

    Parameters
    ----------
    choices, companies
        What has to be placed, with a given number of replicas, and where it is possible.
    multipliers
        Of every choice: any numbers are safe, good ones make the search short.
    carried
        What no group on one GPU of each kind exceeds.
    most_groups
        The most groups of a kind of GPU.
    looks
        The most groups that are looked at, again and again.
    go
        What ends the search early once its number is 0; None if nothing does.
    """
    go = np.ones(1, np.int64) if go is None else go
    owners = len({choice.owner for choice in choices})
    if owners < len(choices) or len(choices) > MOST_ITEMS:
        return None
    by_all = sum(c.gpus * most for c, most in zip(companies, carried, strict=True))
    spare = by_all - least_total(choices, companies, multipliers)
    if spare < 0:
        return False
    groups = []
    for company, most in zip(companies, carried, strict=True):
        here = _largest(company, multipliers, most - spare, most_groups, go)
        if here is None:
            return None
        groups.append(here)
    counts = tuple([company.gpus for company in companies])
    search = _CoverSearch(choices, groups, carried, multipliers, looks, go)
    return search.covers(search.all_parts, counts)


def _largest(
    company: GpuCompany, multipliers: Sequence[int], least: int, most_groups: int, go: Ints
) -> list[int] | None:
    """Return the largest groups of some weight at least, as sets of choices in bits."""
    weight = np.array([float(multipliers[number]) for number in company.choice])
    order = density_order(company, weight)
    found, complete = largest_groups(
        company, empty_search(company, go), weight, order, float(least), most_groups, STEPS
    )
    return [int(group) for group in found] if complete else None


class _CoverSearch:
    """The search, by the parts that are still to be placed and the GPUs that are left.

    Parameters
    ----------
    choices
        What has to be placed.
    groups
        For every kind of GPU, sets of choices in bits.
    most
        What one GPU of each kind can carry.
    multipliers
        Of every choice.
    looks
        The most groups that are looked at.
    go
        What ends the search once its number is 0.
    """

    def __init__(
        self,
        choices: Sequence[ItemChoice],
        groups: Sequence[Sequence[int]],
        most: Sequence[int],
        multipliers: Sequence[int],
        looks: int,
        go: Ints,
    ) -> None:
        self._most = most
        self._multipliers = multipliers
        self._looks = looks
        self._go = go
        self._failed: set[Left] = set()
        self.all_parts = tuple([choice.parts for choice in choices])
        members = [[_bits(group) for group in here] for here in groups]
        self._with = [
            [[group for group in here if number in group] for number in range(len(choices))]
            for here in members
        ]
        self._rare_first = sorted(
            range(len(choices)), key=lambda n: sum(len(here[n]) for here in self._with)
        )

    def covers(self, left: tuple[int, ...], counts: tuple[int, ...]) -> bool | None:
        """Return whether the GPUs left can take the parts left; None if that takes too long.

        What was begun is on a list: there may be more GPUs than calls within each other.

        Parameters
        ----------
        left
            How many parts of every choice are to be placed.
        counts
            How many GPUs of each kind are left.
        """
        if not any(left):
            return True
        begun = [((left, counts), iter(self._next(left, counts)))]
        while begun:
            here, ways = begun[-1]
            after = next(ways, None)
            if after is None:
                self._failed.add(here)
                begun.pop()
            elif not any(after[0]):
                return True
            elif after not in self._failed:
                if self._looks < 0 or not self._go[0]:
                    return None
                begun.append((after, iter(self._next(*after))))
        return False

    def _next(self, left: tuple[int, ...], counts: tuple[int, ...]) -> list[Left]:
        """Return what is left after each group that takes a part, those that take most first."""
        first = next(number for number in self._rare_first if left[number])
        rest = sum(count * most for count, most in zip(counts, self._most, strict=True))
        spare = rest - sum(n * self._multipliers[number] for number, n in enumerate(left) if n)
        found: dict[Left, int] = {}
        for kind, count in enumerate(counts):
            if count == 0:
                continue
            fewer = (*counts[:kind], count - 1, *counts[kind + 1 :])
            self._looks -= 1 + len(self._with[kind][first])
            for group in self._with[kind][first]:
                taken = [number for number in group if left[number]]
                weight = sum(self._multipliers[number] for number in taken)
                if self._most[kind] - weight <= spare:
                    after = list(left)
                    for number in taken:
                        after[number] -= 1
                    found[tuple(after), fewer] = weight
        return sorted(found, key=lambda key: -found[key])


def _bits(group: int) -> tuple[int, ...]:
    return tuple([number for number in range(group.bit_length()) if group >> number & 1])
