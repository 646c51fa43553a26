"""What `colocate watch` knows from round to round: the engines, what it is doing, what it did."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from colocate.errors import InputError, within
from colocate.follow.engine_records import (
    Condition,
    EngineRecord,
    Engines,
    after_step,
    remaining,
    serving,
)
from colocate.problem.quantity import checked_name, checked_number
from colocate.replan.placed_engine import PlacedEngine
from colocate.replan.policy.history import EngineMove
from colocate.replan.steps.step import EngineStep, StepKind

VERSION = 1
"""Of the file; a later one may hold what this code does not know."""
BRINGS = (StepKind.LOAD, StepKind.WAIT, StepKind.SWITCH, StepKind.WAKE)
"""Steps that make an engine serve."""
REMEMBERED_SECONDS = 86400.0
"""How long moves are remembered: the longest time that a rule about them looks back."""


@dataclass(frozen=True)
class WatchState:
    """Everything that must survive.

    Parameters
    ----------
    engines
        The engines as they are.
    pending
        The steps of the change that is being made and are not done.
    begun
        The numbers of pending steps that were begun: nobody knows whether they are done.
    moves
        What came and went, for the rules against moving too often.
    counts
        How often things happened since the first start, for the metrics.
    gpus
        The GPUs that the fleet had last.
    """

    engines: Engines = ()
    pending: tuple[EngineStep, ...] = ()
    begun: frozenset[int] = frozenset()
    moves: tuple[EngineMove, ...] = ()
    counts: Mapping[str, float] = field(default_factory=dict)
    gpus: tuple[str, ...] = ()

    def counted(self, name: str, amount: float = 1.0) -> Self:
        """Return the state in which something happened once more."""
        return replace(self, counts={**self.counts, name: self.counts.get(name, 0.0) + amount})

    def with_begun(self, step: EngineStep) -> Self:
        """Return the state in which a step has begun."""
        return replace(self, begun=self.begun | {step.number})

    def with_ended(self, step: EngineStep, succeeded: bool | None, now: float) -> Self:
        """Return the state in which a step has ended; after a failure no further step begins.

        Parameters
        ----------
        step, succeeded
            Which, and whether it is done. None if it never began: its engine is as it was then.
        now
            When, in seconds since 1970.
        """
        kept = tuple(move for move in self.moves if move.when > now - REMEMBERED_SECONDS)
        if succeeded and step.kind in (StepKind.SWITCH, StepKind.DRAIN):
            arrived = step.kind is StepKind.SWITCH
            kept += (EngineMove(step.engine.model, step.engine.gpus, now, arrived),)
        if succeeded is False and step.kind in BRINGS:
            kept += (self._failure(step, now),)
        left = self.begun - {step.number}
        return replace(
            self,
            engines=self.engines
            if succeeded is None
            else after_step(self.engines, step, succeeded),
            pending=tuple(
                each
                for each in self.pending
                if each.number in left or (succeeded and each.number != step.number)
            ),
            begun=left,
            moves=kept,
        ).counted("steps_done" if succeeded else "steps_failed")

    def _failure(self, step: EngineStep, now: float) -> EngineMove:
        """Return that an engine failed to come; without another one, its model needed it."""
        model, gpus = step.engine.model, step.engine.gpus
        served = any(each.model == model for each in serving(self.engines))
        return EngineMove(model, gpus, now, False, failed=True, needed=not served)

    def with_gpus(self, gpus: Collection[str], models: Collection[str] | None = None) -> Self:
        """Return the state in which only some GPUs and models are left.

        A change that had to do with other GPUs, or that brings engines of other models, is given
        up. Its steps that were begun count as failed, since nobody knows how far they came.

        Parameters
        ----------
        gpus
            The GPUs of the fleet.
        models
            Its models; None for all that have engines.
        """
        there = frozenset(gpus)
        engines, pending = self.engines, self.pending
        if not all(there.issuperset(each.engine.gpus) for each in pending) or any(
            models is not None and each.kind in BRINGS and each.engine.model not in models
            for each in pending
        ):
            for step in pending:
                if step.number in self.begun:
                    engines = after_step(engines, step, succeeded=False)
            pending = ()
        begun = self.begun if pending else frozenset()
        left = remaining(engines, there)
        return replace(self, engines=left, pending=pending, begun=begun, gpus=tuple(sorted(there)))

    def is_of(self, models: Collection[str], gpus: Collection[str]) -> bool:
        """Whether it can be of a fleet: some of its models, and some of its GPUs, are there."""
        served = {each.engine.model for each in self.engines}
        return not (
            (served and served.isdisjoint(models))
            or (self.gpus and frozenset(self.gpus).isdisjoint(gpus))
        )

    def seen_at(self, now: float) -> Self:
        """Return the state without moves that are yet to come: a clock that was wrong was set."""
        moves = tuple(each._replace(when=min(each.when, now)) for each in self.moves)
        return self if moves == self.moves else replace(self, moves=moves)

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data for JSON."""
        return {
            "version": VERSION,
            "engines": [
                {**each.engine.as_dict(), "condition": each.condition.value}
                for each in self.engines
            ],
            "pending": [step.as_dict() for step in self.pending],
            "begun": sorted(self.begun),
            "moves": [{**move._asdict(), "gpus": list(move.gpus)} for move in self.moves],
            "counts": dict(self.counts),
            "gpus": list(self.gpus),
        }

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Return the state that plain data tells, or say what is wrong with it."""
        if not isinstance(data, dict) or data.get("version") != VERSION:
            raise InputError.of("version", _get(data, "version"), str(VERSION))
        pending = _each(data, "pending", _step)
        return cls(
            _engines(data),
            pending,
            frozenset(_each(data, "begun", lambda each: _known(each, pending))),
            _each(data, "moves", _move),
            {str(name): checked_number(value, (name,)) for name, value in _counts(data).items()},
            _names(data, "gpus") if "gpus" in data else (),
        )


def _get(data: Any, name: str) -> Any:
    return data.get(name) if isinstance(data, dict) else data


def _each(data: Any, name: str, read: Any) -> tuple[Any, ...]:
    rows = _get(data, name)
    if not isinstance(rows, list):
        raise InputError.of(name, rows, "a list")
    found = []
    for place, row in enumerate(rows):
        with within((name, place)):
            found.append(read(row))
    return tuple(found)


def _counts(data: dict[str, Any]) -> dict[str, Any]:
    found = data.get("counts")
    if not isinstance(found, dict):
        raise InputError.of("counts", found, "numbers by their names")
    return found


def _names(row: Any, name: str) -> tuple[str, ...]:
    return _each(row, name, checked_name)


def _numbers(row: Any, name: str) -> tuple[int, ...]:
    found = _get(row, name)
    if not isinstance(found, list) or not all(type(each) is int for each in found):
        raise InputError.of(name, found, "a list of whole numbers")
    return tuple(found)


def _number(row: Any, name: str) -> float:
    return checked_number(_get(row, name), (name,))


def _engine(row: Any) -> PlacedEngine:
    model = checked_name(_get(row, "model"), ("model",))
    gpus = _names(row, "gpus")
    return PlacedEngine(
        model, gpus, *(_number(row, name) for name in ("held_gb", "weights_gb", "cache_gb"))
    )


def _record(row: Any) -> EngineRecord:
    return EngineRecord(_engine(row), _one_of(Condition, row, "condition"))


def _engines(data: Any) -> Engines:
    """Return all engines; a step must find the one that it is about by its place."""
    found: Engines = _each(data, "engines", _record)
    seen: set[tuple[str, frozenset[str]]] = set()
    for number, record in enumerate(found):
        if record.engine.place in seen:
            with within(("engines", number)):
                raise InputError.of("gpus", list(record.engine.gpus), "GPUs without such an engine")
        seen.add(record.engine.place)
    return found


def _step(row: Any) -> EngineStep:
    number = _get(row, "number")
    if type(number) is not int:
        raise InputError.of("number", number, "a whole number")
    kind, engine = _one_of(StepKind, row, "kind"), _engine(row)
    after, behind = (_numbers(row, name) for name in ("after", "behind"))
    start, seconds = (_number(row, name) for name in ("start", "seconds"))
    return EngineStep(number, kind, engine, after, behind, start, seconds)


def _move(row: Any) -> EngineMove:
    if not isinstance(arrived := _get(row, "arrived"), bool):
        raise InputError.of("arrived", arrived, "true or false")
    model = checked_name(_get(row, "model"), ("model",))
    told = {name: row.get(name, False) for name in ("failed", "needed")}
    for name, value in told.items():
        if not isinstance(value, bool):
            raise InputError.of(name, value, "true or false")
    return EngineMove(model, _names(row, "gpus"), _number(row, "when"), arrived, **told)


def _known(number: Any, pending: tuple[EngineStep, ...]) -> int:
    if number not in {step.number for step in pending}:
        raise InputError(f"{number!r} is no pending step")
    return int(number)


def _one_of(kinds: Any, row: Any, name: str) -> Any:
    try:
        return kinds(_get(row, name))
    except ValueError:
        expected = " or ".join(kind.value for kind in kinds)
        raise InputError.of(name, _get(row, name), expected) from None
