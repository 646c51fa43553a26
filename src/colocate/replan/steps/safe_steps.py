"""The steps from one placement to another, safe at every moment, with what is known about them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from colocate.errors import InfeasibleError, NothingFoundError
from colocate.replan.placed_engine import PlacedEngine
from colocate.replan.steps.board import OrderMove
from colocate.replan.steps.dependencies import dependent_steps
from colocate.replan.steps.exhaustion import ServingProof, ServingWays, search_all_ways
from colocate.replan.steps.fleet_change import FleetChange
from colocate.replan.steps.order import MoveOrder, ordered
from colocate.replan.steps.schedule import scheduled
from colocate.replan.steps.step import EngineStep, StepKind
from colocate.replan.steps.step_times import StepTimes

MOST_STATES = 20_000
"""States that are looked at for a way on which all models keep serving: about a second of work, and
all of them for some five models on three GPUs."""


CHANGES = {StepKind.DRAIN: -1, StepKind.SWITCH: 1}
"""By how much steps change the number of engines that serve a model."""


@dataclass(frozen=True)
class Interruption:
    """A while in which a model has fewer engines than before and after.

    Parameters
    ----------
    model
        The model.
    left
        How many of its engines serve meanwhile at least, however long steps take; with 0 its
        requests wait.
    start, seconds
        When, and for how long, as expected.
    """

    model: str
    left: int
    start: float
    seconds: float


@dataclass(frozen=True)
class SafeSteps:
    """Steps, in an order in which each may be done, and what they cost.

    Parameters
    ----------
    change
        The engines before and after.
    steps
        The steps; those that do not wait for each other may be done side by side.
    times
        How long steps take, and how many load at once.
    interruptions
        Models that have fewer engines for a while, since memory does not allow more.
    detours
        Engines that are on a spare GPU for a while.
    proof
        Whether a way exists on which every model keeps serving.
    states
        How many states were looked at for that.
    """

    change: FleetChange
    steps: tuple[EngineStep, ...]
    times: StepTimes
    interruptions: tuple[Interruption, ...] = ()
    detours: tuple[PlacedEngine, ...] = ()
    proof: ServingProof = ServingProof.FOUND
    states: int = 0

    @property
    def seconds(self) -> float:
        """How long all steps take, as expected."""
        return max((step.end for step in self.steps), default=0.0)

    @property
    def loaded_gb(self) -> float:
        """The weights that are loaded, those for detours and restarts included."""
        loads = (step.engine for step in self.steps if step.kind is StepKind.LOAD)
        return sum(engine.weights_gb for engine in loads)

    @property
    def extra_gb(self) -> float:
        """Of these, the weights of detours and of engines that restart where they are."""
        there = {engine.place for engine in self.change.now}
        needed = (each.weights_gb for each in self.change.then if each.place not in there)
        return max(self.loaded_gb - sum(needed), 0.0)

    @property
    def missing_for(self) -> dict[str, float]:
        """Models without any engine at first, and the seconds until each is served."""
        running = {engine.model for engine in self.change.now}
        found: dict[str, float] = {}
        for step in self.steps:
            model = step.engine.model
            if step.kind is StepKind.SWITCH and model not in running:
                found[model] = min(step.end, found.get(model, step.end))
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return them as plain data for JSON."""
        return {
            "extra_gb": self.extra_gb,
            "missing_for": self.missing_for,
            "seconds": self.seconds,
            "loaded_gb": self.loaded_gb,
            "proof": self.proof.value,
            "states": self.states,
            "interruptions": [vars(each) for each in self.interruptions],
            "detours": [engine.as_dict() for engine in self.detours],
            "steps": [step.as_dict() for step in self.steps],
        }


