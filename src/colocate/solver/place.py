"""One call for a strategy."""

from dataclasses import replace
from time import perf_counter

import numpy as np

from colocate.errors import InputError
from colocate.problem.instance import Ints, canonical
from colocate.problem.placement import Placement
from colocate.problem.pressure import pressures
from colocate.problem.problem import Problem
from colocate.problem.verify import verify
from colocate.solver.construct.exhaustive import Exhaustive
from colocate.solver.feasibility import hidden_obstacle, obvious_obstacle
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
    if seed < 0:
        raise InputError(f"seed={seed}, must be a whole number >= 0")
    started = perf_counter()
    chosen = find_strategy(strategy) if isinstance(strategy, str) else strategy
    plan = _plan(problem, chosen, seed)
    return replace(plan, strategy=chosen.name, seed=seed, seconds=perf_counter() - started)


def _plan(problem: Problem, strategy: Strategy, seed: int) -> Plan:
    if obstacle := obvious_obstacle(problem):
        return Plan(problem, Status.INFEASIBLE, reason=obstacle)
    instance = canonical(problem.instance)
    gpu_of = strategy.run(instance, np.random.default_rng(seed))
    if gpu_of is not None:
        return _feasible(problem, gpu_of)
    rescue = replace(strategy, starts=(Exhaustive(),))
    gpu_of = rescue.run(instance, np.random.default_rng(seed))
    if gpu_of is not None:
        return _feasible(problem, gpu_of, f"{strategy.name} found no room; searched for a start")
    if obstacle := hidden_obstacle(problem):
        return Plan(problem, Status.INFEASIBLE, reason=obstacle)
    return Plan(problem, Status.UNKNOWN, reason=f"{strategy.name} found no room for every model")


def _feasible(problem: Problem, gpu_of: Ints, reason: str = "") -> Plan:
    placement = Placement.from_indices(problem, gpu_of)
    verdict = verify(problem, placement)
    if not verdict.valid:
        raise AssertionError(f"a strategy broke a rule: {'; '.join(verdict.faults)}")
    values = pressures(problem.instance, gpu_of).tolist()
    by_gpu = {gpu.name: value for gpu, value in zip(problem.gpus, values, strict=True)}
    return Plan(problem, Status.FEASIBLE, placement, by_gpu, reason)
