"""Weigh all models against what GPUs can carry at a ratio.

Every choice has a multiplier. If all models together have more than the heaviest possible groups of
all GPUs, no placement stays below the ratio.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from colocate.problem.checker.companies import GpuCompany, ItemChoice
from colocate.problem.checker.groups import density_order, empty_search, heaviest_groups

STEPS = 2 * 10**7
"""Items that the search for the heaviest groups may try to add, worth some ten seconds."""


class GroupSums(NamedTuple):
    """The multipliers of all models, and what each kind of GPU can carry of them."""

    total: int
    """With the number of replicas of every model that counts least."""
    carried: int
    """By all GPUs together."""
    most: tuple[int, ...]
    """By one GPU of each kind."""


def possible_choices(companies: Sequence[GpuCompany]) -> frozenset[int]:
    """Return the choices that are possible on some GPU."""
    return frozenset(int(number) for company in companies for number in company.choice)


def homeless_owner(choices: Sequence[ItemChoice], companies: Sequence[GpuCompany]) -> int | None:
    """Return an owner that fits on no GPU with any of its choices; None if all do."""
    possible = possible_choices(companies)
    at_home = {choices[number].owner for number in possible}
    return next((c.owner for c in choices if c.owner not in at_home), None)


def least_total(
    choices: Sequence[ItemChoice], companies: Sequence[GpuCompany], multipliers: Sequence[int]
) -> int:
    """Return what all models weigh with the choices that weigh least, of those possible.

    Parameters
    ----------
    choices, companies
        What may be placed, and where it is possible.
    multipliers
        Of every choice.
    """
    least: dict[int, int] = {}
    for number in possible_choices(companies):
        choice = choices[number]
        whole = choice.parts * multipliers[number]
        least[choice.owner] = min(whole, least.get(choice.owner, whole))
    return sum(least.values())


def group_sums(
    choices: Sequence[ItemChoice],
    companies: Sequence[GpuCompany],
    multipliers: Sequence[int],
    steps: int = STEPS,
) -> GroupSums | None:
    """Add up multipliers; None if the search for the heaviest groups takes too long.

    Parameters
    ----------
    choices, companies, multipliers
        As `least_total` takes them.
    steps
        The most steps of the search, over all kinds of GPU.
    """
    most = []
    for company in companies:
        weight = np.array([float(multipliers[number]) for number in company.choice])
        order = density_order(company, weight)
        heaviest, _, taken, complete = heaviest_groups(
            company, empty_search(company), weight, order, 0.0, False, 0.0, steps
        )
        if not complete:
            return None
        steps -= taken
        most.append(int(heaviest))
    carried = sum(c.gpus * m for c, m in zip(companies, most, strict=True))
    return GroupSums(least_total(choices, companies, multipliers), carried, tuple(most))
