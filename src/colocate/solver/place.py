"""One call for a strategy."""

from dataclasses import replace
from time import perf_counter

import numpy as np

from colocate.errors import InputError
from colocate.problem.instance import canonical
from colocate.problem.parts import Parts, parts_of
from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.quantity import checked_seed
from colocate.problem.verify import verify
from colocate.solver.construct.completion import Outcome
from colocate.solver.construct.exhaustive import Exhaustive
from colocate.solver.feasibility import obvious_obstacle, search_in_memory
from colocate.solver.plan import Plan, Status
from colocate.solver.strategies import find_strategy
from colocate.solver.strategy import Strategy


def place(problem: Problem, strategy: str | Strategy = "initial_program", seed: int = 0) -> Plan:
    """Place the models of a problem with a named strategy.

    Parameters
    ----------
    problem
        What to place where.
    strategy
        A name from the catalogue, or a strategy of your own.
    seed
        Decides every random choice: the same seed gives the same placement.

    Returns
    -------
    Plan
        Feasible with a placement that the independent checker has confirmed, or infeasible or
        unknown with the reason.
    """
    checked_seed(seed)
    started = perf_counter()
    chosen = strategy if isinstance(strategy, Strategy) else find_strategy(strategy)
    if problem.elastic or problem.sleepers or problem.most_pressure is not None:
        open_ends = "copies, sleep or a limit on the pressure"
        raise InputError(f"strategies do not decide on {open_ends}; use the solver")
    parts = parts_of(problem)
    if parts.squads:
        raise InputError("strategies do not know shards, which must be on one node; use the solver")
    plan = _plan(parts, chosen, seed)
    return replace(
        plan,
        problem=problem,
        strategy=chosen.name,
        seed=seed,
        seconds=perf_counter() - started,
    )


def _plan(parts: Parts, strategy: Strategy, seed: int) -> Plan:
    problem = parts.problem
    if obstacle := obvious_obstacle(problem):
        return Plan(problem, Status.INFEASIBLE, reason=obstacle)
    instance = canonical(problem.instance)
    gpu_of = strategy.run(instance, np.random.default_rng(seed))
    if gpu_of is not None:
        return feasible_plan(parts.whole, parts.placement(gpu_of))
    rescue = replace(strategy, starts=(Exhaustive(),))
    gpu_of = rescue.run(instance, np.random.default_rng(seed))
    reason = f"{strategy.name} found no room"
    if gpu_of is not None:
        note = f"{reason}; searched for a start"
        return feasible_plan(parts.whole, parts.placement(gpu_of), note)
    plan = last_resort(problem, f"{reason} for every model")
    if not plan.placement:
        return plan
    return feasible_plan(parts.whole, parts.placement(plan.placement.indices(problem)), plan.reason)


def last_resort(problem: Problem, reason: str) -> Plan:
    """Search the numbers as given, by memory alone: a placement, a proof, or neither."""
    outcome, gpu_of = search_in_memory(problem)
    if outcome is Outcome.NONE:
        reason = (
            f"models: no way to put the {len(problem.models)} models on the "
            f"{len(problem.gpus)} GPUs respects their memory and limits (all were searched)"
        )
        return Plan(problem, Status.INFEASIBLE, reason=reason)
    placement = Placement.from_indices(problem, gpu_of)
    if outcome is Outcome.FOUND and verify(problem, placement).valid:
        return feasible_plan(problem, placement, f"{reason}; placed by memory alone")
    return Plan(problem, Status.UNKNOWN, reason=f"{reason}; it is not proven that there is none")


def feasible_plan(problem: Problem, placement: Placement, reason: str = "") -> Plan:
    """Return the plan of a placement, which the independent checker must confirm."""
    verdict = verify(problem, placement)
    if not verdict.valid:
        raise AssertionError(f"a strategy broke a rule: {'; '.join(verdict.faults)}")
    return Plan(problem, Status.FEASIBLE, placement, verdict.pressures, reason)