def safe_steps(
    change: FleetChange,
    times: StepTimes | None = None,
    *,
    always_serving: bool = False,
    most_states: int = MOST_STATES,
    urgent: Sequence[str] = (),
) -> SafeSteps:
    """Find steps from one placement to another.

    Parameters
    ----------
    change
        The engines before and after.
    times
        How long steps take, and how many load at once.
    always_serving
        Refuse steps in which a model has fewer engines than before and after.
    most_states
        How many states to look at for a way on which every model keeps serving, where the usual
        search finds none.
    urgent
        Models whose engines load first where a machine has to choose, the most urgent first.
        Models without any engine go before them.

    Raises
    ------
    InfeasibleError
        If models must keep serving, and a proof shows that no order lets them.
    NothingFoundError
        If models must keep serving, and no order was found that lets them.
    """
    chosen = times or StepTimes()
    order = ordered(change)
    ways = ServingWays(ServingProof.FOUND, 0)
    if not order.keeps_serving:
        ways = search_all_ways(change, most_states)
        if ways.proof is ServingProof.FOUND:
            order = _as_order(change, ways)
        elif always_serving:
            _refuse(ways)
    steps = scheduled(change, dependent_steps(change, order), chosen, _first(change, urgent))
    return SafeSteps(
        change,
        steps,
        chosen,
        _interruptions(change, steps),
        order.spare,
        ways.proof,
        ways.states,
    )


def _first(change: FleetChange, urgent: Sequence[str]) -> tuple[str, ...]:
    """Return the models whose engines load first: those without any, then those that are urgent."""
    running = {engine.model for engine in change.now}
    unserved = (each.model for each in change.then if each.model not in running)
    return tuple(sorted(dict.fromkeys((*urgent, *unserved)), key=lambda model: model in running))


def _refuse(ways: ServingWays) -> None:
    if ways.proof is ServingProof.NONE:
        raise InfeasibleError(
            "no order of steps keeps every model serving: every state that can be reached was "
            f"tried ({ways.states:,}); allow interruptions, or add a spare GPU"
        )
    raise NothingFoundError(
        f"no order of steps was found that keeps every model serving, in {ways.states:,} states; "
        "allow interruptions, or add a spare GPU"
    )


def _as_order(change: FleetChange, ways: ServingWays) -> MoveOrder:
    """Return a way that keeps all models serving as an order of moves."""
    engines: list[PlacedEngine] = list(change.now)
    place = {engine: number for number, engine in enumerate(engines)}
    moves = []
    for kind, engine in ways.moves:
        if kind is StepKind.LOAD:
            place[engine] = len(engines)
            engines.append(engine)
        moves.append(OrderMove(kind, place[engine]))
    final, first = set(change.then), set(change.now)
    spare = tuple(
        engine
        for kind, engine in ways.moves
        if kind is StepKind.LOAD and (engine not in final or engine in first)
    )
    return MoveOrder(tuple(moves), tuple(engines), (), spare)


def _interruptions(change: FleetChange, steps: tuple[EngineStep, ...]) -> tuple[Interruption, ...]:
    """Return when models have fewer engines than before and after, if all goes as expected."""
    events: dict[str, list[EngineStep]] = {}
    for step in steps:
        if step.kind in CHANGES:
            events.setdefault(step.engine.model, []).append(step)
    running = Counter(engine.model for engine in change.now)
    found: list[Interruption] = []
    for model, mine in events.items():
        fewest, left = change.fewest.get(model, 0), _fewest_left(running[model], mine)
        if left < fewest:
            spans = _spans_below(fewest, running[model], mine) or [(mine[0].start, 0.0)]
            found += (Interruption(model, left, start, seconds) for start, seconds in spans)
    return tuple(sorted(found, key=lambda each: (each.start, each.model)))


def _fewest_left(serving: int, steps: list[EngineStep]) -> int:
    """Return how many engines a model keeps at least: no step waits for a later one of the list."""
    fewest = serving
    for step in steps:
        serving += CHANGES[step.kind]
        fewest = min(fewest, serving)
    return fewest


def _spans_below(fewest: int, serving: int, steps: list[EngineStep]) -> list[tuple[float, float]]:
    """Return when a model is expected to have fewer engines than it should, and for how long.

    Parameters
    ----------
    fewest, serving
        How many engines it should have, and how many it has before.
    steps
        Those that change it.
    """
    moments = sorted(
        (step.start if step.kind is StepKind.DRAIN else step.end, -CHANGES[step.kind])
        for step in steps
    )
    found, since = [], 0.0
    for moment, fewer in moments:
        before, serving = serving, serving - fewer
        if before >= fewest > serving:
            since = moment
        elif before < fewest <= serving and moment > since:
            found.append((since, moment - since))
    return found
