"""Decides which models can be awake in a large fleet, by packing many knapsacks.

First come the models that must be awake, then those worth most for the memory they take. Each goes
where it leaves the least memory, or the solver finds room for as many of them as it can. While time
remains, sleepers take the places of models that are worth less, and others are squeezed in.
"""

from collections.abc import Iterator, Sequence
from math import inf

import numpy as np

from colocate.problem.instance import Instance, Ints, confined, frozen, own_units
from colocate.problem.layout import NOWHERE, Layout, arrange_some, empty_layout
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.reduction import Reduction, reduction_of
from colocate.problem.tolerance import FREE_WHILE_WAKING, LEAST_NEED, ROOM_AT_LIMIT
from colocate.problem.verify import highest_pressure, verify
from colocate.solver.budget import SolveBudget
from colocate.solver.construct.filling import filling_order
from colocate.solver.construct.task import FINITE
from colocate.solver.deadline import Deadline
from colocate.solver.decide.pressure_limit import without_limit
from colocate.solver.improve.shard_moves import nodes_of_shards
from colocate.solver.improve.squeeze import squeeze_in
from colocate.solver.improve.trading import Wakeable, trade, wake
from colocate.solver.prove.solvers.choices import cost_of
from colocate.solver.search import attempt

BISECTING = 0.6
"""The share of the time for finding how many of the models worth most can be awake."""
TRIES, MOST_TRIES = 4, 4096
"""Tries to squeeze in a sleeper, at first and at most."""
PASSES = 20
"""How often every sleeper is offered the places of other models."""


def woken(problem: Problem, budget: SolveBudget, seconds: float) -> Placement | None:
    """Return a placement whose sleepers cost little.

    Returns None if it finds no room for all models that must be awake.

    Parameters
    ----------
    problem
        The problem to solve.
    budget
        What the call may spend.
    seconds
        How long the search may take.
    """
    deadline = budget.deadline.part(seconds)
    hopeless = {model.name for model in problem.sleepers if model.parts > len(problem.gpus)}
    awake = problem.awake(hopeless)
    if awake is None:
        return _with_all(problem, Placement())
    fewest = awake.with_replicas({model.name: model.replicas for model in awake.models})
    reduction = reduction_of(fewest)
    instance = _limited(reduction, problem.most_pressure)
    wakeable = _wakeable(problem, reduction)
    order = _order(reduction, instance, wakeable)
    layout = empty_layout(instance, deadline.go)
    with deadline.watched():
        found = []
        if wake(instance, layout, order, wakeable):
            trade(instance, layout, wakeable, PASSES)
            found.append(_placement(reduction, layout))
        names = [reduction.items[first].models[0].name for first in order]
        may = {model.name for model in problem.sleepers}
        by_worth = [name for name in names if name in may]
        found += _awake_by_worth(fewest, by_worth, budget, deadline)
        found = [_with_all(problem, each) for each in found]
        found.sort(key=lambda placement: cost_of(problem, placement))
        start = next((each for each in found if verify(problem, each).valid), None)
        if start is None or deadline.over:
            return start
        arrange_some(instance, layout, _indices(reduction, start))
        _squeeze_and_trade(instance, layout, wakeable, deadline)
    placement = _with_all(problem, _placement(reduction, layout))
    return placement if verify(problem, placement).valid else start


def _with_all(problem: Problem, placement: Placement) -> Placement:
    """Return the placement with every model of the problem, the missing ones asleep."""
    return Placement({model.name: placement.get(model.name, ()) for model in problem.models})


def _awake_by_worth(
    problem: Problem,
    by_worth: Sequence[str],
    budget: SolveBudget,
    deadline: Deadline,
) -> Iterator[Placement]:
    """Place as many of the models worth most as possible; yield every placement that fits."""
    fewest, most = 0, len(by_worth)
    seconds = deadline.left * BISECTING / (most.bit_length() + 1)
    highest = min(highest_pressure(problem), FINITE)
    while fewest < most and not deadline.over:
        middle = (fewest + most + 1) // 2
        some = problem.awake(frozenset(by_worth[middle:]))
        if some is None:
            return
        plan = attempt(without_limit(some), budget, seconds)
        if plan.placement and plan.pressure <= highest:
            fewest = middle
            places = {model.name: plan.placement.get(model.name, ()) for model in problem.models}
            yield Placement(places)
        else:
            most = middle - 1


