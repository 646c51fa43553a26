"""Exhaustive search for any placement under a target: the last resort, and a proof."""

from typing import NamedTuple

import numpy as np

from colocate.problem.instance import Instance, Ints
from colocate.problem.layout import NOWHERE, Layout, arrange, fits
from colocate.problem.pressure import lower
from colocate.solver.construct.completion import NO_TAPE, Outcome, Tape, complete
from colocate.solver.construct.volume import volume_bound


class Exhaustive(NamedTuple):
    """Search at ever higher targets, then by memory alone, each up to a number of nodes."""

    nodes: int = 50_000
    targets: tuple[float, ...] = (1.5, 2.0, 4.0, 16.0, 256.0)
    """Targets as multiples of the volume bound."""

    def construct(self, instance: Instance, layout: Layout) -> bool:
        """Fill the layout; False if no search found a placement."""
        lowest = volume_bound(instance)
        targets = [factor * lowest for factor in self.targets] if 0.0 < lowest < np.inf else []
        return any(
            search_fit(instance, layout, target, self.nodes).outcome is Outcome.FOUND
            for target in (*targets, np.inf)
        )


class Searched(NamedTuple):
    """The result of an exhaustive search."""

    outcome: Outcome
    visited: int
    order: Ints
    """The order in which models stand on the tape."""
    written: int
    """How many symbols were written; more than the tape holds if it was too short."""


def search_fit(
    instance: Instance,
    layout: Layout,
    target: float,
    nodes: int,
    tape: Tape = NO_TAPE,
) -> Searched:
    """Fill the layout with any placement at the target, or show that there is none.

    The search is a little generous, so a placement that fits only by that generosity counts as
    undecided.

    Parameters
    ----------
    instance
        The problem as arrays.
    layout
        Filled in place if a placement is found.
    target
        The highest pressure allowed; infinite counts memory alone.
    nodes
        The most nodes to visit.
    tape
        Where the decisions are written, for a proof; by default they are not kept.
    """
    everything = np.arange(instance.size.shape[0])
    everywhere = np.arange(instance.capacity.shape[0])
    outcome, order, gpus, visited, written = complete(
        instance, everything, everywhere, target, nodes, layout.go, tape
    )
    if outcome != Outcome.FOUND:
        return Searched(Outcome(outcome), visited, order, written)
    gpu_of = np.empty_like(gpus)
    gpu_of[order] = gpus
    arrange(instance, layout, gpu_of)
    fit = all(fits(instance, layout, gpu, NOWHERE, NOWHERE) for gpu in range(everywhere.size))
    exceeded = lower(target, float(layout.pressure.max()))
    found = Outcome.FOUND if fit and not exceeded else Outcome.UNDECIDED
    return Searched(found, visited, order, written)
