"""Column generation over groups of models that may share a GPU at a ratio.

As in `columns.py`, but groups come from a search that knows the law, in place of a knapsack. The
first multipliers are those of bin packing with fragile objects: an item takes at least the share
`push / (tolerance + push)` of its GPU (Bansal, Liu and Sankar, 2009; Clautiaux, Dell'Amico, Iori
and Khanafer, 2014, compare such bounds).
"""

from collections.abc import Sequence

import numpy as np

from colocate.problem.checker.latency.companies import GpuCompany, ItemChoice
from colocate.problem.checker.latency.group_search import density_order, heaviest_groups
from colocate.problem.checker.latency.group_weights import (
    NEXT_WHOLE,
    heaviest,
    least_total,
)
from colocate.problem.checker.latency.groups import SearchedGroup, empty_search, group_is_possible
from colocate.problem.instance import Floats, Ints
from colocate.problem.tolerance import LEFT_TO_ROUND, LP_TOLERANCE
from colocate.solver.deadline import Deadline
from colocate.solver.prove.latency.program import Group, GroupProgram, Multipliers

WHOLE = 4_000.0
"""About what a GPU carries of the multipliers of a certificate: finer ones take longer to check."""
EFFORTS = ((0.02, 100, 30_000), (0.005, 1_000, 100_000), (0.0, 10_000, 300_000))
"""How hard to search for groups: what is not worth a search, and the most steps for each most
fragile model and in all. The next effort is made when one finds nothing more."""
STEPS = 400_000
"""The most steps of the search that confirms a proof, a fraction of what the checker takes."""


