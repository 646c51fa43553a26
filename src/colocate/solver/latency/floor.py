"""The least that any placement costs: every item alone, on the GPU that suits it best."""

import numpy as np

from colocate.problem.instance import Floats, Instance
from colocate.problem.kernel import entry_kernel
from colocate.problem.layout import NOWHERE, Layout, fits, put, take
from colocate.problem.rules import ALIKE
from colocate.solver.latency.engines import EngineTable, Rating
from colocate.solver.latency.joined import forget_noted, note_joined, rate_noted


@entry_kernel
def lone_costs(table: EngineTable, instance: Instance, layout: Layout, rating: Rating) -> Floats:
    """Return what each item costs at least; infinite for one that fits nowhere.

    Parameters
    ----------
    table : the engines of all items
    instance, layout : the problem as arrays, and a layout with every item nowhere
    rating : room to work in
    """
    found = np.full(layout.gpu_of.shape[0], np.inf)
    for item in range(found.shape[0]):
        seen = NOWHERE
        for gpu in range(rating.cost.shape[0]):
            # Identical GPUs often follow each other.
            if instance.rules.gpu[gpu, ALIKE] == seen:
                continue
            seen = instance.rules.gpu[gpu, ALIKE]
            if not fits(instance, layout, gpu, NOWHERE, item):
                continue
            put(instance, layout, item, gpu)
            note_joined(table, layout, rating, gpu)
            if rate_noted(table, instance, layout, rating, found[item]):
                found[item] = min(found[item], rating.trial[gpu])
            forget_noted(rating)
            take(instance, layout, item)
    return found
