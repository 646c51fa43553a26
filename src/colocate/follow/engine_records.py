"""The engines as they are: what the steps that were carried out have made of them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from colocate.problem.pressure import within
from colocate.replan.placed_engine import PlacedEngine
from colocate.replan.steps.step import EngineStep, StepKind


class Condition(StrEnum):
    """What is known about an engine."""

    SERVING = "serving"
    """It gets requests."""
    IDLE = "idle"
    """It holds its memory and gets no requests: it comes or goes."""
    ASLEEP = "asleep"
    """It has given its memory back for a while."""
    DOUBTFUL = "doubtful"
    """A step with it failed: it may hold its memory, and serves nobody."""


@dataclass(frozen=True)
class EngineRecord:
    """One engine and its condition."""

    engine: PlacedEngine
    condition: Condition = Condition.SERVING

    @property
    def holds_memory(self) -> bool:
        """Whether its memory may be in use."""
        return self.condition is not Condition.ASLEEP


Engines = tuple[EngineRecord, ...]

AFTER = {
    StepKind.LOAD: Condition.IDLE,
    StepKind.WAIT: Condition.IDLE,
    StepKind.SWITCH: Condition.SERVING,
    StepKind.DRAIN: Condition.IDLE,
    StepKind.SLEEP: Condition.ASLEEP,
    StepKind.WAKE: Condition.IDLE,
}
"""The condition of an engine after each kind of step; after the last, unload, there is none."""
AFTER_FAILURE = dict.fromkeys(StepKind, Condition.DOUBTFUL) | {StepKind.DRAIN: Condition.SERVING}
"""The same if the step failed."""


def after_step(engines: Engines, step: EngineStep, succeeded: bool) -> Engines:
    """Return the engines after a step was tried.

    A step that failed leaves its engine in doubt; other engines are as they were. One that could
    not be drained still gets requests.
    """
    rest = tuple(each for each in engines if each.engine != step.engine)
    if succeeded and step.kind is StepKind.UNLOAD:
        return rest
    return (*rest, EngineRecord(step.engine, (AFTER if succeeded else AFTER_FAILURE)[step.kind]))


def serving(engines: Engines) -> tuple[PlacedEngine, ...]:
    """Return the engines that get requests, in a fixed order."""
    found = [each.engine for each in engines if each.condition is Condition.SERVING]
    return tuple(sorted(found, key=lambda engine: (engine.model, engine.gpus)))


def places_of(engines: Iterable[PlacedEngine]) -> dict[str, tuple[str, ...]]:
    """Return the GPUs of every model, those of one engine in a row."""
    places: dict[str, tuple[str, ...]] = {}
    for engine in engines:
        places[engine.model] = (*places.get(engine.model, ()), *engine.gpus)
    return places


def tidying(engines: Engines, memory_gb: dict[str, float]) -> tuple[EngineStep, ...]:
    """Return the steps after which every engine that is left serves.

    Engines that came or went when a change was broken off are unloaded, unless their model would
    have no engine: then they serve again. Engines in doubt are unloaded first of all, since only
    that makes their memory certain.

    Parameters
    ----------
    engines
        All that there are.
    memory_gb
        The memory of every GPU; an engine on any other GPU is gone with it.
    """
    there = [each for each in engines if set(each.engine.gpus) <= set(memory_gb)]
    served = {engine.model for engine in serving(engines)}
    steps: list[EngineStep] = []
    kept = list(engines)
    for record in sorted(there, key=_urgency):
        if record.condition is Condition.SERVING:
            continue
        wanted = record.engine.model not in served and record.condition is not Condition.DOUBTFUL
        if wanted and _fits(record, kept, memory_gb):
            steps += _numbered(_revival(record), len(steps))
            served.add(record.engine.model)
            kept[kept.index(record)] = replace(record, condition=Condition.SERVING)
        else:
            steps += _numbered([(StepKind.UNLOAD, record.engine)], len(steps))
            kept.remove(record)
    return tuple(steps)


def _urgency(record: EngineRecord) -> tuple[bool, bool, str]:
    """Order engines: those in doubt first, and those that may be wanted before sleepers."""
    doubtful = record.condition is Condition.DOUBTFUL
    return not doubtful, record.condition is Condition.ASLEEP, record.engine.model


def _fits(record: EngineRecord, engines: Iterable[EngineRecord], memory: dict[str, float]) -> bool:
    """Whether an engine has its memory, or can have it beside all that may hold some."""
    if record.holds_memory:
        return True
    others = [each.engine for each in engines if each.holds_memory]
    return all(
        within(
            record.engine.held_gb + sum(each.held_gb for each in others if gpu in each.gpus),
            memory[gpu],
        )
        for gpu in record.engine.gpus
    )


def _revival(record: EngineRecord) -> list[tuple[StepKind, PlacedEngine]]:
    """Return what makes an engine serve; waiting takes no time if it is ready."""
    kinds = [StepKind.WAIT, StepKind.SWITCH]
    if record.condition is Condition.ASLEEP:
        kinds.insert(0, StepKind.WAKE)
    return [(kind, record.engine) for kind in kinds]


def _numbered(todo: list[tuple[StepKind, PlacedEngine]], first: int) -> list[EngineStep]:
    """Return steps in a row, each after the one before it."""
    return [
        EngineStep(first + place, kind, engine, (first + place - 1,) if place else ())
        for place, (kind, engine) in enumerate(todo)
    ]
