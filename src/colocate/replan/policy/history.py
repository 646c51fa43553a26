"""Moves that were made, and what they forbid for a while."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from colocate.problem.parts import Places
from colocate.problem.problem import Problem

HOUR = 3600.0
"""Seconds."""
AVOIDED = 30.0
"""Seconds for which a GPU is avoided after one failure there."""
MOST_DOUBLINGS = 20
"""Longer than any commitment; a command may fail thousands of times an hour."""

Place = tuple[str, frozenset[str]]
"""A model, and the GPUs of one of its engines."""


class EngineMove(NamedTuple):
    """An engine that came or left."""

    model: str
    gpus: tuple[str, ...]
    when: float
    """In seconds, by the clock that decisions are told."""
    arrived: bool
    failed: bool = False
    """It was to come, and a step failed, so it is not there."""
    needed: bool = False
    """Its model had no other engine then: rules against moving too often do not hold."""

    @property
    def place(self) -> Place:
        """Which model on which GPUs."""
        return self.model, frozenset(self.gpus)


def engines_at(problem: Problem, places: Places) -> dict[Place, tuple[str, ...]]:
    """Return the engines of a placement: the GPUs of each in order, by model and GPUs."""
    found = {}
    for model in problem.models:
        gpus = tuple(places.get(model.name, ()))
        for first in range(0, len(gpus), model.shards):
            mine = gpus[first : first + model.shards]
            found[model.name, frozenset(mine)] = mine
    return found


def moves_between(problem: Problem, old: Places, new: Places, now: float) -> tuple[EngineMove, ...]:
    """Return the engines that come and leave between two placements.

    Parameters
    ----------
    problem
        The models.
    old, new
        The placements.
    now
        The moment.
    """
    before, after = engines_at(problem, old), engines_at(problem, new)
    come = [EngineMove(key[0], gpus, now, True) for key, gpus in after.items() if key not in before]
    left = [
        EngineMove(key[0], gpus, now, False) for key, gpus in before.items() if key not in after
    ]
    return (*come, *left)


def held_places(history: Iterable[EngineMove], now: float, commitment: float) -> frozenset[Place]:
    """Return engines that came or left so lately that they must stay, or stay away.

    Parameters
    ----------
    history
        The moves so far.
    now, commitment
        The moment, and how long a move holds.
    """
    return frozenset(move.place for move in history if now - move.when < commitment)


def loads_in_hour(history: Iterable[EngineMove], now: float) -> int:
    """Return how many engines came in the last hour, or were to and failed.

    A model that has no engine is tried again and again; its failures keep no other from moving.
    """
    lately = (move for move in history if now - move.when < HOUR)
    return sum(move.arrived or (move.failed and not move.needed) for move in lately)


def avoided_gpus(
    problem: Problem, history: Iterable[EngineMove], now: float, commitment: float
) -> dict[str, frozenset[str]]:
    """Return the GPUs on which a model failed to come so lately that it goes elsewhere first.

    With every failure there within an hour, it is avoided for twice as long.

    Parameters
    ----------
    problem
        The GPUs that are still there.
    history
        The moves so far.
    now, commitment
        The moment, and the longest time for which a GPU is avoided.
    """
    found: dict[str, frozenset[str]] = {}
    for (model, gpu), moments in _failures(problem, history, now, HOUR).items():
        pause = min(AVOIDED * 2.0 ** min(len(moments) - 1, MOST_DOUBLINGS), commitment)
        if now - max(moments) < pause:
            found[model] = found.get(model, frozenset()) | {gpu}
    return found


def failed_gpus(
    problem: Problem, history: Iterable[EngineMove], now: float, commitment: float
) -> dict[str, frozenset[str]]:
    """Return the GPUs on which a model failed to come within the commitment time.

    Parameters
    ----------
    problem, history, now, commitment
        As for `avoided_gpus`.
    """
    found: dict[str, frozenset[str]] = {}
    for model, gpu in _failures(problem, history, now, commitment):
        found[model] = found.get(model, frozenset()) | {gpu}
    return found


def _failures(
    problem: Problem, history: Iterable[EngineMove], now: float, seconds: float
) -> dict[tuple[str, str], list[float]]:
    """Return when models failed to come to GPUs that are still there.

    Parameters
    ----------
    problem, history, now
        As for `avoided_gpus`.
    seconds
        How far to look back.
    """
    there = {gpu.name for gpu in problem.gpus}
    found: dict[tuple[str, str], list[float]] = {}
    for move in history:
        if move.failed and now - move.when < seconds:
            for gpu in there.intersection(move.gpus):
                found.setdefault((move.model, gpu), []).append(move.when)
    return found


def undone_moves(
    history: Sequence[EngineMove], within: float
) -> list[tuple[EngineMove, EngineMove]]:
    """Return moves that were undone soon: an engine that came and left, or left and came.

    Parameters
    ----------
    history
        All moves, in order of time.
    within
        How soon, in seconds.
    """
    last: dict[Place, EngineMove] = {}
    found = []
    for move in (each for each in history if not each.failed):
        before = last.get(move.place)
        if before and before.arrived != move.arrived and move.when - before.when < within:
            found.append((before, move))
        last[move.place] = move
    return found
