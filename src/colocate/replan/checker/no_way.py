"""Check that no order of steps keeps every model serving: by trying all, with no code of others."""

from collections import Counter
from fractions import Fraction

from colocate.problem.checker.tolerance import ROUNDING
from colocate.replan.placed_engine import PlacedEngine
from colocate.replan.steps.fleet_change import FleetChange

Running = tuple[int, ...]
"""Which engines run: the numbers of all that may, in order."""


def keeps_serving_somehow(change: FleetChange, most_states: int) -> bool | None:
    """Return whether some order keeps every model serving; None if there are too many states.

    Engines with one GPU may be on any other for a while, as far as their model may be there.

    Parameters
    ----------
    change
        The engines before and after.
    most_states
        How many states to try.
    """
    engines = _all_engines(change)
    number = {engine: place for place, engine in enumerate(engines)}
    goal = tuple(sorted(number[engine] for engine in change.then))
    start = tuple(sorted(number[engine] for engine in change.now))
    now, then = (Counter(e.model for e in es) for es in (change.now, change.then))
    limits = {g: Fraction(gb) * (1 + ROUNDING) for g, gb in change.memory_gb.items()}
    seen, todo = {start}, [start]
    while todo:
        state = todo.pop()
        if state == goal:
            return True
        serving = Counter(engines[each].model for each in state)
        after: list[Running] = [
            tuple(x for x in state if x != each)
            for each in state
            if serving[engines[each].model]
            > min(now[engines[each].model], then[engines[each].model])
        ]
        after += [
            tuple(sorted((*state, each)))
            for each in range(len(engines))
            if each not in state and _has_room(change, engines, state, each, limits)
        ]
        for each_state in after:
            if each_state not in seen:
                if len(seen) >= most_states:
                    return None
                seen.add(each_state)
                todo.append(each_state)
    return False


def _all_engines(change: FleetChange) -> list[PlacedEngine]:
    """List every engine that may run at some moment."""
    found = list(dict.fromkeys((*change.now, *change.then)))
    taken = {(engine.model, engine.gpus) for engine in found}
    for engine in tuple(found):
        if len(engine.gpus) > 1:
            continue
        for gpu in change.memory_gb:
            allowed = change.open_to.get(engine.model, frozenset(change.memory_gb))
            if gpu in allowed and (engine.model, (gpu,)) not in taken:
                found.append(
                    PlacedEngine(
                        engine.model, (gpu,), engine.held_gb, engine.weights_gb, engine.cache_gb
                    )
                )
    return list(dict.fromkeys(found))


def _has_room(
    change: FleetChange,
    engines: list[PlacedEngine],
    state: Running,
    come: int,
    limits: dict[str, Fraction],
) -> bool:
    for gpu in engines[come].gpus:
        here = [engines[each] for each in state if gpu in engines[each].gpus]
        held = sum(Fraction(engine.held_gb) for engine in (*here, engines[come]))
        if held > limits[gpu]:
            return False
        mine = engines[come].model
        if any(e.model == mine or frozenset((e.model, mine)) in change.apart for e in here):
            return False
    return True
