"""The linear program over groups of models: weights of choices against prices of GPUs."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from colocate.problem.checker.latency.companies import GpuCompany, ItemChoice
from colocate.problem.checker.latency.group_weights import possible_choices
from colocate.problem.instance import Floats
from colocate.problem.tolerance import LP_TOLERANCE

Group = tuple[int, tuple[int, ...]]
"""A kind of GPU, and the choices on it."""
Multipliers = tuple[tuple[int, ...], tuple[int, ...]]
"""Of all choices, and what one GPU of each kind carries of them."""
TIGHT = 0.1
"""Groups that weigh so much less than their price, as a share of it, are not kept."""


class GroupProgram:
    """The linear program: weights of choices against prices of kinds of GPU."""

    def __init__(self, choices: Sequence[ItemChoice], companies: Sequence[GpuCompany]) -> None:
        pywraplp = import_module("ortools.linear_solver.pywraplp")  # slow, and not always needed

        self.solver: Any = pywraplp.Solver.CreateSolver("GLOP")
        self.gpus = sum(company.gpus for company in companies)
        infinity = self.solver.infinity()
        self._weights = [self.solver.NumVar(0.0, self.gpus, "") for _ in choices]
        self._prices = [self.solver.NumVar(0.0, self.gpus, "") for _ in companies]
        self.weight: Floats = np.zeros(len(choices))
        """The weight of every choice, in the last solution; then the price of every kind of GPU,
        and what all models weigh."""
        self.prices = [0.0] * len(companies)
        self.total = 0.0
        self._owned: dict[int, list[tuple[int, int]]] = {}
        for number in sorted(possible_choices(companies)):
            choice = choices[number]
            self._owned.setdefault(choice.owner, []).append((number, choice.parts))
        for owned in self._owned.values():
            least = self.solver.NumVar(0.0, infinity, "")
            self.solver.Objective().SetCoefficient(least, 1.0)
            for number, parts in owned:
                row = self.solver.Constraint(-infinity, 0.0)
                row.SetCoefficient(least, 1.0)
                row.SetCoefficient(self._weights[number], -float(parts))
        self.solver.Objective().SetMaximization()
        budget = self.solver.Constraint(self.gpus, self.gpus)
        for variable, company in zip(self._prices, companies, strict=True):
            budget.SetCoefficient(variable, company.gpus)
        self._known: dict[Group, None] = {}

    def add(self, groups: Sequence[Group]) -> bool:
        """Let no group weigh more than the price of its GPU; return whether one is new."""
        known = len(self._known)
        for group in groups:
            if group in self._known:
                continue
            self._known[group] = None
            kind, choices = group
            row = self.solver.Constraint(-self.solver.infinity(), 0.0)
            row.SetCoefficient(self._prices[kind], -1.0)
            for number in choices:
                row.SetCoefficient(self._weights[number], 1.0)
        return len(self._known) > known

    def solve(self, seconds: float) -> bool:
        """Find the largest weights under these limits; False if there was no time."""
        self.solver.SetTimeLimit(max(int(1000 * min(seconds, 1e6)), 1))
        if self.solver.Solve() != self.solver.OPTIMAL:
            return False
        self.total = float(self.solver.Objective().Value())
        self.weight = np.maximum([v.solution_value() for v in self._weights], 0.0)
        self.prices = [max(v.solution_value(), 0.0) for v in self._prices]
        return True

    def total_of(self, weight: Floats) -> float:
        """Return what all models weigh, each with its choice that weighs least."""
        return sum(
            min(parts * float(weight[number]) for number, parts in owned)
            for owned in self._owned.values()
        )

    @property
    def tight(self) -> list[Group]:
        """The groups that weigh almost as much as their GPU's price."""
        return [
            (kind, choices)
            for kind, choices in self._known
            if self.weight[list(choices)].sum() >= self.prices[kind] * (1.0 - TIGHT)
        ]

    @property
    def packs(self) -> bool:
        """Whether fractions of groups take all models, so that nothing can be proven."""
        return self.total <= self.gpus * (1.0 + LP_TOLERANCE)
