"""Weigh all models against what GPUs can carry at a ratio.

Every choice has a multiplier, and every kind of GPU carries so much of them. If no possible group
weighs more than its GPU carries, and all models together weigh more than all GPUs carry, no
placement stays below the ratio.
"""

from collections.abc import Sequence

import numpy as np

from colocate.problem.checker.latency.companies import GpuCompany, ItemChoice
from colocate.problem.checker.latency.group_search import density_order, heaviest_groups
from colocate.problem.checker.latency.groups import Ints, empty_search
from colocate.problem.checker.latency.knapsack import outweighed_by_none

NEXT_WHOLE = 0.999
"""Whole weights that exceed others do so by one; bounds on them are rounded by far less than the
rest."""
TOO_LONG = -1
"""Stands for the answer of a search that took too many steps."""
STEPS = 2 * 10**7
"""Items that the search for the heaviest groups may try to add, worth some ten seconds."""


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


def overweight(
    companies: Sequence[GpuCompany],
    multipliers: Sequence[int],
    carried: Sequence[int],
    steps: int = STEPS,
    go: Ints | None = None,
) -> int | None:
    """Return the kind of GPU that a possible group is too heavy for; None if there is none.

    If the search takes too long, `TOO_LONG` is returned.

    Parameters
    ----------
    companies, multipliers
        As `least_total` takes them.
    carried
        What a group on one GPU of each kind may weigh.
    steps
        The most steps of the search, over all kinds of GPU.
    go
        What ends the search early once its number is 0; None if nothing does.
    """
    for kind, (company, most) in enumerate(zip(companies, carried, strict=True)):
        whole = np.array([multipliers[number] for number in company.choice], np.int64)
        if outweighed_by_none(company, whole, most, go):
            continue
        weight = whole.astype(float)
        order = density_order(company, weight)
        search = empty_search(company, go)
        _, heavier, taken, complete = heaviest_groups(
            company, search, weight, order, float(most), False, NEXT_WHOLE, steps, steps
        )
        if len(heavier):
            return kind
        if not complete:
            return TOO_LONG
        steps -= taken
    return None


def heaviest(
    company: GpuCompany,
    multipliers: Sequence[int],
    steps: int = STEPS,
    go: Ints | None = None,
) -> int | None:
    """Return what the heaviest possible group weighs; None if that takes too long to find.

    Parameters
    ----------
    company, multipliers
        One kind of GPU, and the multipliers of all choices.
    steps
        The most steps of the search.
    go
        What ends it early once its number is 0; None if nothing does.
    """
    weight = np.array([float(multipliers[number]) for number in company.choice])
    order = density_order(company, weight)
    search = empty_search(company, go)
    most, _, _, complete = heaviest_groups(
        company, search, weight, order, 0.0, False, NEXT_WHOLE, steps, steps
    )
    return int(most) if complete else None
