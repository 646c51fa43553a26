"""From the placement that runs, in its fleet, to another placement in the fleet as it is now."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations

from colocate.problem.parts import Places
from colocate.problem.pressure import within
from colocate.problem.problem import Problem
from colocate.problem.tolerance import LONG_SUM
from colocate.replan.placed_engine import MemoryMode, PlacedEngine, engines_of, held_by_gpu
from colocate.replan.steps.fleet_change import FleetChange


def change_between(
    old: tuple[Problem, Places],
    new: tuple[Problem, Places],
    mode: MemoryMode = "fixed",
    *,
    weights_gb: Mapping[str, float] | None = None,
    draining: Collection[str] = (),
    running: Iterable[PlacedEngine] | None = None,
) -> FleetChange:
    """Return what changes between two placements.

    Parameters
    ----------
    old
        The fleet as it was planned, and the placement that runs there. GPUs that the new fleet
        does not have are lost with all that was on them, unless they are draining.
    new
        The fleet as it is now, and the placement that shall run. A GPU that states less memory than
        engines hold there now has that much on the way.
    mode
        Under `fixed`, an engine that stays keeps its cache if all fits. Where it does not, those
        with more cache than the new placement gives them restart, the quickest to load first.
    weights_gb
        The GB of weights of a model, without overhead; its size where that is not known.
    draining
        GPUs that are to be left, and whose engines run until others have taken over.
    running
        The engines that run, with the caches that they have. By default those of the old placement,
        as if they had just been started; so are engines that share their caches, since these grow
        and shrink while they run.
    """
    (old_problem, old_places), (problem, places) = old, new
    weights = weights_gb or {}
    kept = {gpu.name for gpu in problem.gpus}
    there = kept | set(draining)
    if running is None or mode == "elastic":
        running = engines_of(old_problem, old_places, mode, weights)
    now = tuple(engine for engine in running if there.issuperset(engine.gpus))
    planned = engines_of(problem, places, mode, weights)
    memory = {gpu.name: gpu.memory_gb for gpu in problem.gpus}
    then = _with_kept_caches(now, planned, memory, mode)
    for gpu in old_problem.gpus:
        if gpu.name in there:
            memory[gpu.name] = max(gpu.memory_gb, memory.get(gpu.name, 0.0))
    for gpu_name, held in held_by_gpu(now).items():
        memory[gpu_name] = max(memory[gpu_name], held)
    nodes = {gpu.name: gpu.node for gpu in (*old_problem.gpus, *problem.gpus)}
    pairs = {frozenset(pair) for group in problem.apart for pair in combinations(group, 2)}
    return FleetChange(
        memory,
        now,
        then,
        {gpu: node for gpu, node in nodes.items() if gpu in memory},
        {model.name: model.peak_demand for model in problem.models},
        _open_to(problem, everywhere=not draining),
        frozenset(model.name for model in problem.sleepers),
        frozenset(pairs),
    )


def _open_to(problem: Problem, everywhere: bool) -> dict[str, frozenset[str]]:
    """Return where models may be for a while; those that may be everywhere can be left out."""
    return {
        model.name: frozenset(gpu.name for gpu in problem.gpus if model.may_be_on(gpu))
        for model in problem.models
        if model.only or model.never or not everywhere
    }


def _with_kept_caches(
    now: Sequence[PlacedEngine],
    planned: Sequence[PlacedEngine],
    memory: Mapping[str, float],
    mode: MemoryMode,
) -> tuple[PlacedEngine, ...]:
    """Return the engines that shall run; those that are there already stay as they are if they can.

    Parameters
    ----------
    now, planned
        The engines that run, and those of the new placement.
    memory
        The memory of every GPU of the new fleet.
    mode
        Whether engines keep their cache, or share it.
    """
    running = {engine.place: engine for engine in now}
    then = [_kept(running.get(engine.place), engine, mode) for engine in planned]
    for gpu, limit in memory.items():
        here = [place for place, engine in enumerate(then) if gpu in engine.gpus]
        if not within(sum(planned[place].held_gb for place in here), limit):
            continue  # restarts do not help a GPU that has too little memory for its models
        restart = sorted(
            (place for place in here if planned[place].held_gb < then[place].held_gb),
            key=lambda place: (then[place].weights_gb, place),
        )
        for place in restart:
            if within(sum(then[each].held_gb for each in here), limit):
                break
            then[place] = planned[place]
    return tuple(then)


def _kept(running: PlacedEngine | None, planned: PlacedEngine, mode: MemoryMode) -> PlacedEngine:
    """Return the engine that runs, if nothing of the planned one but its cache differs."""
    if running is None:
        return planned
    before, after = (
        engine.held_gb - (engine.cache_gb if mode == "fixed" else 0.0)
        for engine in (running, planned)
    )
    return running if abs(before - after) <= LONG_SUM * after else planned
