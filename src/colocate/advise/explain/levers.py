"""Solve the problem with more replicas or shards of one model, and report the effect."""

from dataclasses import dataclass, replace
from math import inf

from colocate.advise.explain.fixed_plan import FixedPlan
from colocate.advise.what_if import Change, ChangeKind
from colocate.problem.model import Model
from colocate.solver.plan import Plan, Status
from colocate.solver.solve import solve


@dataclass(frozen=True)
class Lever:
    """A model in more replicas or shards.

    Parameters
    ----------
    kind
        Replicas or shards.
    model
        Its name.
    count
        How many there are afterwards.
    added_gb
        Memory that it takes in addition.
    status
        How the solve ended.
    pressure, bound
        The highest pressure of the placement found, infinite if there is none, and its bound.
    then
        The model with most load on the bottleneck of that placement; empty if there is none.
    """

    kind: ChangeKind
    model: str
    count: int
    added_gb: float
    status: Status
    pressure: float
    bound: float
    then: str


def one_more_replica(state: FixedPlan, name: str) -> Change | None:
    """Return the problem with one more replica of a model; None if it may have only one."""
    model = _model(state, name)
    changed = model.changed(replicas=model.replicas + 1, most_replicas=None)
    return _changed(state, changed, ChangeKind.REPLICAS, changed.replicas)


def more_shards(state: FixedPlan, sharded: Model) -> Change | None:
    """Return the problem with a model in other shards, with as many replicas as now."""
    replicas = state.replicas_of(sharded.name)
    changed = sharded.changed(replicas=replicas, most_replicas=None, sleep_cost=None)
    return _changed(state, changed, ChangeKind.SHARDS, changed.shards)


def pulled(change: Change, seconds: float) -> Lever:
    """Solve a changed problem for some seconds and report the effect."""
    plan = solve(change.problem, time_limit=seconds)
    pressure = plan.pressure if plan.placement else inf
    return Lever(
        change.kind,
        change.names[0],
        change.count,
        change.gb,
        plan.status,
        pressure,
        plan.bound,
        _hottest(plan),
    )


def _hottest(plan: Plan) -> str:
    if not plan.bottleneck:
        return ""
    tenants = plan.models_by_gpu()[plan.bottleneck]
    return max(tenants, key=lambda model: max(model.load)).name if tenants else ""


def _changed(state: FixedPlan, model: Model, kind: ChangeKind, count: int) -> Change | None:
    if any(model.name in group for group in state.problem.together):
        return None
    before = _model(state, model.name)
    models = tuple(model if m.name == model.name else m for m in state.problem.models)
    added = model.replicas * model.size_gb - before.replicas * before.size_gb
    problem = replace(state.problem, models=models)
    return Change(kind, problem, (model.name,), count=count, gb=added)


def _model(state: FixedPlan, name: str) -> Model:
    return next(model for model in state.problem.models if model.name == name)
