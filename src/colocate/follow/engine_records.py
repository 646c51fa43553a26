"""The engines as they are: what the steps that were carried out have made of them."""

from collections.abc import Collection, Iterable, Mapping
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
    UNDRAINED = "undrained"
    """It could not be drained: it holds its memory, and may or may not get requests."""
    UNSWITCHED = "unswitched"
    """Requests could not be switched to it: it holds its memory, and may or may not get some."""
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
SERVED = (Condition.SERVING, Condition.UNDRAINED)
"""The conditions in which an engine serves, or will by a switch."""
DOUBTED = (Condition.DOUBTFUL, Condition.UNSWITCHED)
"""The conditions in which an engine leaves, since a step failed that was to make it serve."""
AFTER_FAILURE = dict.fromkeys(StepKind, Condition.DOUBTFUL) | {
    StepKind.SWITCH: Condition.UNSWITCHED,
    StepKind.DRAIN: Condition.UNDRAINED,
}
"""The same if the step failed."""


def after_step(engines: Engines, step: EngineStep, succeeded: bool) -> Engines:
    """Return the engines after a step was tried.

    A step that failed leaves its engine in doubt, or its requests; other engines are as they were.
    The place of an engine tells it from others: what it holds may have changed since it was written
    down.
    """
    rest = tuple(each for each in engines if each.engine.place != step.engine.place)
    if succeeded and step.kind is StepKind.UNLOAD:
        return rest
    if not succeeded and step.kind is StepKind.DRAIN and _is_unswitched(engines, step):
        return engines
    return (*rest, EngineRecord(step.engine, (AFTER if succeeded else AFTER_FAILURE)[step.kind]))


def _is_unswitched(engines: Engines, step: EngineStep) -> bool:
    """Whether the engine of a step never was to stay: a drain that fails does not make it serve."""
    return any(
        each.engine.place == step.engine.place and each.condition is Condition.UNSWITCHED
        for each in engines
    )


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


def remaining(engines: Engines, gpus: Collection[str]) -> Engines:
    """Return the engines that are left on some GPUs when all others are gone.

    An engine that lost some of its GPUs serves nobody, and may hold memory on those that it has.
    """
    there = (each for each in engines if not frozenset(gpus).isdisjoint(each.engine.gpus))
    return tuple(
        each
        if frozenset(gpus).issuperset(each.engine.gpus)
        else replace(each, condition=Condition.DOUBTFUL)
        for each in there
    )


def tidying(
    engines: Engines, memory_gb: Mapping[str, float], models: Collection[str] | None = None
) -> tuple[EngineStep, ...]:
    """Return the steps after which every engine that is left serves.

    Engines that came or went when a change was broken off are unloaded, unless their model would
    have no engine: then they serve again. Engines in doubt are unloaded first of all, since only
    that makes their memory certain. Those that could not be drained get requests again. Engines of
    models that the fleet has not any more leave.

    Parameters
    ----------
    engines
        All that there are.
    memory_gb
        The memory of every GPU.
    models
        The models of the fleet; None for all that have engines.
    """
    served = {each.engine.model for each in engines if each.condition in SERVED}
    steps: list[EngineStep] = []
    kept = list(engines)
    for record in sorted(engines, key=_urgency):
        known = models is None or record.engine.model in models
        if known and record.condition is Condition.SERVING:
            continue
        lacking = record.engine.model not in served and record.condition not in DOUBTED
        wanted = known and lacking
        leaves = not known and record.condition in SERVED
        if leaves or record.condition is Condition.UNSWITCHED:
            _append(steps, [StepKind.DRAIN, StepKind.UNLOAD], record.engine)
            kept.remove(record)
        elif record.condition is Condition.UNDRAINED:
            _append(steps, [StepKind.SWITCH], record.engine)
        elif wanted and _fits(record, kept, memory_gb):
            _append(steps, _revival(record), record.engine)
            served.add(record.engine.model)
            kept[kept.index(record)] = replace(record, condition=Condition.SERVING)
        else:
            _append(steps, [StepKind.UNLOAD], record.engine)
            kept.remove(record)
    return tuple(steps)


def _urgency(record: EngineRecord) -> tuple[bool, bool, str]:
    """Order engines: those in doubt first, and those that may be wanted before sleepers."""
    return (
        record.condition not in DOUBTED,
        record.condition is Condition.ASLEEP,
        record.engine.model,
    )


def _fits(
    record: EngineRecord, engines: Iterable[EngineRecord], memory: Mapping[str, float]
) -> bool:
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


def _revival(record: EngineRecord) -> list[StepKind]:
    """Return what makes an engine serve; waiting takes no time if it is ready."""
    kinds = [StepKind.WAIT, StepKind.SWITCH]
    return [StepKind.WAKE, *kinds] if record.condition is Condition.ASLEEP else kinds


def _append(steps: list[EngineStep], kinds: Iterable[StepKind], engine: PlacedEngine) -> None:
    """Add steps for an engine, which wait for all earlier ones on its GPUs.

    Parameters
    ----------
    steps
        The steps so far.
    kinds, engine
        What is done to which engine.
    """
    for kind in kinds:
        here = (each for each in steps if not set(each.engine.gpus).isdisjoint(engine.gpus))
        after = tuple(each.number for each in here)
        steps.append(EngineStep(len(steps), kind, engine, after))
