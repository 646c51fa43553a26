"""Does a move pay: what it brings while demand lasts, against what it costs on the way."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf
from typing import Any, NamedTuple

from colocate.inputs.fleet import Fleet
from colocate.problem.model import Model
from colocate.problem.problem import Problem
from colocate.problem.quantity import checked_number
from colocate.problem.verify import verify
from colocate.replan.lives import lives_now, lives_of
from colocate.replan.placed_engine import MemoryMode
from colocate.replan.replanning import FrontierPoint
from colocate.replan.steps.safe_steps import SafeSteps
from colocate.replan.steps.step import StepKind
from colocate.simulate.demand.kinds import PoissonDemand
from colocate.simulate.engine_life import EngineLife
from colocate.simulate.live.run import simulate_lives
from colocate.simulate.options import SimulateOptions
from colocate.simulate.result import Simulation

LASTS_SECONDS = 3600.0
"""How long demand is expected to stay as it is, where nobody says so: rates change by the hour."""
UNCERTAINTY = 0.5
"""The share by which that time may be wrong, where nobody says so."""
STEADY_SECONDS = 300.0
"""Seconds of a replay of each placement as it is: some hundred requests to a small fleet."""
SEEDS = 3
"""Replays, whose requests are the same on both ways."""


class RatesCase(StrEnum):
    """Which rates a comparison is about."""

    STATED = "stated"
    LOW = "low"
    """All rates as low as they may be."""
    HIGH = "high"
    """All rates as high as they may be."""


class WorthCase(NamedTuple):
    """What moving brings and costs at some rates."""

    rates: RatesCase
    gain_per_second: float
    """What the new placement brings each second."""
    cost: float
    """What is lost on the way."""


@dataclass(frozen=True)
class MoveWorth:
    """What moving brings and costs.

    Parameters
    ----------
    moves
        Whether anything is loaded at all.
    simulated
        Whether both were simulated, in requests that keep their targets. Otherwise they are
        seconds of the whole fleet's work: the share by which the value falls, and the share of
        demand that waits.
    cases
        At the stated rates, and at both ends of what they may be where they are not exact.
    seconds
        How long the way takes.
    lasts_seconds, uncertainty
        How long demand lasts as expected, and the share by which that may be less.
    rate_uncertainty
        The largest share by which the rate of a model may be off.
    """

    moves: bool
    simulated: bool
    cases: tuple[WorthCase, ...]
    seconds: float
    lasts_seconds: float
    uncertainty: float
    rate_uncertainty: float = 0.0

    @property
    def pays(self) -> bool:
        """Whether moving brings more than it costs if demand changes early.

        At the ends of what rates may be it is enough that it costs nothing: at low rates all
        requests may be in time anyway. A move that was not compared there is not known to pay.
        """
        sure = self.moves and self.complete
        return sure and self.left_of(self.stated) > 0.0 and self.net_gain >= 0.0

    @property
    def complete(self) -> bool:
        """Whether both ways were compared at all rates that there may be."""
        return self.rate_uncertainty == 0.0 or len(self.cases) == len(RatesCase)

    @property
    def net_gain(self) -> float:
        """What is left of what moving brings, in the case in which that is least.

        If not all cases were compared, it is at most this.
        """
        return self.left_of(self.worst)

    @property
    def worst(self) -> WorthCase:
        """The case in which least is left of what moving brings."""
        return min(self.cases, key=self.left_of)

    @property
    def stated(self) -> WorthCase:
        """The case of the stated rates."""
        return self.cases[0]

    def left_of(self, case: WorthCase) -> float:
        """Return what moving brings if demand changes early, less what it costs."""
        return self.least_gain(case) - case.cost

    def least_gain(self, case: WorthCase) -> float:
        """Return what moving brings if demand changes early."""
        left = self.lasts_seconds * (1.0 - self.uncertainty) - self.seconds
        return case.gain_per_second * max(left, 0.0)

    def break_even_seconds(self, case: WorthCase) -> float:
        """Return how long demand must last for the move to pay; infinite if it never does."""
        if case.gain_per_second <= 0.0:
            return inf
        return self.seconds + case.cost / case.gain_per_second

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data for JSON."""
        own = {name: value for name, value in vars(self).items() if name not in ("cases", "moves")}
        return {
            "pays": self.pays,
            "net_gain": self.net_gain,
            "complete": self.complete,
            **own,
            **self._case_dict(self.stated),
            "cases": {each.rates.value: self._case_dict(each) for each in self.cases},
        }

    def _case_dict(self, case: WorthCase) -> dict[str, float | str]:
        even = self.break_even_seconds(case)
        return {
            "gain_per_second": case.gain_per_second,
            "cost": case.cost,
            "least_gain": self.least_gain(case),
            "break_even_seconds": even if even < inf else "Infinity",
        }


