"""Filling: items one after the other, each on the GPU that costs least with it."""

import numpy as np

from colocate.problem.instance import Floats, Ints
from colocate.problem.kernel import entry_kernel
from colocate.problem.layout import NOWHERE, put
from colocate.problem.pressure import lower
from colocate.problem.rules import ALIKE
from colocate.solver.latency.joined import cost_with
from colocate.solver.latency.now import SearchState


@entry_kernel
def fill_cheaply(now: SearchState, order: Ints) -> bool:
    """Place items that are nowhere, in an order; False if one fits nowhere.

    Parameters
    ----------
    now : the state of the search
    order : the items
    """
    for item in order:
        best, least = NOWHERE, np.inf
        for gpu in range(now.costs.cost.shape[0]):
            cost = cost_with(now, item, gpu, least)
            if cost < np.inf and (best == NOWHERE or lower(cost, least)):
                best, least = gpu, cost
        if best == NOWHERE:
            return False
        put(now.instance, now.layout, item, best)
    return True


@entry_kernel
def lone_costs(now: SearchState) -> Floats:
    """Return what each item costs at least: alone, on the GPU that suits it best.

    Infinite for an item that fits nowhere.

    Parameters
    ----------
    now : the state of the search, with every item nowhere
    """
    found = np.full(now.layout.gpu_of.shape[0], np.inf)
    for item in range(found.shape[0]):
        seen = NOWHERE
        for gpu in range(now.costs.cost.shape[0]):
            alike = now.instance.rules.gpu[gpu, ALIKE]
            # Identical GPUs often follow each other.
            if alike != seen:
                found[item] = min(found[item], cost_with(now, item, gpu, found[item]))
            seen = alike
    return found
