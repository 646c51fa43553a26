"""Compare a plan with the usual greedy rule and with a GPU of its own for every model."""

from dataclasses import dataclass, replace

from colocate.problem.parts import replicas_in
from colocate.problem.problem import Problem
from colocate.solver.place import place
from colocate.solver.plan import Plan, Status
from colocate.solver.solve import solve

GREEDY = "initial_program"
SECONDS = 1.0
"""Seconds to find the best way to give every model a GPU of its own."""


@dataclass(frozen=True)
class Alternative:
    """Another way to place the models."""

    gpus: int | None
    """How many GPUs hold a model, or would have to; None if unknown."""
    pressure: float | None
    """The highest pressure; None if there is no placement."""
    reason: str = ""
    """Why there is no placement, or a remark on the one there is."""
    ratio: float | None = None
    """The worst latency over its target; None if there is no placement, or it is not known."""


@dataclass(frozen=True)
class Comparison:
    """Two other ways to place the same replicas, with the same models asleep, as the plan."""

    greedy: Alternative
    dedicated: Alternative


def compare(plan: Plan, time_limit: float = SECONDS) -> Comparison | None:
    """Place the models of a plan in the two other ways; None if the plan places none."""
    problem = _as_decided(plan)
    if problem is None:
        return None
    return Comparison(_greedy(problem, plan.seed), _dedicated(problem, plan.seed, time_limit))


def gpus_used(plan: Plan) -> int:
    """Return how many GPUs of a plan hold a model."""
    return len({gpu for places in plan.placement.values() for gpu in places})


def _as_decided(plan: Plan) -> Problem | None:
    """Return the problem with the plan's replicas and sleepers, and any pressure allowed."""
    awake = plan.problem.awake(plan.asleep) if plan.placement else None
    if awake is None:
        return None
    replicas = replicas_in(awake, plan.placement)
    return replace(awake.with_replicas(replicas), most_pressure=None)


def _greedy(problem: Problem, seed: int) -> Alternative:
    if any(model.shards > 1 for model in problem.models):
        return Alternative(
            None, None, "not possible: greedy cannot keep the shards of a model on one node"
        )
    return _alternative(place(problem, GREEDY, seed))


def _dedicated(problem: Problem, seed: int, time_limit: float) -> Alternative:
    needed = sum(model.parts for model in problem.models)
    if needed > len(problem.gpus):
        reason = f"does not fit: it needs {needed:,} GPUs, there are {len(problem.gpus):,}"
        return Alternative(needed, None, reason)
    alone = replace(problem, together=(), apart=(), most_models=1)
    answer = solve(alone, time_limit=time_limit, seed=seed)
    if answer.status is Status.INFEASIBLE:
        return Alternative(needed, None, "does not fit: memory or a limit does not allow it")
    return replace(_alternative(answer), gpus=needed)


def _alternative(answer: Plan) -> Alternative:
    if not answer.placement:
        return Alternative(None, None, answer.reason)
    ratio = answer.ratio if answer.ratios else None
    return Alternative(gpus_used(answer), answer.pressure, answer.reason, ratio)
