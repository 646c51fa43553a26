"""One step from a placement to another, and what undoes it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from colocate.replan.placed_engine import PlacedEngine


class StepKind(StrEnum):
    """What is done to an engine."""

    LOAD = "load"
    """It is started: it takes its memory and reads its weights."""
    WAIT = "wait"
    """It gets ready, until it answers."""
    SWITCH = "switch"
    """Requests are sent to it from now on."""
    DRAIN = "drain"
    """It gets no new requests, and finishes those that it has."""
    UNLOAD = "unload"
    """It is stopped, and its memory is free."""
    SLEEP = "sleep"
    """It gives its memory back for a while; its weights wait in the memory of the machine."""
    WAKE = "wake"
    """It takes its memory again."""


UNDO: dict[StepKind, StepKind | None] = {
    StepKind.LOAD: StepKind.UNLOAD,
    StepKind.WAIT: None,
    StepKind.SWITCH: StepKind.DRAIN,
    StepKind.DRAIN: StepKind.SWITCH,
    StepKind.UNLOAD: StepKind.LOAD,
    StepKind.SLEEP: StepKind.WAKE,
    StepKind.WAKE: StepKind.SLEEP,
}
"""What takes back each kind of step; waiting leaves nothing to take back."""


@dataclass(frozen=True)
class EngineStep:
    """One step.

    Parameters
    ----------
    number
        Its place in the list, from 0 on. Done one by one in this order, all steps are safe too.
    kind, engine
        What is done, and to which engine.
    after
        Steps that must have succeeded before it starts.
    behind
        Steps that must have ended before it starts, well or not: they load over the same link.
    start, seconds
        When it starts, in seconds after the first, and how long it takes, both as expected.
    """

    number: int
    kind: StepKind
    engine: PlacedEngine
    after: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()
    start: float = 0.0
    seconds: float = 0.0

    @property
    def end(self) -> float:
        """When it is done, as expected."""
        return self.start + self.seconds

    @property
    def undo(self) -> StepKind | None:
        """What takes it back, for the same engine; None if nothing has to be taken back."""
        return UNDO[self.kind]

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data for JSON."""
        return {
            "number": self.number,
            "kind": self.kind.value,
            **self.engine.as_dict(),
            "after": list(self.after),
            "behind": list(self.behind),
            "start": self.start,
            "seconds": self.seconds,
            "undo": self.undo.value if self.undo else None,
        }
