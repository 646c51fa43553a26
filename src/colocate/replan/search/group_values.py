"""What a GPU comes to with some items alone on it: its pressure, or its worst ratio."""

from math import inf

import numpy as np

from colocate.problem.instance import Ints
from colocate.problem.layout import NOWHERE, arrange_some, empty_layout
from colocate.problem.pressure import within
from colocate.problem.reduction import Reduction
from colocate.solver.latency.cost import BROKEN, SATURATED
from colocate.solver.latency.item_moves import rate_all
from colocate.solver.latency.now import empty_state
from colocate.solver.targets import by_latency


class GroupValues:
    """The values of groups of items on GPUs, each computed once.

    More items never lower the value of a GPU, so that of a group bounds all placements that have
    the group there.

    Parameters
    ----------
    reduction
        The problem as items.
    """

    def __init__(self, reduction: Reduction) -> None:
        self._reduction = reduction
        self._now = empty_state(reduction) if by_latency(reduction.whole) else None
        self._layout = empty_layout(reduction.instance)
        self._known: dict[tuple[int, frozenset[int]], float] = {}
        most = reduction.whole.most_pressure
        self._highest = inf if most is None else most

    def value(self, gpu: int, items: frozenset[int]) -> float:
        """Return the value of a GPU with some items; infinite if they cannot be there.

        Parameters
        ----------
        gpu
            The GPU.
        items
            The items, all of which are open to it.
        """
        sort = int(self._reduction.instance.rules.alike[gpu])
        if (sort, items) not in self._known:
            self._known[sort, items] = self._rated(gpu, items) if items else 0.0
        return self._known[sort, items]

    def _rated(self, gpu: int, items: frozenset[int]) -> float:
        instance = self._reduction.instance
        gpu_of: Ints = np.full(len(instance.size), NOWHERE)
        gpu_of[list(items)] = gpu
        arrange_some(instance, self._layout, gpu_of)
        layout = self._layout
        if not within(float(layout.used[gpu]), float(instance.capacity[gpu])):
            return inf
        for resource in range(instance.limit.shape[1]):
            used, limit = layout.use[gpu, resource], instance.limit[gpu, resource]
            if not within(float(used), float(limit)):
                return inf
        if layout.pressure[gpu] > self._highest:
            return inf
        if self._now is None:
            return float(layout.pressure[gpu])
        arrange_some(self._now.instance, self._now.layout, gpu_of)
        rate_all(self._now)
        cost = float(self._now.costs.cost[gpu])
        saturated = SATURATED <= cost < BROKEN and not self._now.table.by_pressure
        return inf if cost >= BROKEN or saturated else cost