def worth_of(
    problem: Problem,
    stay: FrontierPoint,
    point: FrontierPoint,
    steps: SafeSteps,
    lasts_seconds: float = LASTS_SECONDS,
    uncertainty: float = UNCERTAINTY,
    rate_uncertainty: Mapping[str, float] | None = None,
    seed: int = 0,
    rates: Sequence[RatesCase] = tuple(RatesCase),
    memory: MemoryMode = "fixed",
) -> MoveWorth:
    """Say whether moving pays.

    Parameters
    ----------
    problem
        The fleet as it is now.
    stay, point
        Staying, and where to go.
    steps
        The way, with the engines before and after it.
    lasts_seconds, uncertainty
        How long demand is expected to stay as it is, and the share by which that may be less.
    rate_uncertainty
        By model, the share by which its rate may be off; those of others are exact.
    seed
        The first seed of the replays.
    rates
        Where rates are not exact, the cases to compare.
    memory
        Whether engines keep their cache, or share it, as in the steps.
    """
    lasts = checked_number(lasts_seconds, ("lasts_seconds",))
    unsure = min(checked_number(uncertainty, ("uncertainty",)), 1.0)
    named = {model.name for model in problem.models}
    shares = {
        name: checked_number(share, ("rate_uncertainty", name))
        for name, share in (rate_uncertainty or {}).items()
        if name in named
    }
    simulated = _knows_requests(problem) and _same_gpus(problem, steps)
    options = SimulateOptions(cache="elastic") if memory == "elastic" else SimulateOptions()
    largest = max(shares.values(), default=0.0)
    cases = []
    for case in rates if largest > 0.0 else (RatesCase.STATED,):
        fleet = _with_rates_of(case, problem, shares)
        if simulated:
            gain, cost = _simulated(fleet, steps, options, seed)
        else:
            values = (_value(fleet, case, stay), _value(fleet, case, point))
            gain, cost = _by_value(fleet, *values, steps)
        cases.append(WorthCase(case, gain, cost))
    moves = point.moved_gb > 0.0
    return MoveWorth(moves, simulated, tuple(cases), steps.seconds, lasts, unsure, largest)


def rate_uncertainties(fleet: Fleet, otherwise: float) -> dict[str, float]:
    """Return the share by which the rate of each model may be off.

    Parameters
    ----------
    fleet
        The fleet, which may know it from `colocate observe`.
    otherwise
        The share where it does not.
    """
    stated = {name: spec.rate_uncertainty for name, spec in fleet.models.items()}
    return {name: otherwise if share is None else share for name, share in stated.items()}


def _with_rates_of(case: RatesCase, problem: Problem, shares: Mapping[str, float]) -> Problem:
    """Return the fleet with rates, and the loads that come of them, as low or high as may be."""
    if case is RatesCase.STATED:
        return problem
    sign = -1.0 if case is RatesCase.LOW else 1.0
    factors = {m.name: max(1.0 + sign * shares.get(m.name, 0.0), 0.0) for m in problem.models}
    models = (_asked_times(model, factors[model.name]) for model in problem.models)
    return replace(problem, models=tuple(models))


