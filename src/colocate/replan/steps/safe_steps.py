"""The steps from one placement to another, safe at every moment, with what is known about them."""

from collections import Counter
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


@dataclass(frozen=True)
class Interruption:
    """A while in which a model has fewer engines than before and after.

    Parameters
    ----------
    model
        The model.
    left
        How many of its engines serve meanwhile; with 0 its requests wait.
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

    def as_dict(self) -> dict[str, Any]:
        """Return them as plain data for JSON."""
        return {
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
    steps = scheduled(change, dependent_steps(change, order), chosen)
    return SafeSteps(
        change,
        steps,
        chosen,
        _interruptions(change, steps),
        order.spare,
        ways.proof,
        ways.states,
    )


def _refuse(ways: ServingWays) -> None:
    if ways.proof is ServingProof.NONE:
        raise InfeasibleError(
            f"no order of steps keeps every model serving: all {ways.states:,} states that can be "
            "reached were tried; allow interruptions, or add a spare GPU"
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
    events: dict[str, list[tuple[float, int]]] = {}
    for step in steps:
        if step.kind is StepKind.DRAIN:
            events.setdefault(step.engine.model, []).append((step.start, -1))
        elif step.kind is StepKind.SWITCH:
            events.setdefault(step.engine.model, []).append((step.end, 1))
    found = []
    running = Counter(engine.model for engine in change.now)
    for model, changes in events.items():
        serving = running[model]
        since, lowest = 0.0, serving
        for moment, by in sorted(changes, key=lambda each: (each[0], -each[1])):
            fewest = change.fewest.get(model, 0)
            if serving >= fewest > serving + by:
                since, lowest = moment, serving + by
            serving += by
            lowest = min(lowest, serving)
            if serving == fewest and by > 0 and moment > since and lowest < fewest:
                found.append(Interruption(model, lowest, since, moment - since))
                lowest = serving
    return tuple(sorted(found, key=lambda each: (each.start, each.model)))
