"""Finds a first placement: quickly if possible, else by a search that may prove there is none."""

from collections.abc import Callable, Iterator
from math import inf, isfinite

import numpy as np

from colocate.problem.certificate import Certificate, Proof
from colocate.problem.instance import Instance, Ints, confined
from colocate.problem.layout import NOWHERE, Layout, empty_layout, take
from colocate.problem.reduction import Reduction
from colocate.solver.construct.bisection import Bisection
from colocate.solver.construct.completion import Outcome
from colocate.solver.construct.filling import filled
from colocate.solver.construct.first_fit import pack_first
from colocate.solver.construct.orders import Order
from colocate.solver.construct.packing import Fit, Packing
from colocate.solver.construct.scarcest import search_scarcest
from colocate.solver.construct.task import FINITE
from colocate.solver.construct.volume import volume_bound
from colocate.solver.deadline import Deadline
from colocate.solver.improve.shard_moves import nodes_of_shards
from colocate.solver.improve.squeeze import squeeze_in
from colocate.solver.plan import Alarm
from colocate.solver.prove.solvers.two_solvers import search_all, small_enough
from colocate.solver.prove.tree import search_with_proof

FEW = 100
"""Up to this many items, packings are tried at many targets."""
ROUGH = Bisection((Packing(Fit.BEST, Order.VIRTUAL),), halvings=10)
THOROUGH = Bisection(
    tuple(Packing(fit, order) for order in (Order.VIRTUAL, Order.SIZE) for fit in Fit)
)
QUICKLY_PACKED, LONG = 10_000_000, 2.0
"""Items times GPUs times windows up to which first fit is almost free, and the seconds left from
which a larger problem with one window may spend time on it."""
TRIES = 60
"""Tries to squeeze in an item at each target."""
NODES_TRIED = 8
"""Nodes of the fleet on which to squeeze in a shard group."""
NODES = 200_000
"""Nodes of the search tree that may prove that no placement exists."""
NODES_SCARCEST = 20_000
"""Nodes of the search by the scarcest resource, which proves nothing: it mostly finds a placement
within a few hundred, if it does at all."""
SEARCHING = 0.5
"""The share of the time in which CP-SAT and SCIP find a placement or rule it out."""

Found = Callable[[Ints, str], object]
"""Records a placement and the block that found it."""
Alarmed = Callable[[Alarm], None]
"""Records a claim that turned out to be false."""


class NoPlacement(Exception):  # noqa: N818, no fault
    """A proof shows that no placement exists, or the search found none."""

    def __init__(self, proof: Certificate | None = None) -> None:
        super().__init__()
        self.proof = proof


def first_placement(
    reduction: Reduction, deadline: Deadline, found: Found, alarmed: Alarmed
) -> None:
    """Find a first placement, of finite pressure if that is quick, or raise `NoPlacement`.

    Parameters
    ----------
    reduction, deadline
        The problem as items, and when to end.
    found
        Called with every placement.
    alarmed
        Called when a solver has made a false claim.
    """
    layout = empty_layout(reduction.canonical, deadline.go)
    any_found = False
    for block in quick_ways(reduction, layout, deadline):
        any_found = True
        found(layout.gpu_of, block)
    if not any_found and deadline.over and reduction.whole.plain:
        any_found = _filled_late(reduction, found)
    if not any_found:
        _search(reduction, deadline, found, alarmed)


def _simple(reduction: Reduction) -> bool:
    """Whether only memory and one window of load matter."""
    return reduction.whole.plain and reduction.whole.windows + len(reduction.resources) == 1


def _filled_late(reduction: Reduction, found: Found) -> bool:
    """Fill the GPUs although time is up: it takes a few microseconds per item."""
    layout = empty_layout(reduction.canonical)
    complete = filled(reduction.canonical, layout, 0) == 0
    if complete:
        found(layout.gpu_of, "filling")
    return complete


def quick_ways(reduction: Reduction, layout: Layout, deadline: Deadline) -> Iterator[str]:
    """Fill the layout in one way after another; yield the name of each way that succeeds.

    The iterator ends at a finite pressure, or when no way is left.

    Parameters
    ----------
    reduction
        The problem as items.
    layout
        Filled in place.
    deadline
        When to end.
    """
    instance = reduction.canonical
    few = len(reduction.items) <= FEW and not reduction.shard_groups
    if few and ROUGH.construct(instance, layout):
        yield "bisection"
        if isfinite(layout.pressure.max()):
            return
    if few and search_scarcest(instance, layout, NODES_SCARCEST):
        yield "memory search"
        if isfinite(layout.pressure.max()):
            return
    with deadline.watched():
        yield from _ways_for_many(reduction, instance, layout, deadline)


