"""How much one GPU can carry when models have multipliers: an exact knapsack on a grid.

At a target K, virtual sizes are rounded down and virtual capacities kept, both in whole steps of
a grid, so that whatever fits on a GPU still fits on the grid. If the multipliers of all models add
up to more than the GPUs can carry, K is out of reach. Any multipliers will do; `dual_functions` and
`columns` find good ones. Valid for unequal GPUs; looks at one window and at memory alone, so
further windows and resources are left out, which keeps the bound valid but may weaken it.

Where the number of replicas is open, there is a row for every number, and a model counts the number
whose multipliers add up to least.
"""

from typing import NamedTuple

import numpy as np

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.instance import Floats, Instance, Ints
from colocate.problem.kernel import entry_kernel
from colocate.problem.tolerance import FIT, ROUNDING, TINY


class Grid(NamedTuple):
    """A problem at a target, in whole steps of a grid."""

    target: float
    window: int
    models: Ints
    """models[n]: indices into the instance, by size upwards."""
    size: Ints
    """size[n]: virtual sizes, upwards."""
    room: Ints
    """room[c]: virtual capacities of the classes of GPUs, downwards."""
    gpus: Ints
    """gpus[c]: how many GPUs are in a class."""
    owner: Ints | None = None
    """owner[n]: the model that a row is a choice of; None if every row is a model."""
    times: Ints | None = None
    """times[n]: how many parts the model has with that choice."""
    owners: int = 0
    """How many models there are, if rows are choices."""

    @property
    def complete(self) -> bool:
        """Whether every model has a choice that fits; if not, that model alone is a proof."""
        return self.owner is None or len(np.unique(self.owner)) == self.owners

    def demand(self, multiplier: Floats) -> float:
        """Return the least sum of the multipliers of all models."""
        if self.owner is None or self.times is None:
            return float(multiplier.sum())
        least = np.full(self.owners, np.inf)
        np.minimum.at(least, self.owner, self.times * multiplier)
        return float(least.sum())


class Choices(NamedTuple):
    """The rows of a problem in which the number of replicas is open."""

    owner: Ints
    times: Ints


def grid_of(
    instance: Instance, target: float, window: int, steps: int, choices: Choices | None = None
) -> Grid:
    """Round a problem at a target down to a grid.

    Choices that fit on no GPU are left out.

    Parameters
    ----------
    instance, target, window
        The problem as arrays, the pressure to exclude, and the time window to look at.
    steps
        How many steps the largest GPU has.
    choices
        What the rows of the instance are, where the number of replicas is open.
    """
    capacity, gpus = np.unique(instance.capacity, return_counts=True)
    virtual = (instance.load[:, window] + target * instance.size) / (target * capacity[-1])
    # Sizes down and rooms up, both by more than rounding: whatever fits still fits on the grid.
    size = np.floor(virtual * (1.0 - ROUNDING) * steps).astype(np.int64)
    room = np.floor(capacity / capacity[-1] * (1.0 + FIT + ROUNDING) * steps).astype(np.int64)
    order = np.argsort(size, kind="stable")
    grid = Grid(target, window, order, size[order], room[::-1].copy(), gpus[::-1].copy())
    if choices is None:
        return grid
    rows = order[size[order] <= room[-1]]
    return grid._replace(
        models=rows,
        size=size[rows],
        owner=choices.owner[rows],
        times=choices.times[rows],
        owners=int(choices.owner[-1]) + 1,
    )


@entry_kernel
def most_carried(size: Ints, multiplier: Floats, room: int) -> Floats:
    """Return the largest sum of multipliers that each room up to this one can carry.

    Parameters
    ----------
    size : virtual sizes of the models
    multiplier : the multiplier of every model
    room : the largest room
    """
    most = np.zeros(room + 1)
    for model in range(size.shape[0]):
        if multiplier[model] > 0.0:
            # Downwards, so that no model is counted twice.
            for left in range(room - size[model], -1, -1):
                most[left + size[model]] = max(
                    most[left + size[model]], most[left] + multiplier[model]
                )
    return most


def certified(grid: Grid, multiplier: Floats, largest: int, rows: int) -> Certificate | None:
    """Round multipliers down to whole numbers; return the proof that the target is out of reach.

    A model that fits nowhere is proof enough. None if the whole numbers prove nothing.

    Parameters
    ----------
    grid
        The problem at the target.
    multiplier
        The multiplier of every model.
    largest
        The whole number for the most that the largest GPU can carry.
    rows
        How many multipliers the certificate has.
    """
    # A model that fits nowhere counts 1 and all others 0, which no GPU can carry.
    whole = (grid.size > grid.room[0]).astype(float)
    if not whole.any():
        carried = most_carried(grid.size, multiplier, grid.room[0])[grid.room[0]]
        whole = np.floor(multiplier * (largest / max(carried, multiplier.max(), TINY)))
    # Rounding changed the multipliers, so the sums of the GPUs are computed again.
    most = most_carried(grid.size, whole, grid.room[0])
    if grid.demand(whole) <= (most[grid.room] * grid.gpus).sum():
        return None
    multipliers = np.zeros(rows, np.int64)
    multipliers[grid.models] = whole.astype(np.int64)
    return Certificate(
        Proof.MULTIPLIERS, grid.target, grid.window, multipliers=tuple(multipliers.tolist())
    )
