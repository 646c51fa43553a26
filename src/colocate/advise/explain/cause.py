"""Why the peak is as high as it is: one hot model, too little memory, or a constraint."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from math import inf

from colocate.advise.explain.bottleneck import Alone, Bottleneck, alone
from colocate.advise.explain.fixed_plan import FixedPlan
from colocate.advise.relaxations import relaxations, unconstrained
from colocate.advise.what_if import Change
from colocate.problem.problem import Problem
from colocate.solver.deadline import Deadline
from colocate.solver.solve import solve

NEARLY = 0.99
"""A model alone sets the peak from this share of it on; a constraint costs something if the peak
falls below this share without it."""
EVENLY = 0.95
"""Pressure counts as even if spreading it perfectly would leave this share of the peak."""
ONE_SOLVE = 0.3
"""Seconds to solve the problem without one constraint."""


class Cause(StrEnum):
    """What sets the peak."""

    NO_LOAD = "no load"
    HOT_MODEL = "hot model"
    """One model has this pressure even when it is alone on its best GPU."""
    LATENCY = "latency"
    """The plan minimises the worst latency, whatever the pressure."""
    PLACEMENT = "placement"
    """A better placement of the same models on the same GPUs is known."""
    CONSTRAINTS = "constraints"
    """Without one of the constraints the peak would be lower."""
    EVEN = "even"
    """The load is spread about as evenly over the free memory as it can be."""
    PIECES = "pieces"
    """Models cannot be cut: the load cannot be spread any more evenly."""


@dataclass(frozen=True)
class Relief:
    """A constraint, and the highest pressure that was found without it."""

    change: Change
    pressure: float


@dataclass(frozen=True)
class Why:
    """What sets the peak, with figures.

    Parameters
    ----------
    cause
        The main reason.
    alone
        The hottest model of the bottleneck by itself; None where there is no load.
    load, free_gb
        All load in the busiest window, and all memory that models leave free.
    even_pressure
        The pressure if the load were spread perfectly; no placement has a lower peak.
    lowest
        The lowest pressure of a GPU.
    reliefs
        Constraints without which the peak would be lower, best first.
    """

    cause: Cause
    alone: Alone | None
    load: float
    free_gb: float
    even_pressure: float
    lowest: float
    reliefs: tuple[Relief, ...]


def why_so_high(
    state: FixedPlan,
    bottleneck: Bottleneck,
    watch: Deadline,
    better: float | None = None,
    by_latency: bool = False,
) -> Why:
    """Return what sets the peak of a placement.

    Parameters
    ----------
    state
        The placement.
    bottleneck
        Its bottleneck.
    watch
        The time for solving the problem without each of its constraints.
    better
        A lower peak that is known for the same problem: then only the placement is to blame.
    by_latency
        Whether the plan minimises latency: then that is the reason.
    """
    load = float(state.load.sum(axis=0).max())
    free = max(float(state.instance.capacity.sum() - state.instance.size.sum()), 0.0)
    even = 0.0 if load == 0.0 else load / free if free > 0.0 else inf
    hottest = bottleneck.hottest
    by_itself = alone(state, hottest.model) if hottest else None
    hot = by_itself is not None and by_itself.pressure >= NEARLY * state.peak
    bound_by_size = hot and by_itself is not None and by_itself.everywhere
    known = bound_by_size or not hottest or better is not None or by_latency
    reliefs = () if known else tuple(_reliefs(state, bottleneck, watch))
    cause = (
        Cause.NO_LOAD if hottest is None
        else Cause.LATENCY if by_latency
        else Cause.PLACEMENT if better is not None
        else Cause.HOT_MODEL if hot
        else Cause.CONSTRAINTS if reliefs
        else Cause.EVEN if even >= EVENLY * state.peak
        else Cause.PIECES
    )  # fmt: skip
    lowest = float(state.pressure.min())
    ranked = sorted(reliefs, key=lambda relief: relief.pressure)
    return Why(cause, by_itself, load, free, even, lowest, tuple(ranked))


def _reliefs(state: FixedPlan, bottleneck: Bottleneck, watch: Deadline) -> Iterator[Relief]:
    """Yield the constraints that, each dropped by itself, let the solver find a lower peak."""
    problem = state.problem
    here = {tenant.model for tenant in bottleneck.tenants}
    if next(relaxations(problem), None) is None or not _lower(state, unconstrained(problem), watch):
        return
    for change in relaxations(problem, here):
        if watch.over:
            return
        if pressure := _lower(state, change.problem, watch):
            yield Relief(change, pressure)


def _lower(state: FixedPlan, problem: Problem, watch: Deadline) -> float | None:
    """Return the peak that the solver finds for another problem if it is clearly lower."""
    plan = solve(problem, time_limit=max(min(ONE_SOLVE, watch.left), 0.05))
    return plan.pressure if plan.placement and plan.pressure < NEARLY * state.peak else None
