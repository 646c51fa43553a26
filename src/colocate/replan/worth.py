"""Does a move pay: what it brings while demand lasts, against what it costs on the way."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import Any

from colocate.problem.parts import Places
from colocate.problem.problem import Problem
from colocate.problem.quantity import checked_number
from colocate.replan.lives import lives_of
from colocate.replan.replanning import FrontierPoint
from colocate.replan.steps.safe_steps import SafeSteps
from colocate.replan.steps.step import StepKind
from colocate.simulate.demand.kinds import PoissonDemand
from colocate.simulate.live.run import simulate_lives
from colocate.simulate.options import SimulateOptions
from colocate.simulate.result import Simulation
from colocate.simulate.run import simulate_placement

LASTS_SECONDS = 3600.0
"""How long demand is expected to stay as it is, where nobody says so: rates change by the hour."""
UNCERTAINTY = 0.5
"""The share by which that time may be wrong, where nobody says so."""
STEADY_SECONDS = 300.0
"""Seconds of a replay of each placement as it is: some hundred requests to a small fleet."""
SEEDS = 3
"""Replays, whose requests are the same on both ways."""


@dataclass(frozen=True)
class MoveWorth:
    """What moving brings and costs.

    Parameters
    ----------
    pays
        Whether the least gain exceeds the cost.
    simulated
        Whether both were simulated, in requests that keep their targets. Otherwise they are
        seconds of the whole fleet's work: the share by which the value falls, and the share of
        demand that waits.
    gain_per_second
        What the new placement brings each second.
    cost
        What is lost on the way.
    seconds
        How long the way takes.
    lasts_seconds, uncertainty
        How long demand lasts as expected, and the share by which that may be less.
    """

    pays: bool
    simulated: bool
    gain_per_second: float
    cost: float
    seconds: float
    lasts_seconds: float
    uncertainty: float

    @property
    def least_gain(self) -> float:
        """What moving brings if demand changes early."""
        left = self.lasts_seconds * (1.0 - self.uncertainty) - self.seconds
        return self.gain_per_second * max(left, 0.0)

    @property
    def break_even_seconds(self) -> float:
        """How long demand must last for the move to pay; infinite if it never does."""
        if self.gain_per_second <= 0.0:
            return inf
        return self.seconds + self.cost / self.gain_per_second

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data for JSON."""
        even = self.break_even_seconds
        return {
            **vars(self),
            "least_gain": self.least_gain,
            "break_even_seconds": even if even < inf else "Infinity",
        }


def worth_of(
    problem: Problem,
    old: Places,
    stay: FrontierPoint,
    point: FrontierPoint,
    steps: SafeSteps,
    lasts_seconds: float = LASTS_SECONDS,
    uncertainty: float = UNCERTAINTY,
    seed: int = 0,
) -> MoveWorth:
    """Say whether moving pays.

    Parameters
    ----------
    problem, old
        The fleet as it is now, and the placement that runs.
    stay, point
        Staying, and where to go.
    steps
        The way.
    lasts_seconds, uncertainty
        How long demand is expected to stay as it is, and the share by which that may be less.
    seed
        The first seed of the replays.
    """
    lasts = checked_number(lasts_seconds, ("lasts_seconds",))
    unsure = min(checked_number(uncertainty, ("uncertainty",)), 1.0)
    simulated = _knows_requests(problem) and _same_gpus(problem, steps)
    if simulated:
        gain, cost = _simulated(problem, old, point, steps, seed)
    else:
        gain, cost = _by_value(problem, stay, point, steps)
    worth = MoveWorth(False, simulated, gain, cost, steps.seconds, lasts, unsure)
    pays = point.moved_gb > 0.0 and worth.least_gain > worth.cost
    return MoveWorth(pays, simulated, gain, cost, steps.seconds, lasts, unsure)


def _knows_requests(problem: Problem) -> bool:
    """Whether requests can be drawn: their rates and lengths are stated."""
    stated = [model.requests for model in problem.models]
    return all(each is not None and each.prompt_tokens > 0.0 for each in stated)


def _same_gpus(problem: Problem, steps: SafeSteps) -> bool:
    return set(steps.change.memory_gb) == {gpu.name for gpu in problem.gpus}


def _simulated(
    problem: Problem, old: Places, point: FrontierPoint, steps: SafeSteps, seed: int
) -> tuple[float, float]:
    """Return the requests in time that are gained each second, and those lost on the way."""
    lives, span = lives_of(steps), steps.seconds
    gain = cost = 0.0
    for each in range(seed, seed + SEEDS):
        on_the_way = (PoissonDemand().pieces(problem, span, each) for _ in range(2))
        afterwards = (PoissonDemand().pieces(problem, STEADY_SECONDS, each) for _ in range(2))
        options = SimulateOptions()
        stayed = simulate_placement(problem, old, next(on_the_way), options, each)
        moved = simulate_lives(problem, lives, next(on_the_way), options, each)
        before = simulate_placement(problem, old, next(afterwards), options, each)
        after = simulate_placement(problem, point.placement, next(afterwards), options, each)
        cost += (_in_time(stayed) - _in_time(moved)) / SEEDS
        gain += (_in_time(after) - _in_time(before)) / STEADY_SECONDS / SEEDS
    return gain, max(cost, 0.0)


def _in_time(found: Simulation) -> float:
    """Return how many requests kept all targets."""
    return sum(model.goodput for model in found.models) * found.seconds


def _by_value(
    problem: Problem, stay: FrontierPoint, point: FrontierPoint, steps: SafeSteps
) -> tuple[float, float]:
    """Return the share by which the value falls, and the seconds of all demand that wait."""
    demand = {m.name: m.peak_demand for m in problem.models}
    whole = sum(demand.values()) or 1.0
    gain = 1.0 if stay.value == inf else 1.0 - point.value / stay.value if stay.value else 0.0
    waiting = (demand.get(each.model, 0.0) * each.seconds for each in steps.interruptions)
    drained: Iterable[float] = (
        demand.get(step.engine.model, 0.0) * step.seconds
        for step in steps.steps
        if step.kind is StepKind.DRAIN
    )
    return gain, (sum(waiting) + sum(drained)) / whole