def _indices(reduction: Reduction, placement: Placement) -> Ints:
    """Return the GPU of every item, or NOWHERE for items of sleepers."""
    number = {gpu.name: place for place, gpu in enumerate(reduction.whole.gpus)}
    left = {model: list(reversed(gpus)) for model, gpus in placement.items()}
    names = (item.models[0].name for item in reduction.items)
    return np.array([number[left[n].pop()] if left[n] else NOWHERE for n in names], np.int64)


def _squeeze_and_trade(
    instance: Instance, layout: Layout, wakeable: Wakeable, deadline: Deadline
) -> None:
    """Find places for sleepers, with ever more tries, until time is up."""
    rng = np.random.default_rng(0)
    homes = nodes_of_shards(instance, layout.gpu_of)
    bound = confined(instance, homes)
    tries = TRIES
    while tries <= MOST_TRIES and not deadline.over:
        trade(bound, layout, wakeable, PASSES)
        asleep = np.flatnonzero((layout.gpu_of == NOWHERE) & wakeable.single)
        changed = False
        for item in asleep[np.argsort(-wakeable.cost[asleep], kind="stable")]:
            if deadline.over:
                return
            changed |= squeeze_in(bound, layout, item, inf, rng, tries)
        tries *= 1 if changed else 4


def _wakeable(problem: Problem, reduction: Reduction) -> Wakeable:
    costs = {model.name: model.sleep_cost for model in problem.models}
    cost, single = np.zeros(len(reduction.items)), np.zeros(len(reduction.items), np.bool_)
    for number, item in enumerate(reduction.items):
        stated = [costs[model.name] for model in item.models]
        known = [amount for amount in stated if amount is not None]
        free = len(known) == len(stated)
        cost[number] = sum(known) / item.models[0].parts if free else inf
        single[number] = free and len(stated) == 1 and item.models[0].parts == 1
    unit = np.array([item.models[0].parts for item in reduction.items], np.int64)
    return Wakeable(cost, single, unit)


def _order(reduction: Reduction, instance: Instance, wakeable: Wakeable) -> Ints:
    """Return the first item of every model: first those that must be awake, then by worth."""
    hardest = filling_order(instance, 1.0)
    rank = np.empty(len(reduction.items))
    rank[hardest] = np.arange(len(hardest))
    need = instance.size.copy()
    for column in range(instance.limit.shape[1]):
        limit = instance.limit[:, column].mean()
        if 0.0 < limit < inf:
            need = np.maximum(need, instance.use[:, :, column].mean(axis=0) / limit)
    worth = wakeable.cost / np.maximum(need, LEAST_NEED)
    firsts, place = [], 0
    while place < len(reduction.items):
        firsts.append(place)
        place += int(wakeable.unit[place])
    firsts.sort(key=lambda n: (-worth[n], rank[n]) if worth[n] < inf else (-inf, rank[n]))
    return np.array(firsts, np.int64)


def _limited(reduction: Reduction, most_pressure: float | None) -> Instance:
    """Return an instance in which every fit has a finite pressure, or one within the limit.

    With a limit, each window becomes a resource: the memory for an item and for its load.
    """
    instance = reduction.canonical
    capacity = instance.capacity * (1.0 - FREE_WHILE_WAKING)
    if most_pressure is None:
        return frozen(instance._replace(capacity=capacity))
    size_unit, load_unit = own_units(reduction.instance)
    target = most_pressure * size_unit / load_unit
    if target == 0.0:
        needs = np.where(instance.load > 0.0, 2.0 * capacity.max(), instance.size[:, None])
    else:
        needs = instance.size[:, None] + instance.load / target
    kinds = instance.use.shape[0]
    rooms = np.repeat(instance.capacity[:, None] * ROOM_AT_LIMIT, needs.shape[1], axis=1)
    spread = np.broadcast_to(needs, (kinds, *needs.shape))
    return frozen(
        instance._replace(
            capacity=capacity,
            use=np.concatenate([instance.use, spread], axis=2),
            limit=np.concatenate([instance.limit, rooms], axis=1),
        )
    )


def _placement(reduction: Reduction, layout: Layout) -> Placement:
    """Return the placement of the models; models without a GPU are asleep."""
    names = [gpu.name for gpu in reduction.whole.gpus]
    places: dict[str, list[str]] = {model.name: [] for model in reduction.whole.models}
    for item, gpu in zip(reduction.items, layout.gpu_of.tolist(), strict=True):
        for model in item.models:
            if gpu != NOWHERE:
                places[model.name].append(names[gpu])
    return Placement(places)
