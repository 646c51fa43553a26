"""Column generation: the best weights there are, from a linear program over fillings of a GPU.

Gilmore and Gomory's program (1961) for packing virtual sizes, seen from its dual side: weights as
large as possible such that no filling of a GPU weighs more than the price of that GPU. Fillings
come from an exact knapsack, the best one for every largest model at once. Models of one size on
the grid share a weight, and larger ones weigh no less, which steadies the weights (Ben Amor and
others, 2006). It stops as soon as the weights at hand prove the target out of reach.

Valid for unequal GPUs; looks at one window and at memory alone.
"""

from collections import Counter
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np

from colocate.problem.certificate import Certificate
from colocate.problem.instance import Floats, Instance, Ints
from colocate.problem.kernel import entry_kernel
from colocate.problem.tolerance import LP_TOLERANCE, ROUNDING
from colocate.solver.deadline import Deadline
from colocate.solver.prove.knapsack import Choices, Grid, certified, grid_of


def prove_by_columns(
    instance: Instance,
    target: float,
    window: int,
    steps: int,
    whole: int,
    deadline: Deadline,
    choices: Choices | None = None,
) -> Certificate | None:
    """Return the proof that a target is out of reach, if the linear program on the grid has it.

    Parameters
    ----------
    instance, target, window
        What is to be proven.
    steps
        How fine the grid is.
    whole
        How large the whole numbers of the certificate may be.
    deadline
        How long it may still take.
    choices
        What the rows of the instance are, where the number of replicas is open.
    """
    rows = len(instance.size)
    grid = grid_of(instance, target, window, steps, choices)
    if not grid.complete:
        return None
    if grid.size[-1] > grid.room[0]:
        return certified(grid, np.ones(len(grid.size)), whole, rows)
    return _prove(grid, _Program(grid), whole, rows, deadline)


def shares_of_choices(
    instance: Instance,
    target: float,
    window: int,
    steps: int,
    deadline: Deadline,
    choices: Choices,
) -> Floats | None:
    """Return how much of each choice a fractional packing takes, None if there is none.

    It is what the linear program knows that a proof does not need: where a target cannot be proven
    out of reach, GPUs could be filled in part by part, and these are the numbers of replicas then.
    """
    rows = len(instance.size)
    grid = grid_of(instance, target, window, steps, choices)
    if not grid.complete:
        return None
    program = _Program(grid)
    if _prove(grid, program, steps, rows, deadline) is not None or not program.packs:
        return None
    shares = np.zeros(rows)
    shares[grid.models] = program.shares
    return shares


def _prove(
    grid: Grid, program: "_Program", whole: int, rows: int, deadline: Deadline
) -> Certificate | None:
    """Generate fillings until the target is proven out of reach, or that it cannot be."""
    weight = best = grid.size / grid.room[0]
    price = np.zeros(len(grid.room))
    highest = 0.0
    while not deadline.over:
        most, classes, fillings = fill_gpus(grid.size, program.kind, weight, grid.room, price)
        held = float((most[grid.room] * grid.gpus).sum())
        demand = grid.demand(weight)
        if held > 0.0 and demand / held > highest:
            highest, best = demand / held, weight * (program.gpus / held)
            if highest > 1.0 + LP_TOLERANCE and (proof := certified(grid, weight, whole, rows)):
                return proof
        program.add(classes, fillings)
        if not program.solve(deadline.left) or program.packs:
            return None
        if not len(fillings) and np.array_equal(weight, program.weight):
            return None
        price = program.price
        # Halfway to the best weights so far: those of the program alone swing wildly.
        weight = (best + program.weight) / 2 if len(fillings) else program.weight
    return None


@entry_kernel
def fill_gpus(
    size: Ints, kind: Ints, weight: Floats, room: Ints, price: Floats
) -> tuple[Floats, Ints, Ints]:
    """Fill GPUs with as much weight as fits, for every largest model where it costs too little.

    Returns the most weight for every room up to the largest, and of the fillings that weigh more
    than their price: the classes, and the kinds of their models, ended by -1. For every largest
    model there is the one that exceeds its price the most.
    """
    models = size.shape[0]
    longest = 0
    total = 0
    while longest < models and total + size[longest] <= room[0]:
        total += size[longest]
        longest += 1
    taken = np.zeros((models, room[0] + 1), np.bool_)
    most = np.zeros(room[0] + 1)
    classes = np.empty(models, np.int64)
    starts = np.empty(models, np.int64)
    count = 0
    for model in range(models):
        last = model + 1 == models or kind[model + 1] != kind[model]
        excess = LP_TOLERANCE
        for group in range(room.shape[0]):
            left = room[group] - size[model]
            if last and left >= 0 and weight[model] + most[left] - price[group] > excess:
                excess = weight[model] + most[left] - price[group]
                classes[count] = group
                starts[count] = model
        if excess > LP_TOLERANCE:
            count += 1
        for left in range(room[0] - size[model], -1, -1):
            if most[left] + weight[model] > most[left + size[model]] + ROUNDING:
                most[left + size[model]] = most[left] + weight[model]
                taken[model, left + size[model]] = True
    fillings = np.full((count, longest + 1), -1)
    for number in range(count):
        model = starts[number]
        fillings[number, 0] = kind[model]
        left = room[classes[number]] - size[model]
        place = 1
        for smaller in range(model - 1, -1, -1):
            if taken[smaller, left]:
                fillings[number, place] = kind[smaller]
                left -= size[smaller]
                place += 1
    return most, classes[:count], fillings