def _asked_times(model: Model, factor: float) -> Model:
    requests = model.requests.times(factor) if model.requests else None
    return model.changed(load=[load * factor for load in model.load], requests=requests)


def _value(fleet: Problem, case: RatesCase, point: FrontierPoint) -> float:
    """Return the value of a placement at some rates; infinite if it is out of reach there."""
    if case is RatesCase.STATED:
        return point.value
    verdict = verify(fleet, point.placement)
    return verdict.ratio if fleet.objective == "latency" else verdict.pressure


def _knows_requests(problem: Problem) -> bool:
    """Whether requests can be drawn: their rates and lengths are stated."""
    stated = [model.requests for model in problem.models]
    return all(each is not None and each.prompt_tokens > 0.0 for each in stated)


def _same_gpus(problem: Problem, steps: SafeSteps) -> bool:
    return set(steps.change.memory_gb) == {gpu.name for gpu in problem.gpus}


def _simulated(
    problem: Problem, steps: SafeSteps, options: SimulateOptions, seed: int
) -> tuple[float, float]:
    """Return the requests in time that are gained each second, and those lost on the way.

    Parameters
    ----------
    problem, steps, seed
        As for `worth_of`. Engines have the caches that they have before, on and after the way.
    options
        How engines have their caches.
    """
    named, span = {model.name for model in problem.models}, steps.seconds
    fleet = _on_the_way(problem, steps)
    staying, going, gone = (
        [life for life in lives if life.model in named]
        for lives in (
            lives_now(steps.change.now).values(),
            lives_of(steps),
            lives_now(steps.change.then).values(),
        )
    )
    gain = cost = 0.0
    for each in range(seed, seed + SEEDS):

        def in_time(lives: Sequence[EngineLife], seconds: float, seed: int = each) -> float:
            requests = PoissonDemand().pieces(problem, seconds, seed)
            return _in_time(simulate_lives(fleet, lives, requests, options, seed))

        cost += (in_time(staying, span) - in_time(going, span)) / SEEDS
        steady = in_time(gone, STEADY_SECONDS) - in_time(staying, STEADY_SECONDS)
        gain += steady / STEADY_SECONDS / SEEDS
    return gain, max(cost, 0.0)


def _on_the_way(problem: Problem, steps: SafeSteps) -> Problem:
    """Return the fleet whose GPUs have the memory that steps may use: it may have been lowered."""
    memory = steps.change.memory_gb
    gpus = (replace(gpu, memory_gb=max(gpu.memory_gb, memory[gpu.name])) for gpu in problem.gpus)
    return replace(problem, gpus=tuple(gpus))


def _in_time(found: Simulation) -> float:
    """Return how many requests kept all targets."""
    return sum(model.goodput for model in found.models) * found.seconds


def _by_value(
    problem: Problem, before: float, after: float, steps: SafeSteps
) -> tuple[float, float]:
    """Return the share by which the value falls, and the seconds of all demand that wait.

    Parameters
    ----------
    problem
        The fleet.
    before, after
        The value of staying, and of the new placement.
    steps
        The way there.
    """
    demand = {m.name: m.peak_demand for m in problem.models}
    whole = sum(demand.values()) or 1.0
    gain = 0.0
    if after < before:
        gain = 1.0 if before == inf else 1.0 - after / before
    elif 0.0 < before < after:
        gain = -1.0 if after == inf else 1.0 - after / before
    waiting = (demand.get(each.model, 0.0) * each.seconds for each in steps.interruptions)
    drained: Iterable[float] = (
        demand.get(step.engine.model, 0.0) * step.seconds
        for step in steps.steps
        if step.kind is StepKind.DRAIN
    )
    return gain, (sum(waiting) + sum(drained)) / whole
