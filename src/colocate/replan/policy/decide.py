"""Whether to stay or to go, from what was measured: pure, and the same for the same arguments."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from colocate.errors import InfeasibleError, NothingFoundError
from colocate.problem.parts import Places
from colocate.problem.problem import Problem
from colocate.replan.lives import lives_of
from colocate.replan.placed_engine import PlacedEngine
from colocate.replan.policy.decision import MoveGain, PolicyDecision, PolicyReason
from colocate.replan.policy.history import (
    EngineMove,
    Place,
    held_places,
    loads_in_hour,
    moves_between,
)
from colocate.replan.policy.outlook import (
    SAMPLE,
    DrawnDemand,
    Outlook,
    expected_demand,
    outlook,
    settled_lives,
)
from colocate.replan.policy.proposals import Proposal, Rating, nearby_proposals
from colocate.replan.policy.rates import RateEstimate
from colocate.replan.policy.settings import PolicySettings
from colocate.replan.steps.safe_steps import SafeSteps, safe_steps
from colocate.replan.transition import change_between
from colocate.simulate.demand.requests import Floats
from colocate.simulate.engine_life import EngineLife

TRIALS = 12
"""Samples of the time to come on which placements are compared in a search, close to each other at
first: some minutes of requests in all, and some milliseconds of work."""

Propose = Callable[[Problem, Places, frozenset[Place], Rating], Sequence[Proposal]]
"""Finds placements that are better than one, the best first, with engines that may not move."""


class _Case(NamedTuple):
    """What a decision is about."""

    problem: Problem
    serving: Places
    rates: Sequence[RateEstimate]
    settings: PolicySettings
    seed: int
    forced: bool
    """Whether a model that must be awake is not served."""
    running: Sequence[PlacedEngine] | None = None
    """The engines that run; None for those of the placement, as if they had just started."""

    def settled(self, places: Places) -> list[EngineLife]:
        """Return the engines of a placement as if they had always been there."""
        return settled_lives(self.problem, places)

    def outlooks(self, bound: str, *ways: Iterable[EngineLife]) -> list[Outlook]:
        """Return what becomes of the same requests in several ways, over the horizon."""
        demand = self._demand(bound)
        return [outlook(demand, lives) for lives in ways]

    def rating(self) -> Rating:
        """Return what rates placements, all on the same requests."""
        moments = self.settings.horizon * np.linspace(0.0, 1.0, TRIALS, endpoint=False) ** 2
        demand = self._demand("rate", moments)
        return lambda places: outlook(demand, self.settled(places))

    def _demand(self, bound: str, moments: Floats | None = None) -> DrawnDemand:
        return expected_demand(self.problem, self.rates, bound, self.settings, self.seed, moments)


def decide(
    problem: Problem,
    serving: Places,
    rates: Sequence[RateEstimate],
    history: Sequence[EngineMove] = (),
    now: float = 0.0,
    settings: PolicySettings | None = None,
    *,
    propose: Propose = nearby_proposals,
    running: Sequence[PlacedEngine] | None = None,
    seed: int = 0,
) -> PolicyDecision:
    """Decide whether to move models.

    A move that is not forced never touches an engine that came or left within the commitment time,
    so none is undone within ten minutes.

    Parameters
    ----------
    problem
        The models and GPUs; rates in it do not count.
    serving
        The GPUs of every model as they serve now, with nothing under way.
    rates
        How often each model is asked.
    history, now
        Moves so far, and the moment, by the same clock.
    settings
        Limits and spans.
    propose
        Finds better placements, of which the one with the best way there counts.
    running
        The engines that run, with the caches that they have; by default those that engines of the
        placement would start with.
    seed
        Of the requests that ways are compared on.
    """
    chosen = settings or PolicySettings()
    forced = any(m.sleep_cost is None and not serving.get(m.name) for m in problem.models)
    loads = chosen.most_moves_per_hour - loads_in_hour(history, now)
    case = _Case(problem, serving, rates, chosen, seed, forced, running)
    if not forced and any(each.seconds < chosen.recent for each in rates):
        return PolicyDecision(PolicyReason.TOO_LITTLE_KNOWN)
    if not forced and loads <= 0:
        return PolicyDecision(PolicyReason.MOST_MOVES)
    rated = case.rating()
    soon = rated(serving)
    needed = chosen.hysteresis * soon.arrived * chosen.horizon / (TRIALS * SAMPLE)
    if not forced and soon.arrived - soon.in_time <= chosen.hysteresis * soon.arrived:
        return PolicyDecision(PolicyReason.TARGETS_HOLD, needed=needed)
    held = held_places([] if forced else history, now, chosen.commitment)
    proposals = propose(problem, serving, held, rated)
    if not proposals:
        return PolicyDecision(PolicyReason.NOTHING_BETTER, needed=needed)
    found = [_Goal(each.places, moves_between(problem, serving, each.places, now))
             for each in (proposals[:1] if forced else proposals)]  # fmt: skip
    allowed = [goal for goal in found if forced or goal.loads <= loads]
    if not allowed:
        return PolicyDecision(PolicyReason.MOST_MOVES, found[0].places, needed=needed)
    return _best_way(case, allowed, needed)


class _Goal(NamedTuple):
    """Where to go, and which engines come and leave."""

    places: Places
    moves: tuple[EngineMove, ...]

    @property
    def loads(self) -> int:
        """How many engines come."""
        return sum(move.arrived for move in self.moves)


class _Way(NamedTuple):
    """A way to a goal, and the requests in time on it and after it."""

    goal: _Goal
    steps: SafeSteps
    in_time: float


def _best_way(case: _Case, goals: Sequence[_Goal], needed: float) -> PolicyDecision:
    """Decide for the goal whose way brings most: a good one may be far, and a near one do.

    Parameters
    ----------
    case, needed
        What the decision is about, and what a move has to bring.
    goals
        Placements that are better once they are reached, the best first.
    """
    ways, refused = _ways(case, goals)
    if not ways:
        return PolicyDecision(refused[0], goals[0].places, needed=needed)
    ways.sort(key=lambda way: way.in_time, reverse=True)
    decisions = (_judged(case, way, needed) for way in ways)
    first = next(decisions)
    if not first.stay:
        return first
    return next((each for each in decisions if not each.stay), first)


def _ways(case: _Case, goals: Sequence[_Goal]) -> tuple[list[_Way], list[PolicyReason]]:
    """Return the ways to the goals that may be gone, and why the others may not."""
    ways, refused, budget = [], [], case.settings.budget_gb
    for goal in goals:
        try:
            steps = _steps(case, goal.places)
        except (InfeasibleError, NothingFoundError):
            refused.append(PolicyReason.NO_STEPS)
            continue
        if not case.forced and budget is not None and steps.loaded_gb > budget:
            refused.append(PolicyReason.OVER_BUDGET)
            continue
        ways.append(_Way(goal, steps, case.outlooks("rate", lives_of(steps))[0].in_time))
    return ways, refused


def _judged(case: _Case, way: _Way, needed: float) -> PolicyDecision:
    """Decide whether a better placement is worth the way there."""
    gain = _gain(case, way.goal.places, way.steps)
    reason = PolicyReason.NOT_SERVED if case.forced else _verdict(gain, needed)
    return PolicyDecision(reason, way.goal.places, way.steps, way.goal.moves, gain, needed)


def _steps(case: _Case, places: Places) -> SafeSteps:
    """Return safe steps from the placement that serves to another."""
    old, new = (case.problem, case.serving), (case.problem, places)
    change = change_between(old, new, case.settings.memory, running=case.running)
    return safe_steps(change, case.settings.times)


def _gain(case: _Case, places: Places, steps: SafeSteps) -> MoveGain:
    """Return what going brings, at the measured rates and at others that are as likely.

    Parameters
    ----------
    case
        What the decision is about.
    places, steps
        Where to go, and how.
    """
    stay, lives = case.settled(case.serving), lives_of(steps)
    staying, going, settled = case.outlooks("rate", stay, lives, case.settled(places))
    gains = [going.in_time - staying.in_time]
    for bound in ("low", "high"):
        before, after = case.outlooks(bound, stay, lives)
        gains.append(after.in_time - before.in_time)
    return MoveGain(staying.arrived, staying.in_time, going.in_time, settled.in_time, min(gains))


def _verdict(gain: MoveGain, needed: float) -> PolicyReason:
    if gain.gain <= needed:
        return PolicyReason.DOES_NOT_PAY
    return PolicyReason.PAYS if gain.least >= 0.0 else PolicyReason.NOT_SURE
