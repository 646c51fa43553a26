"""The objective, written once: how hard the models of a GPU push on the memory they leave.

    pressure = max over windows of sum(load) / (capacity - sum(size))

`pressure` is the formula, and `pressures` applies it to many GPUs. `layout.add_up` evaluates it in
full from the models of a GPU, `layout.pressure_after` after one change.
"""

import numpy as np

from colocate.problem.instance import Floats
from colocate.problem.kernel import entry_kernel, leaf_kernel
from colocate.problem.tolerance import FIT, TIE


@leaf_kernel
def lower(value: float, other: float) -> bool:
    """Return whether a pressure is lower than another by more than rounding."""
    return value < other * (1.0 - TIE)


@leaf_kernel
def within(amount: float, limit: float) -> bool:
    """Return whether an amount respects a limit, up to rounding."""
    return amount <= limit + limit * FIT


@leaf_kernel
def peak_load(load: Floats, row: int) -> float:
    """Return the highest load over the windows of one model or GPU."""
    highest = 0.0
    for window in range(load.shape[1]):
        highest = max(highest, load[row, window])
    return highest


@leaf_kernel
def pressure(load: float, used: float, capacity: float) -> float:
    """Return the pressure of a GPU: 0 without load, infinite with load and no free memory.

    Parameters
    ----------
    load : the load in the busiest window
    used : memory that the models hold
    capacity : memory of the GPU
    """
    if load <= 0.0:
        return 0.0
    # A GPU that is full but for rounding counts as full: its pressure would be a quotient of
    # rounding errors.
    free = capacity - used
    if free <= capacity * FIT:
        return np.inf
    return load / free


@entry_kernel
def pressures(load: Floats, used: Floats, capacity: Floats) -> Floats:
    """Return the pressures of many GPUs; load has a row for each and a column for each window.

    Parameters
    ----------
    load, used, capacity : the loads of GPUs, the memory taken, and all of their memory
    """
    found = np.empty(used.shape[0])
    for gpu in range(used.shape[0]):
        found[gpu] = pressure(peak_load(load, gpu), used[gpu], capacity[gpu])
    return found
