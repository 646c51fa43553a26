"""Even filling: the largest model first, each to the GPU with the most room left.

Graham's rule for parallel machines (1969) on virtual sizes. Its cost is that of sorting, so it
starts fleets of any size. A model that may not be where the most room is looks at all GPUs.
"""

from typing import NamedTuple, cast

import numpy as np

from colocate.problem.instance import Floats, Instance
from colocate.problem.kernel import entry_kernel, kernel_section
from colocate.problem.layout import NOWHERE, Layout, clear, fits, put
from colocate.problem.pressure import peak_load
from colocate.solver.construct.orders import Order, sorted_models
from colocate.solver.prove.volume import volume_bound
from colocate.solver.tournament import replay, tournament

BY_VIRTUAL_SIZE = cast(int, np.int64(Order.VIRTUAL))


class EvenFilling(NamedTuple):
    """Fill all GPUs evenly at the lowest pressure that the sums allow."""

    def construct(self, instance: Instance, layout: Layout) -> bool:
        """Fill the layout; False if some model found no room."""
        return fill_evenly(instance, layout)


@kernel_section
def roomiest(instance: Instance, layout: Layout, model: int, room: Floats) -> int:
    """Return the GPU with the most room among those that can take a model, or NOWHERE."""
    best = NOWHERE
    for gpu in range(room.shape[0]):
        more = best == NOWHERE or room[gpu] > room[best]
        if more and fits(instance, layout, gpu, NOWHERE, model):
            best = gpu
    return best


@entry_kernel
def fill_evenly(instance: Instance, layout: Layout) -> bool:
    """Send every model, the largest first, to the GPU with the most room left."""
    clear(layout)
    target = max(volume_bound(instance), 1e-9)
    room = target * instance.capacity
    winners = tournament(room)
    for model in sorted_models(instance, BY_VIRTUAL_SIZE, target):
        gpu = winners[1]
        if not fits(instance, layout, gpu, NOWHERE, model):
            gpu = roomiest(instance, layout, model, room)
        if gpu == NOWHERE:
            return False
        put(instance, layout, model, gpu)
        room[gpu] -= peak_load(instance.load, model) + target * instance.size[model]
        replay(winners, room, gpu)
    return True
