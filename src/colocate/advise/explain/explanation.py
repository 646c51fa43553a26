"""Explain a plan: its bottleneck, what would relieve it, and its bound."""

from dataclasses import dataclass, replace

from colocate.advise.explain.bottleneck import Bottleneck, bottleneck_of
from colocate.advise.explain.bound import BoundFacts, bound_of
from colocate.advise.explain.cause import Cause, Why, why_so_high
from colocate.advise.explain.fixed_plan import FixedPlan, fixed_plan_of
from colocate.advise.explain.idle import IdleGpus, Tight, idle_gpus, tight_gpus
from colocate.advise.explain.levers import Lever, more_shards, one_more_replica, pulled
from colocate.advise.explain.moves import NextMove, best_move
from colocate.advise.explain.slowdown import LatencyFacts, slowdowns
from colocate.advise.latency import predictions_of, worst_of
from colocate.advise.remedies.fleet_changes import in_more_shards
from colocate.advise.service import Service, services_of
from colocate.inputs.fleet import Fleet
from colocate.solver.deadline import Deadline
from colocate.solver.interrupt import stopping_on_interrupt
from colocate.solver.plan import Plan, Status
from colocate.solver.solve import solve

SECONDS = 5.0
"""Seconds for an explanation, mostly for solving changed problems."""
ONE_LEVER = 1.0
"""Seconds to solve the problem with one more replica, or more shards."""
FOR_LATENCY = 0.4
"""Share of the time for predicting what parting neighbours brings."""
BETTER = 0.999
"""A second solve found a better placement if its pressure is below this share."""


@dataclass(frozen=True)
class Explanation:
    """Why a plan is as it is, and what would change it.

    Parameters
    ----------
    bottleneck
        The GPU with the highest pressure.
    why
        What sets that pressure.
    move
        The move or swap that lowers it most; None if the rules allow none, or the plan minimises
        latency.
    solved_again
        A lower pressure that the solver found for the same problem; None if it found none, or if
        the plan is proven optimal.
    levers
        The effect of more replicas or shards of the hottest model.
    bound
        The bound and its proof; None if the plan states none.
    idle
        GPUs without a model.
    tight
        GPUs close to a limit.
    asleep
        The models that sleep.
    services
        What the models on the bottleneck can serve; none without the fleet.
    latency
        Models close to their latency targets, and who slows them; none if latencies are not known.
    ratio
        The worst latency over its target if the plan minimises that; then `solved_again` and the
        bound are about it too. None if it minimises pressure.
    """

    bottleneck: Bottleneck
    why: Why
    move: NextMove | None
    solved_again: float | None
    levers: tuple[Lever, ...]
    bound: BoundFacts | None
    idle: tuple[IdleGpus, ...]
    tight: tuple[Tight, ...]
    asleep: tuple[str, ...]
    services: tuple[Service, ...] = ()
    latency: tuple[LatencyFacts, ...] = ()
    ratio: float | None = None


def explain(
    plan: Plan,
    fleet: Fleet | None = None,
    seconds: float = SECONDS,
) -> Explanation | None:
    """Explain a plan with a valid placement; None if all its models sleep.

    Parameters
    ----------
    plan
        The plan. Only its placement and problem are trusted.
    fleet
        The fleet of the plan, which states the memory of engines beyond the weights.
        Without it, more shards are not tried.
    seconds
        The time for solving changed problems. An interrupt ends it earlier.
    """
    state = fixed_plan_of(_by_pressure(plan))
    if state is None:
        return None
    watch = Deadline(seconds)
    with stopping_on_interrupt(watch.stop):
        return _explained(plan, state, fleet, watch)


def _by_pressure(plan: Plan) -> Plan:
    """Return the plan as if it minimised pressure: causes, moves and levers are about that."""
    return replace(plan, problem=replace(plan.problem, objective="pressure"))


def _explained(plan: Plan, state: FixedPlan, fleet: Fleet | None, watch: Deadline) -> Explanation:
    bottleneck = bottleneck_of(state)
    by_latency = plan.problem.objective == "latency"
    slow = slowdowns(state, watch.part(watch.left * FOR_LATENCY), by_latency)
    ratio = worst_of(predictions_of(plan)).shared.ratio if by_latency else None
    value = state.peak if ratio is None else ratio
    better = _solved_again(state, plan, value, watch)
    lower_peak = None if by_latency else better
    why = why_so_high(state, bottleneck, watch.part(watch.left / 2), lower_peak, by_latency)
    return Explanation(
        bottleneck,
        why,
        best_move(state) if bottleneck.hottest and not by_latency else None,
        better,
        tuple(_levers(state, bottleneck, why, fleet, watch)),
        bound_of(plan, value),
        idle_gpus(state),
        tight_gpus(state),
        tuple(name for name, gpus in plan.placement.items() if not gpus),
        _services(plan, fleet, bottleneck.gpu),
        slow,
        ratio,
    )


def _services(plan: Plan, fleet: Fleet | None, gpu: str) -> tuple[Service, ...]:
    """Return what the replicas with a part on a GPU can serve."""
    if fleet is None:
        return ()
    return tuple(service for service in services_of(plan, fleet) if gpu in service.gpus)


def _solved_again(state: FixedPlan, plan: Plan, value: float, watch: Deadline) -> float | None:
    """Return a lower value that the solver finds for the same problem; None if it finds none."""
    if plan.status is Status.OPTIMAL:
        return None
    problem = replace(state.problem, objective=plan.problem.objective)
    again = solve(problem, time_limit=max(min(ONE_LEVER, watch.left), 0.05))
    better = again.placement and again.value < BETTER * value
    return again.value if better else None


def _levers(
    state: FixedPlan,
    bottleneck: Bottleneck,
    why: Why,
    fleet: Fleet | None,
    watch: Deadline,
) -> list[Lever]:
    hottest = bottleneck.hottest
    if hottest is None or why.cause is Cause.LATENCY:
        return []
    changes = [one_more_replica(state, hottest.model)]
    if why.cause is Cause.HOT_MODEL or hottest.shards > 1:
        model = in_more_shards(fleet, hottest.model) if fleet else None
        changes.append(more_shards(state, model) if model else None)
    seconds = max(min(ONE_LEVER, watch.left / 2), 0.05)
    return [pulled(change, seconds) for change in changes if change]