class _Program:
    """The linear program: weights of kinds of models against prices of classes of GPUs."""

    def __init__(self, grid: Grid) -> None:
        pywraplp = import_module("ortools.linear_solver.pywraplp")  # slow, and not always needed

        _, self.kind = np.unique(grid.size, return_inverse=True)
        self.gpus = int(grid.gpus.sum())
        self.solver: Any = pywraplp.Solver.CreateSolver("GLOP")
        self._choices: list[Any] = []
        self._solved = False
        counts = np.bincount(self.kind)
        self._weights = [self.solver.NumVar(0.0, self.gpus, "") for _ in counts]
        self._prices = [self.solver.NumVar(0.0, self.gpus, "") for _ in grid.room]
        if grid.owner is None or grid.times is None:
            for variable, count in zip(self._weights, counts.tolist(), strict=True):
                self.solver.Objective().SetCoefficient(variable, count)
        else:
            self._count_choices(grid.owner, grid.times)
        self.solver.Objective().SetMaximization()
        budget = self.solver.Constraint(self.gpus, self.gpus)
        for variable, count in zip(self._prices, grid.gpus.tolist(), strict=True):
            budget.SetCoefficient(variable, count)
        for smaller, larger in pairwise(range(len(counts))):
            self._at_most(self._weights[larger], [smaller])
        self._known: set[tuple[int, ...]] = set()

    def _count_choices(self, owner: Ints, times: Ints) -> None:
        """Let a model count as much as the choice that weighs least."""
        infinity = self.solver.infinity()
        least = [self.solver.NumVar(0.0, infinity, "") for _ in range(int(owner.max()) + 1)]
        for variable in least:
            self.solver.Objective().SetCoefficient(variable, 1.0)
        for model, count, kind in zip(
            owner.tolist(), times.tolist(), self.kind.tolist(), strict=True
        ):
            row = self.solver.Constraint(-infinity, 0.0)
            row.SetCoefficient(least[model], 1.0)
            row.SetCoefficient(self._weights[kind], -float(count))
            self._choices.append(row)

    def _at_most(self, limit: Any, kinds: list[int]) -> None:
        row = self.solver.Constraint(-self.solver.infinity(), 0.0)
        row.SetCoefficient(limit, -1.0)
        for kind, count in Counter(kinds).items():
            row.SetCoefficient(self._weights[kind], count)

    def add(self, classes: Ints, fillings: Ints) -> None:
        """Let no filling weigh more than its GPU's price."""
        for group, filling in zip(classes.tolist(), fillings.tolist(), strict=True):
            kinds = filling[: filling.index(-1)]
            if (group, *kinds) not in self._known:
                self._known.add((group, *kinds))
                self._at_most(self._prices[group], kinds)

    def solve(self, seconds: float) -> bool:
        """Find the largest weights under these limits; False if there was no time."""
        self.solver.SetTimeLimit(max(int(1000 * seconds), 1))
        self._solved = bool(self.solver.Solve() == self.solver.OPTIMAL)
        return self._solved

    @property
    def packs(self) -> bool:
        """Whether the models fit on the GPUs part by part, so that nothing can be proven."""
        return self._solved and self.total <= self.gpus * (1.0 + LP_TOLERANCE)

    @property
    def shares(self) -> Floats:
        """How much of each choice is taken; those of a model add up to one."""
        return np.array([row.dual_value() for row in self._choices])

    @property
    def total(self) -> float:
        """What all models weigh together."""
        return float(self.solver.Objective().Value())

    @property
    def weight(self) -> Floats:
        """The weight of every model."""
        weights: Floats = np.array([variable.solution_value() for variable in self._weights])
        return np.maximum(weights, 0.0)[self.kind]

    @property
    def price(self) -> Floats:
        """The price of every class of GPU."""
        return np.array([variable.solution_value() for variable in self._prices])
