"""Exhaustive search for any placement under a target: the last resort, and a small proof."""

from typing import NamedTuple

import numpy as np

from colocate.problem.instance import Instance, Ints
from colocate.problem.layout import NOWHERE, Layout, arrange, fits
from colocate.problem.pressure import lower
from colocate.solver.construct.completion import Outcome, complete
from colocate.solver.prove.volume import volume_bound


class Exhaustive(NamedTuple):
    """Search ever higher targets, then memory alone, each with a limit on visited nodes."""

    nodes: int = 50_000
    targets: tuple[float, ...] = (1.5, 2.0, 4.0, 16.0, 256.0)
    """Targets as multiples of the volume bound."""

    def construct(self, instance: Instance, layout: Layout) -> bool:
        """Fill the layout; False if no search found a placement."""
        lowest = volume_bound(instance)
        targets = [factor * lowest for factor in self.targets] if 0.0 < lowest < np.inf else []
        return any(
            search_fit(instance, layout, target, np.array([self.nodes]))[0] is Outcome.FOUND
            for target in (*targets, np.inf)
        )


def search_fit(
    instance: Instance, layout: Layout, target: float, nodes: Ints
) -> tuple[Outcome, int]:
    """Fill the layout with any placement at the target, or show that there is none.

    Returns the outcome and the number of nodes visited, `nodes[0]` at most.

    What was found but fits only by the generosity of the search counts as undecided.
    """
    everything = np.arange(instance.size.shape[0])
    everywhere = np.arange(instance.capacity.shape[0])
    outcome, models, gpus, visited = complete(instance, everything, everywhere, target, nodes)
    if outcome != Outcome.FOUND:
        return Outcome(outcome), visited
    gpu_of = np.empty_like(gpus)
    gpu_of[models] = gpus
    arrange(instance, layout, gpu_of)
    fit = all(fits(instance, layout, gpu, NOWHERE, NOWHERE) for gpu in range(everywhere.size))
    exceeded = lower(target, float(layout.pressure.max()))
    return Outcome.FOUND if fit and not exceeded else Outcome.UNDECIDED, visited
