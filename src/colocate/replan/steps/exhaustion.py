"""Is there any way at all on which every model keeps serving? An exhaustive search, cheapest first.

A state is the set of engines that run. From each, an engine may be loaded wherever it fits, also
for a while, and one may be stopped if its model keeps enough. The cheapest way has the fewest bytes
loaded. If all states are seen and none is the goal, there is no way.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from heapq import heappop, heappush
from itertools import count

from colocate.problem.tolerance import FIT
from colocate.replan.placed_engine import PlacedEngine
from colocate.replan.steps.fleet_change import FleetChange
from colocate.replan.steps.step import StepKind

MOST_LOOKS = 1_000_000
"""Engines that are looked at in all, each once for every state: a second or two of work. A large
fleet has so many places for its engines that a single state takes milliseconds and megabytes."""

EngineState = frozenset[PlacedEngine]
EngineMove = tuple[StepKind, PlacedEngine]


class ServingProof(StrEnum):
    """What is known about ways on which every model keeps serving."""

    FOUND = "found"
    """There is one: the steps are one."""
    NONE = "none"
    """There is none: every state was seen."""
    LIMIT = "limit"
    """Not known: there are more states than were looked at."""


@dataclass(frozen=True)
class ServingWays:
    """What a search for such ways came to."""

    proof: ServingProof
    states: int
    moves: tuple[EngineMove, ...] = ()


def search_all_ways(change: FleetChange, most_states: int) -> ServingWays:
    """Look for the cheapest way on which every model keeps serving.

    Parameters
    ----------
    change
        The engines before and after; none twice on the same GPUs.
    most_states
        How many states to look at, fewer where each has many engines to look at.
    """
    start, goal = frozenset(change.now), frozenset(change.then)
    if len(start) < len(change.now) or len(goal) < len(change.then):
        return ServingWays(ServingProof.LIMIT, 0)
    tie = count()
    came: dict[EngineState, tuple[EngineState, EngineMove] | None] = {}
    heap: list[tuple[float, int, EngineState, tuple[EngineState, EngineMove] | None]] = [
        (0.0, next(tie), start, None)
    ]
    places = _places(change)
    most = min(most_states, MOST_LOOKS // max(len(places), 1))
    while heap:
        cost, _, state, last = heappop(heap)
        if state in came:
            continue
        came[state] = last
        if state == goal:
            return ServingWays(ServingProof.FOUND, len(came), _way(came, state))
        if len(came) >= most:
            return ServingWays(ServingProof.LIMIT, len(came))
        for price, move, after in _next_states(change, places, state):
            if after not in came:
                heappush(heap, (cost + price, next(tie), after, (state, move)))
    return ServingWays(ServingProof.NONE, len(came))


def _places(change: FleetChange) -> tuple[PlacedEngine, ...]:
    """Return every engine that may run at some moment: on its GPUs, or on a spare one."""
    known = {engine.place: engine for engine in (*change.now, *change.then)}
    found = {*change.now, *change.then}
    for engine in (*change.now, *change.then):
        allowed = change.open_to.get(engine.model)
        for gpu in change.memory_gb if len(engine.gpus) == 1 else ():
            place = (engine.model, frozenset([gpu]))
            if place not in known and (allowed is None or gpu in allowed):
                found.add(_elsewhere(engine, gpu))
    return tuple(sorted(found, key=lambda e: (e.model, e.gpus, e.held_gb)))


def _elsewhere(engine: PlacedEngine, gpu: str) -> PlacedEngine:
    return PlacedEngine(engine.model, (gpu,), engine.held_gb, engine.weights_gb, engine.cache_gb)


def _next_states(
    change: FleetChange, places: tuple[PlacedEngine, ...], state: EngineState
) -> Iterator[tuple[float, EngineMove, EngineState]]:
    held = dict.fromkeys(change.memory_gb, 0.0)
    there: dict[str, set[str]] = {gpu: set() for gpu in held}
    for engine in state:
        for gpu in engine.gpus:
            held[gpu] += engine.held_gb
            there[gpu].add(engine.model)
    serving = Counter(engine.model for engine in state)
    for engine in state:
        if serving[engine.model] > change.fewest.get(engine.model, 0):
            yield 0.0, (StepKind.UNLOAD, engine), state - {engine}
    for engine in places:
        if engine in state:
            continue
        room = all(
            held[gpu] + engine.held_gb <= change.memory_gb[gpu] * (1.0 + FIT)
            and engine.model not in there[gpu]
            and not any(frozenset({engine.model, m}) in change.apart for m in there[gpu])
            for gpu in engine.gpus
        )
        if room:
            yield engine.weights_gb, (StepKind.LOAD, engine), state | {engine}


def _way(
    came: dict[EngineState, tuple[EngineState, EngineMove] | None], state: EngineState
) -> tuple[EngineMove, ...]:
    moves = []
    while (last := came[state]) is not None:
        state, move = last
        moves.append(move)
    return tuple(reversed(moves))
