"""Annealing towards a target within a budget: both are limits, and what exceeds them is lowered.

The energy of a placement is the sum, over its GPUs, of the share by which each exceeds the target,
and what is moved beyond the budget, in units of a usual item. At energy 0 both limits hold. So one
search answers both questions: the lowest target for a budget, and the least budget for a target.
"""

from math import exp

import numpy as np

from colocate.problem.exchange import can_exchange, exchange
from colocate.problem.instance import Floats, Ints
from colocate.problem.kernel import entry_kernel, kernel, leaf_kernel
from colocate.problem.layout import NOWHERE
from colocate.problem.tolerance import ROUNDING
from colocate.replan.search.kernel.moving import (
    MovingItems,
    SoughtLimits,
    gb_after,
    moved_gb,
    over,
)
from colocate.solver.latency.joined import forget_noted, note_joined, rate_noted
from colocate.solver.latency.now import NOTED, SearchState

BEYOND_BUDGET = 0.2
"""What a usual item that is moved beyond the budget counts: as a GPU that is a fifth too high."""
SWAPS, RETURNS = 0.5, 0.65
"""Shares of the draws: below the first, two items change places; below the second, an item goes
back home; else it goes anywhere."""
TRIES = 3
"""Draws of an item until one is on a GPU above the target."""


@leaf_kernel
def sum_over(values: Floats, target: float) -> float:
    """Return the sum of the shares by which the values of all GPUs exceed a target."""
    total = 0.0
    for gpu in range(values.shape[0]):
        total += over(values[gpu], target)
    return total


@leaf_kernel
def beyond(gb: float, budget_gb: float, usual_gb: float) -> float:
    """Return what it counts to move so much.

    Parameters
    ----------
    gb, budget_gb : what is moved, and what may be
    usual_gb : the weights of a usual item
    """
    return max(gb - budget_gb, 0.0) / usual_gb * BEYOND_BUDGET


@kernel
def drawn(
    moving: MovingItems, gpu_of: Ints, values: Floats, target: float, rng: np.random.Generator
) -> tuple[int, int, int]:
    """Draw an item, one that it changes places with or `NOWHERE`, and the GPU that it goes to.

    Parameters
    ----------
    moving, gpu_of : what moving means, and where every item is
    values, target : the value of every GPU, and what it should not exceed
    rng : the source of all random draws
    """
    item = moving.free[0]
    for _ in range(TRIES):
        item = moving.free[int(rng.random() * moving.free.shape[0])]
        if values[gpu_of[item]] > target:
            break
    draw = rng.random()
    if draw < SWAPS:
        other = moving.free[int(rng.random() * moving.free.shape[0])]
        return item, other, gpu_of[other]
    if draw < RETURNS and moving.home[item] != NOWHERE:
        return item, NOWHERE, moving.home[item]
    return item, NOWHERE, int(rng.random() * values.shape[0])


@leaf_kernel
def cooling(limits: SoughtLimits) -> float:
    """Return by what the heat falls with every step."""
    share: float = (limits.cold / limits.hot) ** (1.0 / max(limits.steps, 1))
    return share


@leaf_kernel
def _noted_over(costs_of: Floats, now: SearchState, target: float) -> float:
    """Return by how much the noted GPUs exceed a target.

    Parameters
    ----------
    costs_of : the cost of every GPU, before or after a change
    now : the state of the search, with the noted GPUs
    target : the target
    """
    total = 0.0
    for place in range(now.costs.number[NOTED]):
        total += over(costs_of[now.costs.changed[place]], target)
    return total


@entry_kernel
def seek_by_latency(
    now: SearchState, moving: MovingItems, limits: SoughtLimits, rng: np.random.Generator
) -> bool:
    """Change places by chance until both limits hold, where GPUs cost what the law of sharing says.

    Parameters
    ----------
    now : the state of the search; all GPUs have been rated
    moving : what moving means
    limits : what is sought
    rng : the source of all random draws
    """
    layout, costs, target = now.layout, now.costs, limits.target
    gpu_of, total = layout.gpu_of, sum_over(costs.cost, target)
    gb, heat, colder = moved_gb(moving, gpu_of), limits.hot, cooling(limits)
    for _ in range(limits.steps):
        if (total <= ROUNDING and gb <= limits.budget_gb) or layout.go[0] == 0:
            break
        heat *= colder
        item, other, goal = drawn(moving, gpu_of, costs.cost, target, rng)
        if not can_exchange(now.instance, layout, item, other, goal):
            continue
        here = gpu_of[item]
        after = gb_after(moving, gpu_of, gb, item, other, goal)
        worse = beyond(after, limits.budget_gb, moving.usual_gb)
        worse -= beyond(gb, limits.budget_gb, moving.usual_gb)
        note_joined(now.table, layout, costs, here)
        note_joined(now.table, layout, costs, goal)
        before = _noted_over(costs.cost, now, target)
        exchange(now.instance, layout, item, other, goal)
        rate_noted(now, np.inf)
        change = _noted_over(costs.trial, now, target) - before
        worse += change
        if worse > 0.0 and rng.random() >= exp(-worse / heat):
            exchange(now.instance, layout, item, other, here)
        else:
            for place in range(costs.number[NOTED]):
                costs.cost[costs.changed[place]] = costs.trial[costs.changed[place]]
            total, gb = max(total + change, 0.0), after
        forget_noted(costs)
    return total <= ROUNDING and gb <= limits.budget_gb
