"""Whether to stay or to go, from what was measured: pure, and the same for the same arguments."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from colocate.errors import InfeasibleError, NothingFoundError
from colocate.problem.parts import Places
from colocate.problem.problem import Problem
from colocate.replan.lives import lives_now, lives_of
from colocate.replan.placed_engine import PlacedEngine, engines_of, held_by_gpu
from colocate.replan.policy.decision import (
    EngineObstacle,
    MoveGain,
    PolicyDecision,
    PolicyReason,
    UnservedModels,
)
from colocate.replan.policy.history import (
    EngineMove,
    Place,
    avoided_gpus,
    failed_gpus,
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
from colocate.replan.policy.restoring import restorations
from colocate.replan.policy.settings import PolicySettings
from colocate.replan.policy.unserved import unserved_in
from colocate.replan.steps.fleet_change import FleetChange
from colocate.replan.steps.safe_steps import SafeSteps, safe_steps
from colocate.replan.steps.step import StepKind
from colocate.replan.transition import change_between
from colocate.simulate.demand.requests import Floats
from colocate.simulate.engine_life import EngineLife

TRIALS = 12
"""Samples of the time to come on which placements are compared in a search, close to each other at
first: some minutes of requests in all, and some milliseconds of work."""

Avoided = Mapping[str, frozenset[str]]
"""The GPUs from which models keep away, since their engines failed to come there."""
Propose = Callable[[Problem, Places, frozenset[Place], Rating], Sequence[Proposal]]
"""Finds placements that are better than one, the best first, with engines that may not move."""


class _Case(NamedTuple):
    """What a decision is about."""

    problem: Problem
    serving: Places
    rates: Sequence[RateEstimate]
    settings: PolicySettings
    seed: int
    running: Sequence[PlacedEngine] | None = None
    """The engines that run; None for those of the placement, as if they had just started."""
    urgent: tuple[str, ...] = ()
    """Models that lose requests, those that lose most first."""

    def staying(self) -> list[EngineLife]:
        """Return the engines that run, with the caches that they have."""
        if self.running is None or self.settings.memory == "elastic":
            return settled_lives(self.problem, self.serving)
        return list(lives_now(self.running).values())

    def settled(self, places: Places) -> list[EngineLife]:
        """Return the engines of a placement as if all its steps were done."""
        if self.settings.memory == "elastic":
            return settled_lives(self.problem, places)
        return list(lives_now(self.change_to(places).then).values())

    def change_to(self, places: Places) -> FleetChange:
        """Return what changes on the way to a placement."""
        old, new = (self.problem, self.serving), (self.problem, places)
        return change_between(old, new, self.settings.memory, running=self.running)

    def outlooks(self, bound: str, *ways: Iterable[EngineLife]) -> list[Outlook]:
        """Return what becomes of the same requests in several ways, over the horizon."""
        demand = self._demand(bound)
        return [outlook(demand, lives) for lives in ways]

    def rating(self) -> Rating:
        """Return what rates placements, all on the same requests."""
        moments = self.settings.horizon * np.linspace(0.0, 1.0, TRIALS, endpoint=False) ** 2
        demand, now = self._demand("rate", moments), self.staying()
        return lambda places: outlook(
            demand, now if places == self.serving else self.settled(places)
        )

    def _demand(self, bound: str, moments: Floats | None = None) -> DrawnDemand:
        fleet = self._as_full_as_it_is()
        return expected_demand(fleet, self.rates, bound, self.settings, self.seed, moments)

    def _as_full_as_it_is(self) -> Problem:
        """Return the fleet whose GPUs have the memory that engines hold, if it states less.

        Somebody may have lowered it, or engines grown: they run all the same.
        """
        needed = engines_of(self.problem, self.serving, "elastic", {})
        held = [held_by_gpu(each) for each in (needed, self.running or ())]
        gpus = (
            replace(gpu, memory_gb=max(gpu.memory_gb, *(each.get(gpu.name, 0.0) for each in held)))
            for gpu in self.problem.gpus
        )
        return replace(self.problem, gpus=tuple(gpus))


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

    Models that must be awake and have no engine get one where that can be, and not at once where
    they failed to come. Other moves never touch an engine that came, left or failed within the
    commitment time, so none is undone within ten minutes.

    Parameters
    ----------
    problem
        The models and GPUs; rates in it count for models whose own is not known.
    serving
        The GPUs of every model as they serve now, with nothing under way.
    rates
        How often each model is asked. If one is missing that is served, only models without an
        engine move: one that nobody hears of is not one that nobody asks.
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
    case = _Case(problem, serving, rates, chosen, seed, running)
    rated = case.rating()
    case = case._replace(urgent=_urgent(rated(serving).lost))
    avoided = avoided_gpus(problem, history, now, chosen.commitment)
    proposals = restorations(_avoiding(problem, avoided), serving, rated, avoided)
    restored = _restored(case, proposals, avoided, now)
    if restored is not None:
        return restored
    found = _ordinary(case, history, now, propose, rated)
    left = tuple(_why(each, avoided) for each in unserved_in(problem, serving))
    reason = PolicyReason.NO_ROOM if left and found.stay else found.reason
    return replace(found, reason=reason, unserved=left, avoiding=tuple(sorted(avoided)))


def _avoiding(problem: Problem, avoided: Avoided) -> Problem:
    """Return the fleet in which models may not be on some GPUs."""
    models = (
        model.changed(never=frozenset(model.never) | avoided[model.name])
        if model.name in avoided
        else model
        for model in problem.models
    )
    return replace(problem, models=tuple(models)) if avoided else problem


def _why(found: UnservedModels, avoided: Avoided) -> UnservedModels:
    """Return why models go without an engine: those that failed lately have a place."""
    failed = found.obstacle is EngineObstacle.NO_STEPS and not avoided.keys().isdisjoint(
        found.models
    )
    return found._replace(obstacle=EngineObstacle.FAILED) if failed else found


def _urgent(lost: Mapping[str, float]) -> tuple[str, ...]:
    """Return the models that lose requests, those that lose most first."""
    losing = (name for name, number in lost.items() if number > 0.0)
    return tuple(sorted(losing, key=lambda name: -lost[name]))


def _restored(
    case: _Case, proposals: Sequence[Proposal], avoided: Avoided, now: float
) -> PolicyDecision | None:
    """Return the decision to give models engines again; None if none can have one.

    No rule against moving too often holds, and it need not pay.

    Parameters
    ----------
    case
        What the decision is about.
    proposals
        Placements in which ever more models have an engine. If no safe steps lead to the last one,
        those before it come in question.
    avoided
        The GPUs from which each model keeps away for a while, on detours as well.
    now
        The moment.
    """
    for proposal in reversed(proposals):
        try:
            steps = _steps(case, proposal.places)
        except (InfeasibleError, NothingFoundError):
            continue
        if _loads_there(steps, avoided):
            continue
        moves = moves_between(case.problem, case.serving, proposal.places, now)
        gain = _gain(case, proposal.places, steps)
        left = unserved_in(case.problem, proposal.places)
        reason = PolicyReason.NOT_SERVED
        return PolicyDecision(reason, proposal.places, steps, moves, gain, unserved=left)
    return None


def _ordinary(
    case: _Case, history: Sequence[EngineMove], now: float, propose: Propose, rated: Rating
) -> PolicyDecision:
    """Decide whether to move models that are served.

    Parameters
    ----------
    case
        What the decision is about.
    history, now, propose
        As for `decide`.
    rated
        Says what becomes of requests with a placement.
    """
    chosen = case.settings
    if missing := tuple(sorted({*case.serving} - {each.model for each in case.rates})):
        return PolicyDecision(PolicyReason.NOT_MEASURED, not_measured=missing)
    loads = chosen.most_moves_per_hour - loads_in_hour(history, now)
    if any(sum((each.seconds, *each.phases)) < chosen.recent for each in case.rates):
        return PolicyDecision(PolicyReason.TOO_LITTLE_KNOWN)
    if loads <= 0:
        return PolicyDecision(PolicyReason.MOST_MOVES)
    soon = rated(case.serving)
    needed = chosen.hysteresis * soon.arrived * chosen.horizon / (TRIALS * SAMPLE)
    if soon.arrived - soon.in_time <= chosen.hysteresis * soon.arrived:
        return PolicyDecision(PolicyReason.TARGETS_HOLD, needed=needed)
    held = held_places(history, now, chosen.commitment)
    proposals = propose(case.problem, case.serving, held, rated)
    if not proposals:
        return PolicyDecision(PolicyReason.NOTHING_BETTER, needed=needed, holding=bool(held))
    goals = [
        _Goal(each.places, moves_between(case.problem, case.serving, each.places, now))
        for each in proposals
    ]
    failed = failed_gpus(case.problem, history, now, chosen.commitment)
    return _best_way(case, goals, needed, loads, failed)


class _Goal(NamedTuple):
    """Where to go, and which engines come and leave."""

    places: Places
    moves: tuple[EngineMove, ...]


class _WayThere(NamedTuple):
    """A way to a goal, and the requests in time on it and after it."""

    goal: _Goal
    steps: SafeSteps
    in_time: float


def _best_way(
    case: _Case, goals: Sequence[_Goal], needed: float, most_loads: int, failed: Avoided
) -> PolicyDecision:
    """Decide for the goal whose way brings most: a good one may be far, and a near one do.

    Parameters
    ----------
    case, needed
        What the decision is about, and what a move has to bring.
    goals
        Placements that are better once they are reached, the best first.
    most_loads
        Engines that may still be loaded in this hour, restarts and detours included.
    failed
        The GPUs to which no way leads for each model, not on detours either.
    """
    ways, refused = _ways(case, goals, most_loads, failed)
    if not ways:
        return PolicyDecision(refused[0], goals[0].places, needed=needed)
    ways.sort(key=lambda way: way.in_time, reverse=True)
    decisions = (_judged(case, way, needed) for way in ways)
    first = next(decisions)
    if not first.stay:
        return first
    return next((each for each in decisions if not each.stay), first)


def _ways(
    case: _Case, goals: Sequence[_Goal], most_loads: int, failed: Avoided
) -> tuple[list[_WayThere], list[PolicyReason]]:
    """Return the ways to the goals that may be gone, and why the others may not.

    Parameters
    ----------
    case, goals, most_loads, failed
        As for `_best_way`.
    """
    found, refused, budget = [], [], case.settings.budget_gb
    for goal in goals:
        try:
            steps = _steps(case, goal.places)
        except (InfeasibleError, NothingFoundError):
            refused.append(PolicyReason.NO_STEPS)
            continue
        if _loads_there(steps, failed):
            refused.append(PolicyReason.NO_STEPS)
            continue
        if sum(step.kind is StepKind.LOAD for step in steps.steps) > most_loads:
            refused.append(PolicyReason.MOST_MOVES)
            continue
        if budget is not None and steps.loaded_gb > budget:
            refused.append(PolicyReason.OVER_BUDGET)
            continue
        found.append((goal, steps))
    outlooks = case.outlooks("rate", *(lives_of(steps) for _, steps in found))
    ways = [
        _WayThere(*each, outlook.in_time) for each, outlook in zip(found, outlooks, strict=True)
    ]
    return ways, refused


def _loads_there(steps: SafeSteps, avoided: Avoided) -> bool:
    """Whether some step loads a model on a GPU that it avoids."""
    loads = (step.engine for step in steps.steps if step.kind is StepKind.LOAD)
    return any(not avoided.get(each.model, frozenset()).isdisjoint(each.gpus) for each in loads)


def _judged(case: _Case, way: _WayThere, needed: float) -> PolicyDecision:
    """Decide whether a better placement is worth the way there."""
    goal, steps = way.goal, way.steps
    gain = _gain(case, goal.places, steps)
    return PolicyDecision(_verdict(gain, needed), goal.places, steps, goal.moves, gain, needed)


def _steps(case: _Case, places: Places) -> SafeSteps:
    """Return safe steps from the placement that serves to another."""
    return safe_steps(case.change_to(places), case.settings.times, urgent=case.urgent)


def _gain(case: _Case, places: Places, steps: SafeSteps) -> MoveGain:
    """Return what going brings, at the measured rates and at others that are as likely.

    Parameters
    ----------
    case
        What the decision is about.
    places, steps
        Where to go, and how.
    """
    stay, lives = case.staying(), lives_of(steps)
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
