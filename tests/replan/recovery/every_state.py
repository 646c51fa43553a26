"""Brute force for small fleets: every placement, and every order of steps."""

from collections import Counter
from itertools import combinations, product

from colocate import verify

MOST_PLACEMENTS, MOST_STATES = 200_000, 60_000


def fits_somehow(problem):
    """Return whether any placement is valid; None if there are too many."""
    choices = [_placements_of(problem, model) for model in problem.models]
    number = 1
    for each in choices:
        number *= len(each)
    if number > MOST_PLACEMENTS:
        return None
    memory = {gpu.name: gpu.memory_gb * (1 + 1e-9) for gpu in problem.gpus}
    names = [model.name for model in problem.models]
    for chosen in product(*choices):
        held = dict.fromkeys(memory, 0.0)
        for model, gpus in zip(problem.models, chosen, strict=True):
            for gpu in gpus:
                held[gpu] += model.size_gb / model.shards
        if any(held[gpu] > memory[gpu] for gpu in memory):
            continue
        if verify(problem, dict(zip(names, chosen, strict=True))).valid:
            return True
    return False


def _placements_of(problem, model):
    """Return every way to place one model: all its replicas on different GPUs, or asleep."""
    seats = seats_of(problem, model)
    found = [()] if model.sleep_cost is not None else []
    for number in range(model.replicas, model.most_replicas + 1):
        for chosen in combinations(seats, number):
            gpus = [gpu for seat in chosen for gpu in seat]
            if len(set(gpus)) == len(gpus):
                found.append(tuple(gpus))
    return found


def seats_of(problem, model):
    """Return all GPUs that one engine of a model may have."""
    nodes = {}
    for gpu in problem.gpus:
        if model.may_be_on(gpu):
            nodes.setdefault(gpu.node, []).append(gpu.name)
    return [seat for gpus in nodes.values() for seat in combinations(gpus, model.shards)]


def keeps_serving_somehow(change, seats):
    """Return whether some order keeps all models serving; None if there are too many states.

    Parameters
    ----------
    change
        The engines before and after.
    seats
        All GPUs that one engine may have for a while, by model.
    """
    engines = _all_engines(change, seats)
    number = {engine: place for place, engine in enumerate(engines)}
    start, goal = (
        sum(1 << number[e.model, frozenset(e.gpus), e.held_gb] for e in each)
        for each in (change.now, change.then)
    )
    before, after = (Counter(e.model for e in each) for each in (change.now, change.then))
    least = {model: min(before[model], after[model]) for model in before}
    rivals = _rivals(engines, change.apart)
    seen, todo = {start}, [start]
    while todo:
        state = todo.pop()
        if state == goal:
            return True
        for following in _following(state, engines, rivals, least, change.memory_gb):
            if following not in seen:
                if len(seen) >= MOST_STATES:
                    return None
                seen.add(following)
                todo.append(following)
    return False


def _all_engines(change, seats):
    found = {}
    for engine in (*change.now, *change.then):
        found[engine.model, frozenset(engine.gpus), engine.held_gb] = None
        for seat in seats.get(engine.model, ()):
            found[engine.model, frozenset(seat), engine.held_gb] = None
    return list(found)


def _rivals(engines, apart):
    """Return, as bits, the engines that each may not share a GPU with."""
    return [
        sum(
            1 << place
            for place, (other, its, _) in enumerate(engines)
            if mine & its and (other == model or frozenset((other, model)) in apart)
        )
        for model, mine, _ in engines
    ]


def _following(state, engines, rivals, least, memory):
    there = [engine for place, engine in enumerate(engines) if state >> place & 1]
    serving = Counter(model for model, _, _ in there)
    held = dict.fromkeys(memory, 0.0)
    for _, gpus, gb in there:
        for gpu in gpus:
            held[gpu] += gb
    for place, (model, gpus, gb) in enumerate(engines):
        bit = 1 << place
        if state & bit:
            if serving[model] > least.get(model, 0):
                yield state & ~bit
        elif not state & rivals[place] and all(
            held[gpu] + gb <= memory[gpu] * (1 + 1e-9) for gpu in gpus
        ):
            yield state | bit
