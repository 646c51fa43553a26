"""One call that places models with a named strategy."""

from dataclasses import replace
from math import inf

import numpy as np

from colocate.errors import InputError
from colocate.problem.instance import Ints
from colocate.problem.layout import empty_layout
from colocate.problem.problem import Problem
from colocate.problem.quantity import checked_number, checked_seed
from colocate.problem.reduction import Reduction, reduction_of
from colocate.problem.verify import verify
from colocate.problem.verify_bound import refuted
from colocate.solver.construct.completion import Outcome
from colocate.solver.construct.exhaustive import Exhaustive
from colocate.solver.deadline import Deadline
from colocate.solver.plan import Plan, Status, confirmed_plan
from colocate.solver.prove.obstacles import (
    Obstacle,
    nothing_fits,
    obvious_obstacle,
    too_many_parts,
)
from colocate.solver.prove.tree import search_with_proof
from colocate.solver.strategies import find_strategy
from colocate.solver.strategy import Strategy
from colocate.solver.targets import keeps_targets, without_targets

NODES = 200_000
"""Nodes of the final search for any placement."""


def place(
    problem: Problem,
    strategy: str | Strategy = "initial_program",
    seed: int = 0,
    time_limit: float = inf,
) -> Plan:
    """Place the models of a problem with a named strategy.

    Parameters
    ----------
    problem
        The models and the GPUs to place them on.
    strategy
        A name from the catalogue, or a strategy of your own.
    seed
        Decides every random choice: the same seed gives the same placement.
    time_limit
        Seconds after which the call returns the best placement so far, if any; compiling is extra.

    Returns
    -------
    Plan
        Either feasible, with a placement that the independent checker has confirmed, or infeasible
        or unknown, with the reason.
    """
    checked_seed(seed)
    if time_limit != inf:
        checked_number(time_limit, ("time_limit",), positive=True)
    chosen = strategy if isinstance(strategy, Strategy) else find_strategy(strategy)
    if problem.open_replicas or problem.sleepers or problem.most_pressure is not None:
        raise InputError(f"strategies do not decide on {_open_end(problem)}; use the solver")
    if any(model.shards > 1 for model in problem.models):
        raise InputError("strategies do not know shards, which must be on one node; use the solver")
    deadline = Deadline(time_limit)
    plan = _refused(problem, too_many_parts(problem))
    if plan is None:
        with deadline.watched():
            plan = _plan(reduction_of(problem), chosen, seed, deadline)
    return replace(plan, strategy=chosen.name, seed=seed, seconds=deadline.seconds)


def _open_end(problem: Problem) -> str:
    """Name the decision that a strategy cannot make."""
    if undecided := [model.name for model in problem.models if model.open_replicas]:
        return f"the number of replicas of {undecided[0]!r}"
    if problem.sleepers:
        return f"whether {problem.sleepers[0].name!r} sleeps"
    return "placements below a limit on the pressure"


def _plan(reduction: Reduction, strategy: Strategy, seed: int, deadline: Deadline) -> Plan:
    if plan := _refused(reduction.whole, obvious_obstacle(reduction)):
        return plan
    if (gpu_of := _run(reduction, strategy, seed, deadline)) is not None:
        return _confirmed(reduction, gpu_of)
    reason = f"{strategy.name} found no room"
    rescue = replace(strategy, starts=(Exhaustive(),))
    if (gpu_of := _run(reduction, rescue, seed, deadline)) is not None:
        return _confirmed(reduction, gpu_of, f"{reason}; searched for a start")
    return _last_resort(reduction, f"{reason} for every model", deadline)


def _confirmed(reduction: Reduction, gpu_of: Ints, note: str = "") -> Plan:
    """Return the plan of a placement; none if it breaks targets, which strategies do not know."""
    placement = reduction.placement(gpu_of)
    if keeps_targets(reduction.whole, placement):
        return confirmed_plan(reduction.whole, placement, note)
    reason = "the strategy found no placement that keeps latency targets, which it does not know"
    return Plan(reduction.whole, Status.UNKNOWN, reason=reason)


def _refused(problem: Problem, obstacle: Obstacle | None) -> Plan | None:
    """Return the infeasible plan for an obstacle, if the checker confirms the obstacle."""
    if obstacle is None or refuted(problem, obstacle.proof) is not None:
        return None
    reason, proof = obstacle.reason, obstacle.proof
    return Plan(problem, Status.INFEASIBLE, reason=reason, certificate=proof)


def _run(reduction: Reduction, strategy: Strategy, seed: int, deadline: Deadline) -> Ints | None:
    return strategy.run(reduction.canonical, np.random.default_rng(seed), deadline.go)


def _last_resort(reduction: Reduction, reason: str, deadline: Deadline) -> Plan:
    """Search with the original numbers, by memory alone, for a placement or a proof of none."""
    layout = empty_layout(reduction.instance, deadline.go)
    searched, proof = search_with_proof(reduction.instance, layout, inf, NODES)
    if proof and refuted(reduction.whole, proof) is None:
        told = nothing_fits(reduction.whole)
        return Plan(reduction.whole, Status.INFEASIBLE, reason=told, certificate=proof)
    if searched.outcome is Outcome.FOUND:
        placement = reduction.placement(layout.gpu_of)
        if verify(without_targets(reduction.whole), placement).valid:
            return _confirmed(reduction, layout.gpu_of, f"{reason}; placed by memory alone")
    unknown = "time is up" if deadline.over else "it is not proven that there is none"
    return Plan(reduction.whole, Status.UNKNOWN, reason=f"{reason}; {unknown}")
