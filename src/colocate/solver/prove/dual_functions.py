"""Dual feasible functions: multipliers that are valid by theory and quick to try.

There are two families, each with many parameters. The L2 bound of Martello and Toth (1990) counts a
model that leaves less than a threshold as a whole GPU, and one below the threshold as nothing. The
rounding functions of Fekete and Schepers (2001) are `floor((k + 1) x) / k`, except where `(k + 1)
x` is whole. Their theory holds for equal GPUs; for unequal ones the knapsack decides.
"""

from collections.abc import Iterator

import numpy as np

from colocate.problem.certificate import Certificate
from colocate.problem.instance import Floats, Instance
from colocate.problem.tolerance import ROUNDING
from colocate.solver.prove.knapsack import Choices, Grid, certified, grid_of

CELLS = 1e7
"""Models times steps of the grid, the cost of one knapsack."""
MOST_STEPS = 20_000
"""The most steps of the grid, for fleets so small that the cells would allow more."""
THRESHOLDS = 24
"""How many thresholds of the L2 bound are tried."""
ROUNDINGS = 12
"""The rounding functions tried have a k below this."""
WHOLE = 20_000
"""The whole number that stands for the most that the largest GPU can carry."""


def prove_by_dual_functions(
    instance: Instance, target: float, window: int, choices: Choices | None = None
) -> Certificate | None:
    """Return the proof that a target is out of reach, if one of the functions gives it.

    Parameters
    ----------
    instance
        The problem as arrays.
    target
        The pressure to exclude.
    window
        The time window to look at.
    choices
        What the rows of the instance are, where the number of replicas is open.
    """
    rows = len(instance.size)
    grid = grid_of(instance, target, window, max(int(min(CELLS / rows, MOST_STEPS)), 100), choices)
    if not grid.complete:
        return None
    share = np.minimum(grid.size / grid.room[0], 1.0)
    proofs = (certified(grid, multiplier, WHOLE, rows) for multiplier in _promising(grid, share))
    return next((proof for proof in proofs if proof), None)


def _promising(grid: Grid, share: Floats) -> Iterator[Floats]:
    """Yield multipliers that add up to more than all GPUs, counted in largest GPUs."""
    capacity = float((grid.gpus * grid.room).sum() / grid.room[0])
    for multiplier in (*_rounding_functions(share), *_thresholds(share)):
        if grid.demand(multiplier) > capacity:
            yield multiplier


def _thresholds(share: Floats) -> Iterator[Floats]:
    smaller = np.unique(share[share <= 0.5])
    picks = np.unique(np.linspace(0, len(smaller) - 1, THRESHOLDS).astype(int))
    for threshold in (0.0, *(smaller[picks] if len(smaller) else ())):
        multiplier = np.where(share > 1.0 - threshold, 1.0, share)
        yield np.where(share < threshold, 0.0, multiplier)


def _rounding_functions(share: Floats) -> Iterator[Floats]:
    for k in range(1, ROUNDINGS):
        scaled = (k + 1) * share
        whole = np.abs(scaled - np.rint(scaled)) < ROUNDING
        yield np.where(whole, share, np.floor(scaled) / k)