class GroupColumns:
    """Proofs by multipliers at one ratio after the other; groups found are kept.

    Parameters
    ----------
    choices
        What may be placed.
    """

    def __init__(self, choices: Sequence[ItemChoice]) -> None:
        self._choices = choices
        self._groups: list[Group] = []
        self._weight: Floats | None = None
        self._last: Floats = np.zeros(len(choices))

    def best(self, companies: Sequence[GpuCompany], deadline: Deadline) -> Multipliers | None:
        """Return multipliers that come as close to a proof as any.

        Parameters
        ----------
        companies, deadline
            As `prove` takes them.
        """
        proof = self.prove(companies, deadline, True)
        if proof is not None:
            return proof
        multipliers = _rounded(self._last, 1.0)
        carried = [heaviest(company, multipliers, STEPS, deadline.go) for company in companies]
        known = tuple([most for most in carried if most is not None])
        return (multipliers, known) if len(known) == len(carried) else None

    def prove(
        self, companies: Sequence[GpuCompany], deadline: Deadline, to_the_end: bool = False
    ) -> Multipliers | None:
        """Return multipliers that put a ratio out of reach; None if there are none, or no time.

        Parameters
        ----------
        companies
            What is possible at the ratio.
        deadline
            When to give up.
        to_the_end
            Whether to go on when nothing can be proven, for the best multipliers.
        """
        program = GroupProgram(self._choices, companies)
        searches = [empty_search(company, deadline.go) for company in companies]
        known = [each for each in self._groups if _still_possible(companies, searches, each)]
        program.add(known)
        first = fragile_weights(len(self._choices), companies)
        weight = best = first if self._weight is None else self._weight
        prices, highest, effort = [0.0] * len(companies), 0.0, 0
        proof = None
        while not deadline.over:
            groups, most = self._priced(companies, searches, weight, prices, EFFORTS[effort])
            if len(most) < len(companies):
                break
            carried = sum(c.gpus * m for c, m in zip(companies, most, strict=True))
            share = program.total_of(weight) / carried if carried > 0.0 else 0.0
            if share > 1.0 + LEFT_TO_ROUND:
                proof, heavier = self._whole(companies, searches, weight, most)
                groups.extend(heavier)
            if share > highest:
                highest, best = share, weight * (program.gpus / carried)
            new = program.add(groups)
            if proof or not program.solve(deadline.left):
                break
            if program.packs and not to_the_end:
                break
            if not new and np.array_equal(weight, program.weight):
                effort, highest = effort + 1, 0.0
                if effort == len(EFFORTS):
                    break
            prices = program.prices
            weight = (best + program.weight) / 2 if new else program.weight
        self._groups, self._weight, self._last = program.tight, best, program.weight
        return proof

    def _priced(
        self,
        companies: Sequence[GpuCompany],
        searches: Sequence[SearchedGroup],
        weight: Floats,
        prices: Sequence[float],
        effort: tuple[float, int, int],
    ) -> tuple[list[Group], list[float]]:
        """Return groups that weigh more than their price, and about what each GPU carries.

        If time is up before all kinds of GPU are done, the others are left out.
        """
        groups: list[Group] = []
        carried = []
        ease, steps, all_steps = effort
        for kind, (company, search, price) in enumerate(
            zip(companies, searches, prices, strict=True)
        ):
            if not search.go[0]:
                break
            here = weight[company.choice]
            order = density_order(company, here)
            floor = price * (1.0 + LP_TOLERANCE)
            most, rows, _, _ = heaviest_groups(
                company,
                search,
                here,
                order,
                floor,
                True,
                ease * price,
                steps,
                all_steps,
            )
            carried.append(max(most, price))
            groups.extend(_groups(kind, company, rows))
        return groups, carried

    def _whole(
        self,
        companies: Sequence[GpuCompany],
        searches: Sequence[SearchedGroup],
        weight: Floats,
        most: Sequence[float],
    ) -> tuple[Multipliers | None, list[Group]]:
        """Return whole multipliers if they prove it, and groups that are too heavy otherwise."""
        about = sum(c.gpus * m for c, m in zip(companies, most, strict=True))
        gpus = sum(company.gpus for company in companies)
        multipliers = _rounded(weight, about / gpus)
        share = (least_total(self._choices, companies, multipliers) - 1) / about
        carried = tuple([int(m * share) for m in most])
        rounded = np.array(multipliers, float)
        groups: list[Group] = []
        sure = True
        for kind, (company, search, limit) in enumerate(
            zip(companies, searches, carried, strict=True)
        ):
            if not search.go[0]:
                return None, groups
            here = rounded[company.choice]
            order = density_order(company, here)
            _, rows, _, complete = heaviest_groups(
                company, search, here, order, float(limit), True, NEXT_WHOLE, STEPS, STEPS
            )
            sure = sure and complete
            groups.extend(_groups(kind, company, rows))
        return ((multipliers, carried) if sure and not groups else None), groups


def fragile_weights(choices: int, companies: Sequence[GpuCompany]) -> Floats:
    """Return first weights: the share of its GPU that an item takes at least.

    Parameters
    ----------
    choices
        How many choices there are.
    companies
        What is possible on each kind of GPU.
    """
    weight = np.full(choices, np.inf)
    for company in companies:
        push = company.push[0, company.row, 0]
        share = push / (company.tolerance + push)
        weight[company.choice] = np.minimum(weight[company.choice], share)
    return np.where(np.isfinite(weight), weight, 0.0)


def _groups(kind: int, company: GpuCompany, rows: Ints) -> list[Group]:
    """Return groups by the numbers of their choices."""
    return [(kind, tuple(sorted(company.choice[row[row >= 0]].tolist()))) for row in rows]


def _rounded(weight: Floats, carried: float) -> tuple[int, ...]:
    """Return weights as whole numbers, of which a GPU carries so much on average."""
    return tuple(np.rint(weight * (WHOLE / carried)).astype(np.int64).tolist())


def _still_possible(
    companies: Sequence[GpuCompany], searches: Sequence[SearchedGroup], group: Group
) -> bool:
    kind, choices = group
    company = companies[kind]
    places = np.searchsorted(company.choice, choices)
    if places.max() >= len(company.choice) or (company.choice[places] != choices).any():
        return False
    return bool(group_is_possible(company, searches[kind], places.astype(np.int64)))
