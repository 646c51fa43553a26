"""The highest pressure allowed: the solver places models without it, then applies it."""

from dataclasses import replace

from colocate.problem.placement import Placement
from colocate.problem.problem import Problem
from colocate.problem.verify import highest_pressure
from colocate.solver.budget import SolveBudget
from colocate.solver.decide.replicas import place_awake
from colocate.solver.plan import Plan, Status


def place_within_limit(
    problem: Problem, budget: SolveBudget, start: Placement | None = None
) -> Plan:
    """Place models that are all awake, and drop the placement if it exceeds the limit.

    Parameters
    ----------
    problem
        The problem, with or without a limit.
    budget
        What the call may spend.
    start
        A placement to improve, if there is one.
    """
    if problem.most_pressure is None:
        return place_awake(problem, budget, start)
    limited = replace(budget, ceiling=highest_pressure(problem))
    return held_to_limit(problem, place_awake(without_limit(problem), limited, start))


def without_limit(problem: Problem) -> Problem:
    """Return a problem in which any pressure is allowed."""
    return problem if problem.most_pressure is None else replace(problem, most_pressure=None)


def held_to_limit(problem: Problem, plan: Plan) -> Plan:
    """Turn a plan for a problem without its limit into a plan for the problem with it."""
    most, highest = problem.most_pressure, highest_pressure(problem)
    plan = replace(plan, problem=problem)
    if most is None or not plan.placement or plan.pressure <= highest:
        return plan
    status = Status.INFEASIBLE if plan.bound > highest else Status.UNKNOWN
    known = f"no placement is below {plan.bound:.6g}"
    reason = f"most_pressure={most:.6g}: the best placement has {plan.pressure:.6g}, {known}"
    return replace(plan, status=status, placement=Placement(), pressures={}, reason=reason)
