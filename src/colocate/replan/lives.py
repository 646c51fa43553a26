"""Steps as the lives of engines, so that a replay can tell what they do to requests."""

from collections.abc import Sequence
from dataclasses import replace

from colocate.replan.placed_engine import PlacedEngine
from colocate.replan.steps.safe_steps import SafeSteps
from colocate.replan.steps.step import StepKind
from colocate.simulate.engine_life import EngineLife


def lives_now(engines: Sequence[PlacedEngine]) -> dict[PlacedEngine, EngineLife]:
    """Return the lives of engines that serve from the beginning, and for good."""
    return {each: EngineLife(each.model, each.gpus, each.cache_gb) for each in engines}


def lives_of(steps: SafeSteps, begin: float = 0.0) -> tuple[EngineLife, ...]:
    """Return the lives of all engines while steps are done as planned.

    Parameters
    ----------
    steps
        The steps, each with when it starts and how long it takes, as expected.
    begin
        The moment at which the first of them starts. Engines that run before have been ready since
        the beginning.
    """
    now = lives_now(steps.change.now)
    done: list[EngineLife] = []
    for step in sorted(steps.steps, key=lambda each: (each.start, each.number)):
        start, end, engine = begin + step.start, begin + step.end, step.engine
        if step.kind in (StepKind.LOAD, StepKind.WAKE):
            now[engine] = EngineLife(
                engine.model, engine.gpus, engine.cache_gb, ready=end, loading=start
            )
        elif step.kind in (StepKind.WAIT, StepKind.SWITCH) and now[engine].begin >= begin:
            now[engine] = replace(now[engine], ready=max(end, now[engine].ready))
        elif step.kind is StepKind.DRAIN:
            closed = max(start, now[engine].ready)
            now[engine] = replace(now[engine], closed=closed)
        elif step.kind in (StepKind.UNLOAD, StepKind.SLEEP):
            life = now.pop(engine)
            closed = min(life.closed, end)
            done.append(replace(life, closed=max(closed, life.ready), gone=max(end, life.ready)))
    return (*done, *now.values())
