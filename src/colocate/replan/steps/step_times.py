"""How long steps take, as far as it can be said in advance."""

from dataclasses import dataclass

from colocate.errors import InputError
from colocate.problem.quantity import checked_number
from colocate.problem.tolerance import JUST_ABOVE
from colocate.replan.placed_engine import PlacedEngine
from colocate.replan.steps.step import StepKind

LOAD_GB_PER_SECOND = 2.0
"""What a machine reads from its own NVMe disk or page cache into a GPU: engines report 1 to 5 GB/s.
A download is ten times slower: then state it."""
READY_SECONDS = 60.0
"""From the last weight to the first answer: vLLM and SGLang capture graphs and warm up for half a
minute to two minutes when what they compile is cached."""
DRAIN_SECONDS = 30.0
"""For requests that are in work to finish: some hundred tokens at 50 ms each."""
SWITCH_SECONDS = 1.0
"""For a router or gateway to read its new list of engines."""
UNLOAD_SECONDS = 5.0
"""For a process to end and the driver to free its memory."""
ASLEEP_GB_PER_SECOND = 20.0
"""Weights between a GPU and the memory of its machine, over PCIe."""


@dataclass(frozen=True)
class StepTimes:
    """What decides how long steps take, and how many load at once.

    Parameters
    ----------
    load_gb_per_second
        How fast one machine loads weights.
    total_gb_per_second
        How fast all machines together can, such as from one storage; None for no limit.
    loads_at_once
        How many engines one machine loads side by side; they share its speed.
    ready_seconds, drain_seconds, switch_seconds, unload_seconds
        How long an engine gets ready, drains, and so on.
    """

    load_gb_per_second: float = LOAD_GB_PER_SECOND
    total_gb_per_second: float | None = None
    loads_at_once: int = 1
    ready_seconds: float = READY_SECONDS
    drain_seconds: float = DRAIN_SECONDS
    switch_seconds: float = SWITCH_SECONDS
    unload_seconds: float = UNLOAD_SECONDS

    def __post_init__(self) -> None:
        checked_number(self.load_gb_per_second, ("load_gb_per_second",), positive=True)
        if self.total_gb_per_second is not None:
            checked_number(self.total_gb_per_second, ("total_gb_per_second",), positive=True)
        for field in ("ready_seconds", "drain_seconds", "switch_seconds", "unload_seconds"):
            checked_number(getattr(self, field), (field,))
        if not isinstance(self.loads_at_once, int) or self.loads_at_once < 1:
            raise InputError.of("loads_at_once", self.loads_at_once, "a whole number >= 1")

    @property
    def engine_gb_per_second(self) -> float:
        """How fast one engine loads while as many others do as may."""
        own = self.load_gb_per_second / self.loads_at_once
        return own if self.total_gb_per_second is None else min(own, self.total_gb_per_second)

    @property
    def total_loads(self) -> int | None:
        """How many engines all machines load side by side; None for any number."""
        if self.total_gb_per_second is None:
            return None
        return max(int(self.total_gb_per_second / self.engine_gb_per_second * JUST_ABOVE), 1)

    def seconds(self, kind: StepKind, engine: PlacedEngine) -> float:
        """Return how long a step takes."""
        if kind is StepKind.LOAD:
            return engine.weights_gb / self.engine_gb_per_second
        if kind in (StepKind.SLEEP, StepKind.WAKE):
            return engine.weights_gb / ASLEEP_GB_PER_SECOND
        if kind is StepKind.WAIT:
            return self.ready_seconds
        if kind is StepKind.SWITCH:
            return self.switch_seconds
        return self.drain_seconds if kind is StepKind.DRAIN else self.unload_seconds