def _ways_for_many(
    reduction: Reduction, instance: Instance, layout: Layout, deadline: Deadline
) -> Iterator[str]:
    simple = _simple(reduction)
    left_out, finite = len(reduction.items), False
    if not simple:
        left_out = filled(instance, layout, 0)
        finite = left_out == 0 and isfinite(layout.pressure.max())
        if left_out == 0:
            yield "filling"
    windows = reduction.whole.windows
    work = len(reduction.items) * len(reduction.whole.gpus) * windows
    quick = work < QUICKLY_PACKED or (windows == 1 and deadline.left > LONG)
    if (
        not reduction.shard_groups
        and (quick or not finite)
        and pack_first(instance, layout, deadline)
    ):
        finite |= isfinite(layout.pressure.max())
        yield "first fit"
    if simple and not finite:
        left_out = filled(instance, layout, 0)
        finite = left_out == 0 and isfinite(layout.pressure.max())
        if left_out == 0:
            yield "filling"
    if not finite and not reduction.shard_groups and THOROUGH.construct(instance, layout):
        finite |= isfinite(layout.pressure.max())
        yield "bisection"
    if left_out and not finite and not deadline.over:
        filled(instance, layout, 0)
        if _squeezed(reduction, instance, layout):
            yield "squeezing"


def _squeezed(reduction: Reduction, instance: Instance, layout: Layout) -> bool:
    """Squeeze in the items without a place; return whether all are placed then."""
    rng = np.random.default_rng(0)
    lowest = volume_bound(instance)
    targets = [4.0 * lowest] if 0.0 < lowest < inf else []
    waiting = np.flatnonzero(layout.gpu_of == NOWHERE)
    shard_groups = [
        list(shard_group)
        for shard_group in reduction.shard_groups
        if layout.gpu_of[shard_group[0]] == NOWHERE
    ]
    units = shard_groups + [[int(n)] for n in waiting if instance.rules.shard_group[n] < 0]
    units.sort(key=lambda unit: -len(unit) * instance.size[unit[0]])
    return all(
        any(_placed(instance, layout, unit, t, rng) for t in (*targets, FINITE, inf))
        for unit in units
    )


def _placed(
    instance: Instance,
    layout: Layout,
    unit: list[int],
    target: float,
    rng: np.random.Generator,
) -> bool:
    """Squeeze in an item, or a shard group on one of the nodes with the most free memory."""
    homes = nodes_of_shards(instance, layout.gpu_of)
    if len(unit) == 1:
        bound = confined(instance, homes)
        return squeeze_in(bound, layout, unit[0], target, rng, TRIES)
    rules = instance.rules
    free = np.where(rules.open[rules.pin[unit[0]]], instance.capacity - layout.used, 0.0)
    for node in np.argsort(-np.bincount(rules.node, free))[:NODES_TRIED]:
        homes = homes.copy()
        homes[unit] = node
        bound = confined(instance, homes)
        missing = [item for item in unit if not squeeze_in(bound, layout, item, target, rng, TRIES)]
        if not missing:
            return True
        for item in set(unit).difference(missing):
            take(instance, layout, item)
    return False


def _search(reduction: Reduction, deadline: Deadline, found: Found, alarmed: Alarmed) -> None:
    """Search all ways to fit the items, whatever the pressure; raise `NoPlacement` if none fits."""
    layout = empty_layout(reduction.instance, deadline.go)
    with deadline.watched():
        searched, proof = search_with_proof(reduction.instance, layout, inf, NODES)
    if searched.outcome is Outcome.FOUND:
        found(layout.gpu_of, "memory search")
        return
    if proof or not small_enough(reduction.whole):
        raise NoPlacement(proof)
    answer = search_all(reduction.whole, inf, deadline.part(deadline.left * SEARCHING))
    if answer.alarm:
        alarmed(answer.alarm)
    if answer.outcome is not Outcome.FOUND:
        none = answer.outcome is Outcome.NONE
        raise NoPlacement(Certificate(Proof.SOLVERS, inf) if none else None)
    found(reduction.indices(answer.placement), "two solvers")
