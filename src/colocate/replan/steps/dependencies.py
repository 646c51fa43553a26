"""Which step must wait for which, so that every order which the steps allow is safe.

Take any GPU at any moment, and the engine there that came last by the order of the moves. When it
was loaded, so much had gone that everything which comes before it in the order fits beside it. So
whatever has come by then fits, however long the steps take.
"""

from collections.abc import Iterable
from typing import NamedTuple

from colocate.problem.tolerance import FIT
from colocate.replan.steps.fleet_change import FleetChange
from colocate.replan.steps.order import MoveOrder
from colocate.replan.steps.step import EngineStep, StepKind

PHASES = {
    StepKind.LOAD: (StepKind.LOAD, StepKind.WAIT, StepKind.SWITCH),
    StepKind.WAKE: (StepKind.WAKE, StepKind.SWITCH),
    StepKind.UNLOAD: (StepKind.DRAIN, StepKind.UNLOAD),
    StepKind.SLEEP: (StepKind.DRAIN, StepKind.SLEEP),
}
"""The steps of each move."""
COMING = (StepKind.LOAD, StepKind.WAKE)


class _Span(NamedTuple):
    """The steps of one move."""

    first: int
    last: int


class _GpuRecord:
    """What has happened on one GPU so far, in the order of the moves."""

    def __init__(self, memory_gb: float) -> None:
        self.limit = memory_gb * (1.0 + FIT)
        self.taken = 0.0
        self.released: list[tuple[float, int, str]] = []
        """What each move released, its number, and its model."""

    def waits_for(self, held_gb: float, enemies: frozenset[str]) -> list[int]:
        """Return the moves that must be over before so much more comes."""
        found = [number for _, number, model in self.released if model in enemies]
        over = self.taken + held_gb - self.limit
        for gb, number, _ in self.released:
            if over <= 0.0:
                break
            over -= gb
            found.append(number)
        return found


def dependent_steps(change: FleetChange, order: MoveOrder) -> tuple[EngineStep, ...]:
    """Return the steps of an order of moves, each with those that it must wait for."""
    waits = _waits_of_moves(change, order)
    steps: list[EngineStep] = []
    spans: list[_Span] = []
    for number, (kind, engine) in enumerate(order.moves):
        after = sorted(spans[before].last for before in waits[number])
        phases = PHASES[kind]
        spans.append(_Span(len(steps), len(steps) + len(phases) - 1))
        for phase in phases:
            steps.append(EngineStep(len(steps), phase, order.engines[engine], tuple(after)))
            after = [len(steps) - 1]
    return tuple(steps)


def _waits_of_moves(change: FleetChange, order: MoveOrder) -> list[set[int]]:
    """Return, for every move, the moves that must be over before it starts."""
    gpus = {gpu: _GpuRecord(memory) for gpu, memory in change.memory_gb.items()}
    opened: dict[str, list[int]] = {}
    closed: dict[str, int] = {}
    enemies = _enemies(change)
    for engine in change.now:
        for gpu in engine.gpus:
            gpus[gpu].taken += engine.held_gb
    running: dict[str, int] = {}
    for engine in change.now:
        running[engine.model] = running.get(engine.model, 0) + 1
    waits: list[set[int]] = []
    left_by: dict[int, int] = {}
    for number, (kind, place) in enumerate(order.moves):
        engine, model = order.engines[place], order.engines[place].model
        if kind in COMING:
            apart = enemies.get(model, frozenset()) | {model}
            found = {n for gpu in engine.gpus for n in gpus[gpu].waits_for(engine.held_gb, apart)}
            if place in left_by:
                found.add(left_by[place])
            opened.setdefault(model, []).append(number)
            for gpu in engine.gpus:
                gpus[gpu].taken += engine.held_gb
        else:
            closed[model] = closed.get(model, 0) + 1
            serving = running.get(model, 0) + len(opened.get(model, ())) - closed[model]
            fewest = min(change.fewest.get(model, 0), serving)
            lacking = max(fewest + closed[model] - running.get(model, 0), 0)
            found = set(opened.get(model, ())[:lacking])
            found |= _own_coming(order, opened.get(model, ()), place)
            left_by[place] = number
            for gpu in engine.gpus:
                gpus[gpu].released.append((engine.held_gb, number, model))
        waits.append(found)
    _stop_late(order, waits)
    return waits


def _own_coming(order: MoveOrder, opened: Iterable[int], place: int) -> set[int]:
    """Return the move by which an engine came that goes now."""
    return {number for number in opened if order.moves[number].engine == place}


def _stop_late(order: MoveOrder, waits: list[set[int]]) -> None:
    """Let an engine that stops early stop only when nothing else is missing for what needs it."""
    for stop in order.stopped:
        needing = (n for n in range(stop + 1, len(waits)) if stop in waits[n])
        first = next(needing, None)
        if first is not None:
            waits[stop] |= {before for before in waits[first] if before < stop}


def _enemies(change: FleetChange) -> dict[str, frozenset[str]]:
    """Return, for every model, those that may not share a GPU with it."""
    found: dict[str, set[str]] = {}
    for pair in change.apart:
        for model in pair:
            found.setdefault(model, set()).update(pair - {model})
    return {model: frozenset(others) for model, others in found.items()}
