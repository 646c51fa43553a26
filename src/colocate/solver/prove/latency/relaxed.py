"""Column generation over sets of models that pass knapsacks, for fleets of many models.

Whether a group may share a GPU at a ratio takes a search to find out, and the heaviest such group a
long one. The heaviest set that passes the knapsacks of `knapsacks.py` is found at once. Some of
these sets are impossible, so bounds are a little lower, but a proof needs no search.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from colocate.problem.checker.latency.companies import GpuCompany, ItemChoice
from colocate.problem.checker.latency.group_weights import least_total
from colocate.problem.instance import Floats, Ints
from colocate.solver.deadline import Deadline
from colocate.solver.prove.latency.columns import fragile_weights
from colocate.solver.prove.latency.knapsacks import TOO_HEAVY, WHOLE, GpuKnapsacks, tables_of
from colocate.solver.prove.latency.program import Group, GroupProgram, Multipliers

KEPT = 0.8
"""Share of the best weights so far in the next ones: those of the linear program alone go to
extremes."""
LEAST_KEPT = 0.1
"""A smaller share of the best weights counts as none."""


class KnapsackColumns:
    """Proofs at one ratio after the other, each of which begins with what the last one found.

    Parameters
    ----------
    choices
        What may be placed; certificates have a multiplier for each.
    """

    def __init__(self, choices: Sequence[ItemChoice]) -> None:
        self._choices = choices
        self._groups: list[Group] = []
        self._weight: Floats | None = None
        self.unproven = True
        """Whether nothing has been proven yet."""

    def prove(self, companies: Sequence[GpuCompany], deadline: Deadline) -> Multipliers | None:
        """Return multipliers that prove a ratio to be out of reach; None if none are found.

        Parameters
        ----------
        companies
            The items that may be on each kind of GPU at the ratio.
        deadline
            When to end without a proof.
        """
        knapsacks = _knapsacks_of(companies)
        program = GroupProgram(self._choices, companies)
        for alone in _alone(companies):
            if deadline.over:
                return None
            program.add(alone)
        if self._weight is None:
            self._weight = fragile_weights(len(self._choices), companies)
        program.add([group for group in self._groups if knapsacks[group[0]].passes(group[1])])
        weight = best = self._weight
        prices, highest, kept = [1.0] * len(companies), 0.0, KEPT
        proof = None
        while proof is None and not deadline.over:
            multipliers = np.rint(weight * WHOLE).astype(np.int64)
            sets, carried = _heaviest(knapsacks, multipliers, prices, deadline)
            if len(carried) < len(companies):
                break
            total = least_total(self._choices, companies, multipliers.tolist())
            by_all = sum(c.gpus * most for c, most in zip(companies, carried, strict=True))
            sure = max(carried) < TOO_HEAVY
            if sure and total > by_all:
                proof, best = (tuple(multipliers.tolist()), carried), weight
            elif sure and total > highest * by_all:
                highest, best = total / by_all, weight * (program.gpus * WHOLE / by_all)
            new = program.add(sets)
            if not program.solve(deadline.left) or program.packs:
                break
            if not new and kept == 0.0:
                break
            prices = program.prices
            kept = KEPT if new else kept / 2.0 if kept > LEAST_KEPT else 0.0
            weight = kept * best + (1.0 - kept) * program.weight
        self._groups, self._weight = program.tight, best
        self.unproven = self.unproven and proof is None
        return proof


def _knapsacks_of(companies: Sequence[GpuCompany]) -> list[GpuKnapsacks]:
    """Return the knapsacks of every kind of GPU."""
    alike: dict[int, list[GpuCompany]] = {}
    for company in companies:
        alike.setdefault(id(company.push), []).append(company)
    tables = {number: tables_of(these) for number, these in alike.items()}
    return [GpuKnapsacks(company, tables[id(company.push)]) for company in companies]


def _alone(companies: Sequence[GpuCompany]) -> Iterator[list[Group]]:
    """Yield a group of every item by itself, all on a kind of GPU together."""
    for kind, company in enumerate(companies):
        yield [(kind, (number,)) for number in company.choice.tolist()]


def _heaviest(
    knapsacks: Sequence[GpuKnapsacks],
    multipliers: Ints,
    prices: Sequence[float],
    deadline: Deadline,
) -> tuple[list[Group], tuple[int, ...]]:
    """Return sets that weigh more than the price of their GPU, and what no set on each exceeds.

    If time is up before all kinds of GPU are done, the others are left out.
    """
    groups: list[Group] = []
    carried = []
    for kind, (here, price) in enumerate(zip(knapsacks, prices, strict=True)):
        if deadline.over:
            break
        choice = here.company.choice
        sets, most = here.heaviest(multipliers[choice], int(price * WHOLE))
        groups.extend((kind, tuple(sorted(choice[members].tolist()))) for members in sets)
        carried.append(most)
    return groups, tuple(carried)
