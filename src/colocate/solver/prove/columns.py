"""Column generation: the best possible multipliers, from a linear program over fillings.

Gilmore and Gomory's program (1961) for packing virtual sizes, seen from its dual side: multipliers
as large as possible such that no filling of a GPU exceeds the price of that GPU. Fillings come from
an exact knapsack, the best one for every largest model at once. Models of one size on the grid
share a multiplier, and larger ones have no smaller one, which steadies the numbers (Ben Amor and
others, 2006). The search stops as soon as its multipliers prove the target out of reach.

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
        The problem, the pressure to exclude, and the time window to look at.
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
    """Return how much of each choice a fractional packing takes; None if there is none.

    The linear program knows more than a proof needs. Where it cannot prove a target out of reach,
    GPUs can be filled fractionally, and these shares tell how many replicas that takes.

    Parameters
    ----------
    instance, target, window
        What is to be packed, at which pressure, in which time window.
    steps
        How fine the grid is.
    deadline
        When to end.
    choices
        What the rows of the instance are.
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
    """Generate fillings until the target is proven out of reach, or until that is impossible."""
    multiplier = best = grid.size / grid.room[0]
    price = np.zeros(len(grid.room))
    highest = 0.0
    while not deadline.over:
        most, classes, fillings = fill_gpus(grid.size, program.kind, multiplier, grid.room, price)
        carried = float((most[grid.room] * grid.gpus).sum())
        demand = grid.demand(multiplier)
        if carried > 0.0 and demand / carried > highest:
            highest, best = demand / carried, multiplier * (program.gpus / carried)
            if highest > 1.0 + LP_TOLERANCE and (proof := certified(grid, multiplier, whole, rows)):
                return proof
        program.add(classes, fillings)
        if not program.solve(deadline.left) or program.packs:
            return None
        # No filling exceeds its price, and these are the best multipliers: nothing more to learn.
        if not len(fillings) and np.array_equal(multiplier, program.multiplier):
            return None
        price = program.price
        # Halfway to the best multipliers so far: those of the program alone swing wildly.
        multiplier = (best + program.multiplier) / 2 if len(fillings) else program.multiplier
    return None


@entry_kernel
def fill_gpus(
    size: Ints, kind: Ints, multiplier: Floats, room: Ints, price: Floats
) -> tuple[Floats, Ints, Ints]:
    """Fill GPUs with the largest multipliers, for every largest model where that exceeds the price.

    Returns the largest sum of multipliers for every room up to the largest, and the fillings that
    exceed their price: their classes, and the kinds of their models, ended by -1. For every largest
    model there is one filling, the one that exceeds its price the most.

    Parameters
    ----------
    size, kind : virtual sizes of the models upwards, and the number that models of one size share
    multiplier : the multiplier of every model
    room, price : virtual capacity and price of every class of GPUs, the largest first
    """
    models = size.shape[0]
    longest = 0
    total = 0
    # No filling has more models than the smallest ones that fit together.
    while longest < models and total + size[longest] <= room[0]:
        total += size[longest]
        longest += 1
    taken = np.zeros((models, room[0] + 1), np.bool_)
    most = np.zeros(room[0] + 1)
    classes = np.empty(models, np.int64)
    starts = np.empty(models, np.int64)
    count = 0
    for model in range(models):
        # Models of one kind are alike: only the last of them can have all the others below it.
        last = model + 1 == models or kind[model + 1] != kind[model]
        excess = LP_TOLERANCE
        for group in range(room.shape[0]):
            left = room[group] - size[model]
            if last and left >= 0 and multiplier[model] + most[left] - price[group] > excess:
                excess = multiplier[model] + most[left] - price[group]
                classes[count] = group
                starts[count] = model
        if excess > LP_TOLERANCE:
            count += 1
        # Downwards, so that no model is counted twice in one filling.
        for left in range(room[0] - size[model], -1, -1):
            if most[left] + multiplier[model] > most[left + size[model]] + ROUNDING:
                most[left + size[model]] = most[left] + multiplier[model]
                taken[model, left + size[model]] = True
    # Only now are fillings read back from what was taken: most of them do not exceed their price.
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
    """The linear program: multipliers of kinds of models against prices of classes of GPUs."""

    def __init__(self, grid: Grid) -> None:
        pywraplp = import_module("ortools.linear_solver.pywraplp")  # slow, and not always needed

        _, self.kind = np.unique(grid.size, return_inverse=True)
        self.gpus = int(grid.gpus.sum())
        self.solver: Any = pywraplp.Solver.CreateSolver("GLOP")
        self._choices: list[Any] = []
        self._solved = False
        counts = np.bincount(self.kind)
        self._multipliers = [self.solver.NumVar(0.0, self.gpus, "") for _ in counts]
        self._prices = [self.solver.NumVar(0.0, self.gpus, "") for _ in grid.room]
        if grid.owner is None or grid.times is None:
            for variable, count in zip(self._multipliers, counts.tolist(), strict=True):
                self.solver.Objective().SetCoefficient(variable, count)
        else:
            self._count_choices(grid.owner, grid.times)
        self.solver.Objective().SetMaximization()
        budget = self.solver.Constraint(self.gpus, self.gpus)
        for variable, count in zip(self._prices, grid.gpus.tolist(), strict=True):
            budget.SetCoefficient(variable, count)
        for smaller, larger in pairwise(range(len(counts))):
            self._at_most(self._multipliers[larger], [smaller])
        self._known: set[tuple[int, ...]] = set()

    def _count_choices(self, owner: Ints, times: Ints) -> None:
        """Let a model count its choice whose multipliers add up to least."""
        infinity = self.solver.infinity()
        least = [self.solver.NumVar(0.0, infinity, "") for _ in range(int(owner.max()) + 1)]
        for variable in least:
            self.solver.Objective().SetCoefficient(variable, 1.0)
        for model, count, kind in zip(
            owner.tolist(), times.tolist(), self.kind.tolist(), strict=True
        ):
            row = self.solver.Constraint(-infinity, 0.0)
            row.SetCoefficient(least[model], 1.0)
            row.SetCoefficient(self._multipliers[kind], -float(count))
            self._choices.append(row)

    def _at_most(self, limit: Any, kinds: list[int]) -> None:
        row = self.solver.Constraint(-self.solver.infinity(), 0.0)
        row.SetCoefficient(limit, -1.0)
        for kind, count in Counter(kinds).items():
            row.SetCoefficient(self._multipliers[kind], count)

    def add(self, classes: Ints, fillings: Ints) -> None:
        """Let no filling exceed the price of its GPU."""
        for group, filling in zip(classes.tolist(), fillings.tolist(), strict=True):
            kinds = filling[: filling.index(-1)]
            if (group, *kinds) not in self._known:
                self._known.add((group, *kinds))
                self._at_most(self._prices[group], kinds)

    def solve(self, seconds: float) -> bool:
        """Find the largest multipliers under these limits; False if there was no time."""
        self.solver.SetTimeLimit(max(int(1000 * seconds), 1))
        self._solved = bool(self.solver.Solve() == self.solver.OPTIMAL)
        return self._solved

    @property
    def packs(self) -> bool:
        """Whether the models fit on the GPUs fractionally, so that nothing can be proven."""
        return self._solved and self.total <= self.gpus * (1.0 + LP_TOLERANCE)

    @property
    def shares(self) -> Floats:
        """How much of each choice is taken; those of a model add up to one."""
        return np.array([row.dual_value() for row in self._choices])

    @property
    def total(self) -> float:
        """The sum of the multipliers of all models."""
        return float(self.solver.Objective().Value())

    @property
    def multiplier(self) -> Floats:
        """The multiplier of every model."""
        multipliers: Floats = np.array(
            [variable.solution_value() for variable in self._multipliers]
        )
        return np.maximum(multipliers, 0.0)[self.kind]

    @property
    def price(self) -> Floats:
        """The price of every class of GPU."""
        return np.array([variable.solution_value() for variable in self._prices])
